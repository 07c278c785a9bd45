/**
 * Environment and options -> settings, once, with all problems reported together. Invariants: every number is in ms unless
 * its name says otherwise; what does not hold together is refused before anything is started (CONFIG_INVALID).
 */
import { z } from "zod";
import { RepriseError } from "./errors.ts";
import { redact } from "./redact.ts";

/** Bounds and waits of client and worker, in ms unless the name says otherwise. */
export interface Settings {
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly marginMs: number;
  readonly commandTimeoutMs: number;
  readonly sweepMs: number;
  readonly deadLetterSweepMs: number;
  readonly inlineWaitMs: number;
  readonly startWithinMs: number;
  readonly barrierMs: number;
  readonly abortGraceMs: number;
  readonly quiesceMs: number;
  readonly intentWaitMs: number;
  readonly shutdownMs: number;
  /** The most that one value may take: an input, an output, an event. With artifacts too. */
  readonly maxPayloadBytes: number;
  /** The most that a run may hold in inputs and outputs. */
  readonly maxRunBytes: number;
  /** The newest log entries of a run that are kept, at least. */
  readonly logEntries: number;
  /** Values larger than this are kept as artifacts, where there is a place for them. */
  readonly artifactThresholdBytes: number;
  readonly maxReplays: number;
  /** How long a run is kept after its end, where its saga says nothing; `null`: for ever. */
  readonly retentionMs: number | null;
  /** How often runs are looked for whose time is over. */
  readonly retentionSweepMs: number;
  /** How long an id that somebody gave is not free again after its run was deleted; `null`: for ever. */
  readonly idsKeptMs: number | null;
}

/** How much of a named step queue a worker takes. */
export interface QueueShare {
  readonly name: string;
  /** Calls at once in this process. */
  readonly concurrency: number;
  /** At most `max` calls per `durationMs`, in the whole namespace. */
  readonly limit?: { readonly max: number; readonly durationMs: number };
}

/** A webhook that is told of runs. */
export interface NotifyOptions {
  /** Left out: nothing is sent, and what is to be told waits for `client.notifications.read`. */
  readonly url?: string | undefined;
  /** Signs what is sent; without one nothing is signed. */
  readonly secret?: string | undefined;
  /** That they end, are parked for a person, wait for something; all of it unless given. */
  readonly on?: readonly ("end" | "park" | "wait")[] | undefined;
  /** Names of sagas; all unless given. */
  readonly sagas?: readonly string[] | undefined;
  /** All unless given. */
  readonly tenants?: readonly string[] | undefined;
}

/** What a process is told by its environment. */
export interface Config {
  readonly redisUrl: string | null;
  readonly namespace: string;
  readonly shards: number;
  readonly lanes: number;
  readonly concurrency: number;
  readonly pools: readonly string[];
  readonly queues: readonly QueueShare[];
  readonly allowForgetfulStore: boolean;
  /** What `once` calls wait for: a synced AOF, that many replicas; `null`: nothing. */
  readonly barrierOn: "aof" | number | null;
  /** Where probes and scrapers ask; `null`: nowhere. */
  readonly adminPort: number | null;
  readonly adminHost: string;
  /** Where a supervisor tells its alerts; `null`: in its log only. */
  readonly alertWebhook: string | null;
  /** Signs them. */
  readonly alertSecret: string | null;
  /** What a worker is called; `null`: after its host and process. */
  readonly workerName: string | null;
  /** Of the program as it was deployed (a release, a commit); empty: not told. */
  readonly version: string;
  /** `file:///dir` or `s3://bucket/prefix?endpoint=...&region=...`; `null`: no value is kept outside Redis. */
  readonly artifacts: string | null;
  readonly settings: Settings;
}

/** One variable: its name, what it means, and what it is without being set. */
interface Variable {
  readonly name: string;
  readonly about: string;
  readonly schema: z.ZodType;
  readonly standard: string;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

const duration = z
  .string()
  .regex(/^\d{1,9}(ms|s|m|h)?$/, 'is not a duration: write "500ms", "10s", "5m", "1h" or a number of ms')
  .transform((text) => {
    const [, digits = "0", unit = "ms"] = /^(\d+)(\D*)$/.exec(text) ?? [];
    return Number(digits) * (unitMs[unit === "" ? "ms" : unit] ?? 1);
  })
  .refine((ms) => ms >= 1 && ms <= 2 ** 31 - 1, "is not between 1 ms and 24 days");

const whole = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/, "is not a whole number")
    .transform(Number)
    .refine((value) => value >= least && value <= most, `is not between ${least} and ${most}`);

