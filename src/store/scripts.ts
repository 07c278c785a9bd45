/**
 * The Lua scripts: found beside this file (in src and, copied, in dist), each with the limits and the shared parts it
 * needs before it, called by their SHA and sent whole when the server does not know them (a restart, SCRIPT FLUSH,
 * another node). That refusal happens before anything runs, so sending again is safe.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Cluster, Command, type Redis } from "ioredis";
import { heartbeatKeptMs, maxActsKept, promised, staleAfterMs } from "../core/index.ts";
import {
  firstFreshHandOut,
  maxEntriesWaiting,
  maxIntentListeners,
  maxLeasesExpired,
  maxNoticesLost,
  maxPassedOver,
  maxSchedules,
  maxTurnsShown,
  maxWakeGraceMs,
  queueRoomOf,
  turnForgottenMs,
  wakeGraceMs,
} from "./limits.ts";

/** Which shared parts a script needs, in this order. */
const parts = {
  create: ["due", "fair"],
  acquire: ["due", "lease"],
  commit: ["due", "lease", "inbox", "output", "notices"],
  renew: ["due", "lease"],
  release: ["due", "lease", "inbox"],
  set_aside: ["due", "lease"],
  shelve: ["due"],
  unshelve: ["due"],
  send: ["due", "audit"],
  due: ["due", "lease", "fair"],
  permit: ["due", "lease"],
  renew_permit: ["due"],
  expire: ["due"],
  claim_intent: ["due", "intent"],
  publish_intent: ["due", "intent"],
  ask_turn: ["due", "turn"],
  give_turn: ["due", "turn"],
  put_schedule: ["due", "audit"],
  beat: ["due"],
  ask_to_drain: ["due", "audit"],
  put_plan: ["due", "plan"],
  get_plan: ["due", "plan"],
  take_plan: ["due", "plan", "audit"],
  note_result: ["due", "plan"],
  set_suspension: ["due", "plan", "audit"],
  get_suspension: ["due", "plan"],
  note_act: ["due", "audit"],
  take_notices: ["due", "notices"],
  strike_notice: ["due", "notices"],
  put_off_notice: ["due", "notices"],
  expired: ["due"],
  purge: [],
  read: [],
  read_log: [],
  register: [],
  forget: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ScriptName = keyof typeof parts;

export interface Script {
  readonly text: string;
  readonly sha: string;
}

export type Scripts = Readonly<Record<ScriptName, Script>>;

const limits = {
  maxNoticesLost,
  firstFreshHandOut,
  wakeGraceMs,
  maxWakeGraceMs,
  maxPassedOver,
  maxLeasesExpired,
  maxEntriesWaiting,
  maxIntentListeners,
  turnForgottenMs,
  maxTurnsShown,
  maxSchedules,
  heartbeatKeptMs,
  maxActsKept,
  staleAfterMs,
} as const;

/** Reads them all, once per store: they know how many shards there are. */
export function loadScripts(shards: number): Scripts {
  const names = Object.keys(parts) as ScriptName[];
  const known = Object.entries({ ...limits, ...queueRoomOf(shards) });
  const header = known.map(([limit, value]) => `local ${limit} = ${value}`).join("\n");
  return Object.fromEntries(names.map((name) => [name, load(name, header)])) as Scripts;
}

function load(name: ScriptName, header: string): Script {
  const files = [...parts[name].map((part) => `shared.${part}`), name];
  const text = [...(parts[name].length > 0 ? [header] : []), ...files.map(read)].join("\n");
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}

function read(file: string): string {
  return readFileSync(new URL(`./lua/${file}.lua`, import.meta.url), "utf8");
}

/**
 * What is sent in one turn of the event loop goes out in one write: answers come in bunches, and so do the commits that
 * follow from them. It saves both sides most of their system calls. (Not ioredis's pipelining, which halves the rate.)
 */
function gatherWrites(client: Redis | Cluster): void {
  const stream = "stream" in client ? client.stream : null;
  if (stream === null || stream === undefined || stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

export type ScriptArgument = string | number;

export interface ScriptWords {
  readonly keys: readonly string[];
  readonly args: readonly ScriptArgument[];
}

export interface ScriptReading<Result> {
  readonly read: (reply: unknown) => Result | Promise<Result>;
  readonly named: (error: unknown) => unknown;
}

/**
 * EVALSHA, its words put together once: ioredis goes over them four times and builds the text piece by piece, and a commit
 * has some forty words.
 */
class ScriptCall extends Command {
  constructor(sha: string, keys: readonly string[], args: readonly ScriptArgument[]) {
    super("evalsha", [], { replyEncoding: "utf8" });
    const words = new Array<string>(2 + keys.length + args.length);
    words[0] = sha;
    words[1] = String(keys.length);
    let at = 2;
    for (const key of keys) words[at++] = key;
    for (const arg of args) words[at++] = typeof arg === "string" ? arg : String(arg);
    this.args = words;
  }

  override toWritable(): string {
    const words = this.args as readonly string[];
    const parts = new Array<string>(2 + 2 * words.length);
    parts[0] = `*${words.length + 1}\r\n$7\r\nevalsha`;
    let at = 1;
    for (const word of words) {
      const bytes = Buffer.byteLength(word);
      parts[at++] = lengths[bytes] ?? `$${bytes}`;
      parts[at++] = word;
    }
    parts[at] = "";
    return parts.join("\r\n");
  }
}

/** How lengths are written, up to a size that most words have. */
const lengths = Array.from({ length: 1_024 }, (_, bytes) => `$${bytes}`);

/** Runs a script and hands on what `read` makes of its answer; rejects with what `named` makes of what the server or the connection said. */
export function runScript<Result>(
  client: Redis | Cluster,
  { sha, text }: Script,
  { keys, args }: ScriptWords,
  { read, named }: ScriptReading<Result>,
): Promise<Result> {
  const failed = (error: unknown): never => {
    throw named(error);
  };
  // (One promise beside the client's own: see `promised`.)
  return promised(() => {
    gatherWrites(client);
    return client.sendCommand(new ScriptCall(sha, keys, args)) as Promise<unknown>;
  }).then(read, (error: unknown) => {
    if (!isUnknownScript(error)) return failed(error);
    return client.eval(text, keys.length, ...keys, ...args).then(read, failed);
  });
}

/** One after the other on one connection, in one write. Answers in order; a refusal stands in its place. */
export async function runScripts(
  client: Redis | Cluster,
  script: Script,
  calls: readonly ScriptWords[],
): Promise<readonly { readonly error: unknown; readonly reply: unknown }[]> {
  const reading = { read: (reply: unknown) => ({ error: null, reply }), named: (error: unknown) => error };
  const refused = (error: unknown) => ({ error, reply: null });
  return await Promise.all(calls.map((words) => runScript(client, script, words, reading).catch(refused)));
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}
