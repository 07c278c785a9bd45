/**
 * The Lua scripts: found beside this file (in src and, copied, in dist), each with the limits and the shared parts it
 * needs before it, called by their SHA and sent whole when the server does not know them (a restart, SCRIPT FLUSH,
 * another node). That refusal happens before anything runs, so sending again is safe.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Cluster, Redis } from "ioredis";
import {
  maxEntriesWaiting,
  maxLeasesExpired,
  maxPassedOver,
  maxWakeGraceMs,
  maxWakeUpsQueued,
  wakeGraceMs,
} from "./limits.ts";

/** Which shared parts a script needs, in this order. */
const parts = {
  create: ["due"],
  acquire: ["due", "lease"],
  commit: ["due", "lease", "inbox", "output"],
  renew: ["due", "lease"],
  release: ["due", "lease", "inbox"],
  send: ["due"],
  due: ["due", "lease"],
  permit: ["due", "lease"],
  renew_permit: ["due"],
  expire: ["due"],
  read: [],
  register: [],
  forget: [],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ScriptName = keyof typeof parts;

export interface Script {
  readonly text: string;
  readonly sha: string;
}

export type Scripts = Readonly<Record<ScriptName, Script>>;

const limits = Object.entries({
  wakeGraceMs,
  maxWakeGraceMs,
  maxWakeUpsQueued,
  maxPassedOver,
  maxLeasesExpired,
  maxEntriesWaiting,
});

/** Reads them all, once per store. */
export function loadScripts(): Scripts {
  const names = Object.keys(parts) as ScriptName[];
  return Object.fromEntries(names.map((name) => [name, load(name)])) as Scripts;
}

function load(name: ScriptName): Script {
  const header = limits.map(([limit, value]) => `local ${limit} = ${value}`).join("\n");
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

/** Runs a script; rejects with what the server or the connection said. */
export async function runScript(
  client: Redis | Cluster,
  { sha, text }: Script,
  keys: readonly string[],
  args: readonly ScriptArgument[],
): Promise<unknown> {
  gatherWrites(client);
  try {
    return await client.evalsha(sha, keys.length, ...keys, ...args);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return await client.eval(text, keys.length, ...keys, ...args);
  }
}

/** One after the other on one connection, sent together. Answers in order; a refusal stands in its place. */
export async function runScripts(
  client: Redis | Cluster,
  script: Script,
  calls: readonly { readonly keys: readonly string[]; readonly args: readonly ScriptArgument[] }[],
): Promise<readonly { readonly error: Error | null; readonly reply: unknown }[]> {
  const pipeline = client.pipeline();
  for (const { keys, args } of calls) pipeline.evalsha(script.sha, keys.length, ...keys, ...args);
  const answers = (await pipeline.exec()) ?? [];
  return await Promise.all(
    calls.map(async ({ keys, args }, n) => {
      const [error, reply] = answers[n] ?? [new Error("no answer came"), null];
      if (error === null || !isUnknownScript(error)) return { error, reply };
      return { error: null, reply: await runScript(client, script, keys, args) };
    }),
  );
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}