const name = z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "is not 1 to 64 characters of A-Z a-z 0-9 _ . -");
const names = z
  .string()
  .transform((text) => text.split(",").filter((part) => part !== ""))
  .pipe(z.array(name));
const yesOrNo = z
  .enum(["true", "false", "1", "0"], 'is not "true" or "false"')
  .transform((text) => text === "true" || text === "1");

/** Days and years, which no timer waits for. */
const retention = z
  .string()
  .regex(/^$|^\d{1,5}(s|m|h|d)$/, 'is not how long runs are kept: write "30d", "12h", or nothing for ever')
  .transform((text) => (text === "" ? null : Number(text.slice(0, -1)) * (unitMs[text.slice(-1)] ?? 86_400_000)))
  .refine((ms) => ms === null || ms <= 366 * 86_400_000, "is more than 366 days");

const queueList = z.string().transform((text, context) =>
  text
    .split(",")
    .filter((part) => part !== "")
    .map((part): QueueShare => {
      const [, queue, atOnce, max, per] =
        /^([A-Za-z0-9_.-]{1,64})=(\d{1,5})(?::(\d{1,7})\/(\d{1,9}(?:ms|s|m|h)?))?$/.exec(part) ?? [];
      const durationMs = duration.safeParse(per ?? "1s");
      if (queue === undefined || Number(atOnce) < 1 || Number(max ?? 1) < 1 || !durationMs.success) {
        context.addIssue(`${part} is not <queue>=<concurrency>, or <queue>=<concurrency>:<calls>/<duration>`);
      }
      const limit = max === undefined ? {} : { limit: { max: Number(max), durationMs: durationMs.data ?? 0 } };
      return { name: queue ?? part, concurrency: Number(atOnce), ...limit };
    }),
);

/** Settings by their variable; the defaults are those of design section 5. */
const settingVariables = {
  leaseMs: {
    name: "REPRISE_LEASE",
    about: "how long a worker holds a run without renewing",
    schema: duration,
    standard: "10s",
  },
  renewMs: { name: "REPRISE_RENEW", about: "how often leases are renewed", schema: duration, standard: "1s" },
  marginMs: {
    name: "REPRISE_MARGIN",
    about: "trust in a lease ends this long before it does",
    schema: duration,
    standard: "2s",
  },
  commandTimeoutMs: {
    name: "REPRISE_COMMAND_TIMEOUT",
    about: "a Redis command fails after this",
    schema: duration,
    standard: "1s",
  },
  sweepMs: {
    name: "REPRISE_SWEEP",
    about: "how often overdue runs are looked for",
    schema: duration,
    standard: "500ms",
  },
  deadLetterSweepMs: {
    name: "REPRISE_DEAD_LETTER_SWEEP",
    about: "how often parked runs are compared with the queue dead-letter",
    schema: duration,
    standard: "30s",
  },
  inlineWaitMs: {
    name: "REPRISE_INLINE_WAIT",
    about: "shorter waits keep the lease",
    schema: duration,
    standard: "2s",
  },
  startWithinMs: {
    name: "REPRISE_START_WITHIN",
    about: "a granted call begins within this or not at all",
    schema: duration,
    standard: "2s",
  },
  barrierMs: {
    name: "REPRISE_BARRIER",
    about: "how long `once` calls wait for a durable store",
    schema: duration,
    standard: "1500ms",
  },
  abortGraceMs: {
    name: "REPRISE_ABORT_GRACE",
    about: "an aborted call may still answer this long",
    schema: duration,
    standard: "1s",
  },
  quiesceMs: {
    name: "REPRISE_QUIESCE",
    about: "an unwind waits this long for calls under way",
    schema: duration,
    standard: "5s",
  },
  intentWaitMs: {
    name: "REPRISE_INTENT_WAIT",
    about: "a step waits this long for another run that has its intent, before a person is asked",
    schema: duration,
    standard: "1m",
  },
  shutdownMs: {
    name: "REPRISE_SHUTDOWN",
    about: "calls may go on this long after SIGTERM",
    schema: duration,
    standard: "100s",
  },
  maxPayloadBytes: {
    name: "REPRISE_MAX_PAYLOAD_BYTES",
    about: "largest input, output or event",
    schema: whole(1, 2 ** 29),
    standard: "1000000",
  },
  maxRunBytes: {
    name: "REPRISE_MAX_RUN_BYTES",
    about: "most bytes of inputs and outputs in one run",
    schema: whole(1, 2 ** 31 - 1),
    standard: "64000000",
  },
  logEntries: {
    name: "REPRISE_LOG_ENTRIES",
    about: "newest log entries kept of a run, at least",
    schema: whole(10, 1_000_000),
    standard: "2000",
  },
  artifactThresholdBytes: {
    name: "REPRISE_ARTIFACT_THRESHOLD_BYTES",
    about: "larger values are kept as artifacts",
    schema: whole(1, 2 ** 29),
    standard: "32000",
  },
  maxReplays: {
    name: "REPRISE_MAX_REPLAYS",
    about: "replay plans executed on one run",
    schema: whole(1, 1_000),
    standard: "10",
  },
  retentionMs: {
    name: "REPRISE_RETENTION",
    about: "how long runs are kept after their end; for ever unless set",
    schema: retention,
    standard: "",
  },
  retentionSweepMs: {
    name: "REPRISE_RETENTION_SWEEP",
    about: "how often runs are looked for whose time is over",
    schema: duration,
    standard: "30s",
  },
  idsKeptMs: {
    name: "REPRISE_IDS_KEPT",
    about: "how long ids of deleted runs are not free again; for ever where it is empty",
    schema: retention,
    standard: "366d",
  },
} as const satisfies Readonly<Record<keyof Settings, Variable>>;

