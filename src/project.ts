/**
 * What a project says of itself in `reprise.config.ts` (or `.mts`, `.js`, `.mjs`, `.json`): its sagas, where Redis is, settings.
 * Owns the shape of that file and what is wrong with one. A flag wins over the environment, the environment over the file.
 */
import { z } from "zod";
import { defaultSettings, isHookUrl, type NotifyOptions, type Settings } from "./config.ts";
import { RepriseError } from "./errors.ts";
import { isSaga, type Saga } from "./saga/index.ts";

/** A `reprise.config`. What it does not name is the environment's, or the default. */
export interface ProjectConfig {
  /** For editors, in a `.json` file. */
  readonly $schema?: string;
  /** Sagas, or modules that export them, relative to the file. */
  readonly sagas?: Saga | string | readonly (Saga | string)[];
  /** `redis://`, `rediss://`, `redis+sentinel://`, `unix://`; REDIS_URL wins. */
  readonly redis?: string;
  /** REPRISE_NAMESPACE wins. */
  readonly namespace?: string;
  /** Whose runs the command line means; REPRISE_TENANT wins, `default` unless given. */
  readonly tenant?: string;
  /** REPRISE_SHARDS wins. */
  readonly shards?: number;
  /** REPRISE_LANES wins. */
  readonly lanes?: number;
  /** `file:///dir` or `s3://bucket/prefix?endpoint=...`; REPRISE_ARTIFACTS wins. */
  readonly artifacts?: string;
  /** From when on `reprise supervisor` tells something; what is left out is as usual. */
  readonly alerts?: Readonly<Record<string, number>>;
  /** Step queues that `reprise worker` serves, by name: calls at once, and how often in the whole namespace. REPRISE_QUEUES wins. */
  readonly queues?: Readonly<Record<string, ProjectQueue>>;
  /** Who is told when runs end, park or wait, by the name under which it is owed to them. */
  readonly notify?: Readonly<Record<string, NotifyOptions>>;
  /** What steps are given as `services` by `reprise worker`, a function that makes it, or a module whose default export is either. */
  readonly services?: unknown;
  /** In ms unless the name says otherwise; the variable of each wins. */
  readonly settings?: Partial<Settings>;
}

/** How much of a named step queue a worker takes. */
export interface ProjectQueue {
  /** Calls at once in one worker; 1 unless given. */
  readonly concurrency?: number;
  /** At most `calls` per `ms`, in the whole namespace. */
  readonly limit?: { readonly calls: number; readonly ms: number };
}

/** Types a `reprise.config.ts`: `export default defineConfig({ sagas: ["./sagas/index.ts"] })`. Checks nothing by itself. */
export function defineConfig(config: ProjectConfig): ProjectConfig {
  return config;
}

const name = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "it is not 1 to 64 characters of A-Z a-z 0-9 _ . -");
const queue = z.strictObject({
  concurrency: z.int().min(1).max(10_000).optional().describe("Calls at once in one worker; 1 unless given"),
  limit: z
    .strictObject({ calls: z.int().min(1).max(1_000_000), ms: z.int().min(1).max(86_400_000) })
    .optional()
    .describe("At most so many calls per so many ms, in the whole namespace"),
});
const hook = z.strictObject({
  url: z
    .string()
    .regex(/^https?:\/\/./, "it is no http(s) URL")
    .refine((url) => isHookUrl(url), "it is no URL, or there is a password in it")
    .optional()
    .describe("Without one nothing is sent: what is to be told waits for client.notifications.read"),
  secret: z.string().min(1).optional().describe("Signs what is sent; without one nothing is signed"),
  on: z
    .array(z.enum(["end", "park", "wait"]))
    .min(1)
    .optional()
    .describe("All of them unless given"),
  sagas: z.array(z.string()).min(1).optional().describe("Names of sagas; all unless given"),
  tenants: z.array(name).min(1).optional().describe("All unless given"),
});
const modulePath = z.string().min(1).describe("A module that exports sagas, relative to this file");

/** With what may stand in `sagas`: in a JSON file paths alone. */
function shapeWith<Item extends z.ZodType, Services extends z.ZodType>(item: Item, services: Services) {
  const settings = Object.fromEntries(
    Object.entries(defaultSettings).map(([key, standard]) => [
      key,
      z.int().positive().optional().meta({ default: standard }),
    ]),
  );
  return z.strictObject({
    $schema: z.string().optional(),
    sagas: z
      .union([item, z.array(item)])
      .optional()
      .describe("Modules that export the sagas of this project"),
    redis: z
      .string()
      .regex(/^(rediss?|unix):\/\/./, "it is neither redis://, rediss:// nor unix://")
      .optional()
      .describe("Where Redis is; REDIS_URL wins"),
    namespace: name.optional().describe("Separates installations on one Redis; REPRISE_NAMESPACE wins"),
    tenant: name.optional().describe("Whose runs the command line means; REPRISE_TENANT wins"),
    shards: z.int().min(1).max(1_024).optional().describe("Fixed for a namespace; REPRISE_SHARDS wins"),
    lanes: z.int().min(1).max(64).optional().describe("Wake-up queues per pool; REPRISE_LANES wins"),
    artifacts: z
      .string()
      .regex(/^(file|s3):\/\/./, "it is neither file:///dir nor s3://bucket")
      .optional()
      .describe("Where large values are kept; REPRISE_ARTIFACTS wins"),
    alerts: z
      .record(z.string(), z.number().nonnegative())
      .optional()
      .describe("From when on `reprise supervisor` tells something, in ms unless the name says otherwise"),
    queues: z.record(name, queue).optional().describe("Step queues that `reprise worker` serves; REPRISE_QUEUES wins"),
    notify: z
      .record(name, hook)
      .optional()
      .describe("Webhooks that are told when runs end, park or wait, by name: each is owed what it was not told yet"),
    services: services
      .optional()
      .describe(
        "What steps are given as `services`: a module, relative to this file, whose default export is it or makes it",
      ),
    settings: z.strictObject(settings).optional().describe("Bounds and waits, in ms unless the name says otherwise"),
  });
}

const fileShape = shapeWith(
  z.union([modulePath, z.custom<Saga>(isSaga, "it is neither a saga nor the path of a module")]),
  z.unknown(),
);

/** Reads what a `reprise.config` exports. Throws CONFIG_INVALID with every problem found; `file` is named in it. */
export function readProject(exported: unknown, file: string): ProjectConfig {
  const parsed = fileShape.safeParse(exported);
  // What the shape has let through is what the interface says: both are written out above, key by key.
  if (parsed.success) return parsed.data as ProjectConfig;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const where = path.length === 0 ? "" : `${path.map(String).join(".")}: `;
    return `${where}${message}`;
  });
  throw new RepriseError("CONFIG_INVALID", `${file} cannot be used: ${problems.join("; ")}`, {
    details: { file, problems },
  });
}

/** The JSON schema of a `reprise.config.json`, as it is published (`schemas/reprise.config.schema.json`). */
export function projectJsonSchema(): object {
  const schema = z.toJSONSchema(shapeWith(modulePath, z.string().min(1)), { target: "draft-7", io: "input" });
  return { ...schema, title: "reprise.config.json" };
}
