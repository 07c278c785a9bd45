/**
 * Owns: where the runs are and which sagas are known: a flag, else the environment, else `reprise.config` found upward from the
 * folder, else the default.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { NotifyOptions, QueueShare, Settings } from "../../config.ts";
import type { Thresholds } from "../../core/index.ts";
import type { ProjectConfig } from "../../project.ts";
import type { Saga } from "../../saga/index.ts";
import { UsageError } from "../exit.ts";
import type { Globals } from "./globals.ts";
import type { Io } from "./io.ts";
import { jsonProblem } from "./values.ts";

const fileNames = ["ts", "mts", "js", "mjs", "json"].map((ending) => `reprise.config.${ending}`);

/** What `createClient` and `createWorker` are given, beside what is a command's own. */
export interface Place {
  readonly redis: string;
  readonly namespace: string | undefined;
  readonly shards: number | undefined;
  readonly lanes: number | undefined;
  readonly artifacts: string | undefined;
  readonly settings: Partial<Settings>;
  readonly sagas: readonly Saga[];
  readonly tenant: string;
  readonly alerts: Partial<Thresholds>;
  /** `undefined`: the environment says it, or nobody. */
  readonly queues: readonly QueueShare[] | undefined;
  readonly notify: Readonly<Record<string, NotifyOptions>>;
  /** What steps are given, or a function that makes it. */
  readonly services: unknown;
  /** The file that was read; `null`: there is none. */
  readonly file: string | null;
}

/** The same without Redis, for commands that need none. */
export type Project = Omit<Place, "redis"> & { readonly redis: string | undefined };

/** Throws UsageError, CONFIG_INVALID. */
export async function projectOf(globals: Globals, io: Io): Promise<Project> {
  const file = fileOf(globals, io);
  const config = file === null ? {} : await readFile(file);
  const { env } = io;
  return {
    ...installationOf(config, globals, io),
    file,
    tenant: globals.tenant ?? given(env["REPRISE_TENANT"]) ?? config.tenant ?? "default",
    lanes: isGiven(env["REPRISE_LANES"]) ? undefined : config.lanes,
    artifacts: isGiven(env["REPRISE_ARTIFACTS"]) ? undefined : config.artifacts,
    settings: await settingsOf(config, io),
    sagas: file === null ? [] : await sagasOf(config, file),
    services: file === null ? undefined : await servicesIn(config, file),
    alerts: config.alerts ?? {},
    queues: isGiven(env["REPRISE_QUEUES"]) ? undefined : queuesOf(config),
    notify: config.notify ?? {},
  };
}

type Installation = Pick<Project, "redis" | "namespace" | "shards">;

function installationOf(config: ProjectConfig, { redis, namespace }: Globals, { env }: Io): Installation {
  return {
    redis: redis ?? given(env["REDIS_URL"]) ?? config.redis,
    namespace: namespace ?? given(env["REPRISE_NAMESPACE"]) ?? config.namespace,
    // What the environment says is read where it is used.
    shards: isGiven(env["REPRISE_SHARDS"]) ? undefined : config.shards,
  };
}

/** Where the project says that Redis is, whatever its sagas are like. Throws UsageError, CONFIG_INVALID. */
export async function redisOf(globals: Globals, io: Io): Promise<string | undefined> {
  return (await declaredServer(globals, io)).redis;
}

/** The installation, whatever the sagas of the project are like. Throws UsageError where nothing says where Redis is, CONFIG_INVALID. */
export async function serverOf(globals: Globals, io: Io): Promise<Installation & Pick<Place, "redis">> {
  return onServer(await declaredServer(globals, io));
}

async function declaredServer(globals: Globals, io: Io): Promise<Installation> {
  const file = fileOf(globals, io);
  return installationOf(file === null ? {} : await readFile(file), globals, io);
}

/** Throws UsageError where nothing says where Redis is. */
export async function placeOf(globals: Globals, io: Io): Promise<Place> {
  return onServer(await projectOf(globals, io));
}

function onServer<Where extends Installation>(where: Where): Where & Pick<Place, "redis"> {
  const { redis } = where;
  if (redis !== undefined) return { ...where, redis };
  throw new UsageError(
    "where is Redis? Give --redis, set REDIS_URL, or name it in reprise.config.ts (redis://host:6379)",
  );
}

/** The configuration that is read; `null`: there is none. Throws UsageError where the one that was named is not there. */
export function fileOf({ config }: Pick<Globals, "config">, { cwd, env }: Io): string | null {
  const named = config ?? given(env["REPRISE_CONFIG"]);
  if (named === undefined) return found(cwd);
  const file = resolve(cwd, named);
  if (existsSync(file)) return file;
  throw new UsageError(`--config ${named}: there is no such file`);
}

/** In this folder or the nearest above it. */
function found(folder: string): string | null {
  const here = fileNames.map((name) => join(folder, name)).find((file) => existsSync(file));
  if (here !== undefined) return here;
  const above = dirname(folder);
  return above === folder ? null : found(above);
}

/** Loaded when there is a file: reading modules and zod is much for a sentence of help. */
async function readFile(file: string): Promise<ProjectConfig> {
  const [{ readProject }, { importOrExplain }] = await Promise.all([
    import("../../project.ts"),
    import("../modules.ts"),
  ]);
  if (file.endsWith(".json")) return readProject(jsonIn(file), file);
  const { default: exported } = await importOrExplain(file);
  if (exported === undefined)
    throw new UsageError(`${file} has no default export: export default defineConfig({ ... })`);
  return readProject(exported, file);
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${jsonProblem(error)}`);
  }
}

async function sagasOf({ sagas = [] }: ProjectConfig, file: string): Promise<readonly Saga[]> {
  const { importSagas } = await import("../modules.ts");
  const wanted: readonly (Saga | string)[] = Array.isArray(sagas) ? sagas : [sagas as Saga | string]; // it is no list
  const known = await Promise.all(
    wanted.map(async (each) => (typeof each === "string" ? await importSagas([resolve(dirname(file), each)]) : [each])),
  );
  return [...new Set(known.flat())];
}

/** Not made yet: only a worker needs them. */
async function servicesIn({ services }: ProjectConfig, file: string): Promise<unknown> {
  if (typeof services !== "string") return services;
  return async () => {
    const { importOrExplain } = await import("../modules.ts");
    const { default: exported } = await importOrExplain(resolve(dirname(file), services));
    return await made(exported);
  };
}

/** What steps are given by a worker of this project. */
export async function servicesOf({ services }: Pick<Project, "services">): Promise<unknown> {
  return await made(services);
}

async function made(services: unknown): Promise<unknown> {
  return typeof services === "function" ? ((await services()) as unknown) : services;
}

async function settingsOf({ settings = {} }: ProjectConfig, { env }: Io): Promise<Partial<Settings>> {
  const { settingNames } = await import("../../config.ts");
  const kept = Object.entries(settings).filter(([key]) => !isGiven(env[settingNames[key as keyof Settings]]));
  return Object.fromEntries(kept);
}

function queuesOf({ queues }: ProjectConfig): readonly QueueShare[] | undefined {
  if (queues === undefined) return undefined;
  return Object.entries(queues).map(([name, { concurrency = 1, limit }]) => ({
    ...{ name, concurrency },
    ...(limit === undefined ? {} : { limit: { max: limit.calls, durationMs: limit.ms } }),
  }));
}

function given(text: string | undefined): string | undefined {
  return isGiven(text) ? text : undefined;
}

function isGiven(text: string | undefined): boolean {
  return text !== undefined && text !== "";
}