const processVariables = {
  redisUrl: {
    name: "REDIS_URL",
    about: "where Redis is",
    schema: z.string().transform((url) => (url === "" ? null : url)),
    standard: "",
  },
  namespace: {
    name: "REPRISE_NAMESPACE",
    about: "separates installations on one Redis",
    schema: name,
    standard: "default",
  },
  shards: {
    name: "REPRISE_SHARDS",
    about: "fixed for a namespace; 16 for a cluster",
    schema: whole(1, 1_024),
    standard: "1",
  },
  lanes: {
    name: "REPRISE_LANES",
    about: "wake-up queues per pool; 4 in a cluster",
    schema: whole(1, 64),
    standard: "1",
  },
  concurrency: {
    name: "REPRISE_CONCURRENCY",
    about: "runs driven at once by a worker",
    schema: whole(1, 10_000),
    standard: "50",
  },
  pools: { name: "REPRISE_POOLS", about: "pools a worker serves", schema: names, standard: "default" },
  queues: {
    name: "REPRISE_QUEUES",
    about: "step queues a worker serves, at once, and how often: gpu=4,mail=20:100/1s",
    schema: queueList,
    standard: "",
  },
  allowForgetfulStore: {
    name: "REPRISE_ALLOW_FORGETFUL_STORE",
    about: "run `once` steps on a Redis that may forget them",
    schema: yesOrNo,
    standard: "false",
  },
  barrierOn: {
    name: "REPRISE_BARRIER_ON",
    about: "what `once` calls wait for: aof, or how many replicas; nothing unless set",
    schema: z
      .string()
      .regex(/^$|^aof$|^[1-9]$/, 'is neither "aof" nor a number of replicas from 1 to 9')
      .transform((text) => (text === "" ? null : text === "aof" ? text : Number(text))),
    standard: "",
  },
  adminPort: {
    name: "REPRISE_ADMIN_PORT",
    about: "port of /livez /readyz /startupz /metrics; 0 is a free one",
    schema: z
      .string()
      .regex(/^\d{0,5}$/, "is not a port")
      .transform((text) => (text === "" ? null : Number(text)))
      .refine((port) => port === null || port <= 65_535, "is not a port"),
    standard: "",
  },
  adminHost: {
    name: "REPRISE_ADMIN_HOST",
    about: "address the admin port listens on; 0.0.0.0 in a container",
    schema: z.string().regex(/^[0-9A-Za-z.:-]{1,255}$/, "is not an address"),
    standard: "127.0.0.1",
  },
  alertWebhook: {
    name: "REPRISE_ALERT_WEBHOOK",
    about: "http(s) URL that a supervisor tells its alerts",
    schema: z
      .string()
      .refine((url) => url === "" || isHookUrl(url), "is no http(s) URL without a password in it")
      .transform((url) => (url === "" ? null : url)),
    standard: "",
  },
  alertSecret: {
    name: "REPRISE_ALERT_SECRET",
    about: "key of the signature of what the webhook is told",
    schema: z.string().transform((secret) => (secret === "" ? null : secret)),
    standard: "",
  },
  workerName: {
    name: "REPRISE_WORKER_NAME",
    about: "what a worker is called in lists; its host and process unless set",
    schema: z
      .string()
      .max(100, "is longer than 100 characters")
      .transform((text) => (text === "" ? null : text)),
    standard: "",
  },
  version: {
    name: "REPRISE_VERSION",
    about: "release or commit of the program, shown with its workers",
    schema: z.string().max(100, "is longer than 100 characters"),
    standard: "",
  },
  artifacts: {
    name: "REPRISE_ARTIFACTS",
    about: "where large values are kept: file:///dir or s3://bucket?endpoint=...",
    schema: z
      .string()
      .regex(/^$|^(file|s3):\/\/./, "is neither file:///dir nor s3://bucket")
      .transform((url) => (url === "" ? null : url)),
    standard: "",
  },
} as const satisfies Readonly<Record<Exclude<keyof Config, "settings">, Variable>>;

/** Can something be sent there? `fetch` takes no URL that names a user: what would stand there is better said by a signature. */
export function isHookUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === "" && password === "";
}

/** Every variable, for documentation. */
export const variables: readonly Pick<Variable, "name" | "about" | "standard">[] = [
  ...Object.values(processVariables),
  ...Object.values(settingVariables),
];

/** By which variable each setting is given. */
export const settingNames = Object.fromEntries(
  Object.entries(settingVariables).map(([key, { name }]) => [key, name]),
) as Readonly<Record<keyof Settings, string>>; // the table is checked to name every setting

/** The settings nobody has changed. */
export const defaultSettings: Settings = read(settingVariables, {}, []);

/** Reads a process's environment. Throws CONFIG_INVALID with every problem found. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const config = {
    ...read<Omit<Config, "settings">>(processVariables, env, problems),
    settings: read<Settings>(settingVariables, env, problems),
  };
  problems.push(...settingProblems(config.settings));
  refuse(problems);
  return config;
}

/** Named step queues as REPRISE_QUEUES writes them. Throws CONFIG_INVALID. */
export function queuesIn(text: string): readonly QueueShare[] {
  const parsed = queueList.safeParse(text);
  if (!parsed.success) refuse(parsed.error.issues.map(({ message }) => message));
  return parsed.data ?? [];
}

/** Settings with some of them given, in ms. Throws CONFIG_INVALID with every problem found. */
export function withSettings(settings: Settings, given: Partial<Settings>): Settings {
  const merged = { ...settings, ...given };
  const { retentionMs, idsKeptMs, ...bounded } = merged;
  const problems = Object.entries(bounded).flatMap(([key, value]) =>
    Number.isInteger(value) && value >= 1 && value <= 2 ** 31 - 1
      ? []
      : [`${key} is not a whole number from 1: ${String(value)}`],
  );
  for (const [key, ms] of Object.entries({ retentionMs, idsKeptMs })) {
    if (ms === null || (Number.isInteger(ms) && ms >= 0)) continue;
    problems.push(`${key} is neither a whole number of ms nor null: ${String(ms)}`);
  }
  refuse([...problems, ...settingProblems(merged)]);
  return merged;
}

function settingProblems(settings: Settings): readonly string[] {
  const { leaseMs, renewMs, marginMs, commandTimeoutMs, startWithinMs, barrierMs } = settings;
  const problems: string[] = [];
  if (marginMs <= commandTimeoutMs + renewMs / 2) {
    problems.push(
      `marginMs (${marginMs}) must be more than commandTimeoutMs + renewMs / 2 (${commandTimeoutMs + renewMs / 2})`,
    );
  }
  if (barrierMs >= startWithinMs)
    problems.push(`barrierMs (${barrierMs}) must be less than startWithinMs (${startWithinMs})`);
  if (leaseMs <= marginMs + renewMs) {
    problems.push(`leaseMs (${leaseMs}) must be more than marginMs + renewMs (${marginMs + renewMs})`);
  }
  return problems;
}

/** Each variable by itself, so that one bad one hides no other; a bad one is taken as unset. */
function read<Values>(
  described: Readonly<Record<string, Variable>>,
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): Values {
  const values = Object.entries(described).map(([key, variable]) => {
    const given = env[variable.name];
    const parsed = variable.schema.safeParse(given ?? variable.standard);
    if (parsed.success) return [key, parsed.data];
    const shown = redact(`${variable.name} ${JSON.stringify(given)}`);
    problems.push(...parsed.error.issues.map((issue) => `${shown} ${issue.message}`));
    return [key, variable.schema.parse(variable.standard)];
  });
  // The keys and what their schemas give are those of `Values`: the tables above are checked against it by name.
  return Object.fromEntries(values) as Values;
}

function refuse(problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw new RepriseError("CONFIG_INVALID", `the configuration cannot be used: ${problems.join("; ")}`, {
    details: { problems },
  });
}
