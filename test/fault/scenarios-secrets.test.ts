/** What user code lets slip in errors, causes, probes and log lines is not kept and not shown. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { leaveEvidence } from "../support/evidence.ts";
import { spawnChild } from "../support/processes.ts";
import { until } from "../support/top.ts";
import { Here, isFull } from "./scenarios-here.ts";
import { type Leak, leaky, secrets } from "./scenarios-secrets-saga.ts";

let here: Here;
beforeAll(async () => {
  here = await Here.open();
});
afterAll(() => here.close());

/** Every key and what it holds. */
async function dump(): Promise<string> {
  const keys = (await here.redis.ask("KEYS", "*")) as readonly string[];
  const held = await Promise.all(keys.map(async (key) => [key, await contentOf(key)]));
  return inspect(held, { depth: null, maxArrayLength: null, maxStringLength: null });
}

async function contentOf(key: string): Promise<unknown> {
  switch (await here.redis.ask("TYPE", key)) {
    case "string":
      return await here.redis.ask("GET", key);
    case "hash":
      return await here.redis.ask("HGETALL", key);
    case "list":
      return await here.redis.ask("LRANGE", key, 0, -1);
    case "set":
      return await here.redis.ask("SMEMBERS", key);
    case "zset":
      return await here.redis.ask("ZRANGE", key, 0, -1);
    default:
      return await here.redis.ask("XRANGE", key, "-", "+");
  }
}

/** All that was ever written there, what was deleted since included. */
async function everWritten(): Promise<string> {
  const folder = join(here.redis.directory, "appendonlydir");
  const files = await readdir(folder);
  return (await Promise.all(files.map((file) => readFile(join(folder, file), "latin1")))).join("\n");
}

const leaks: readonly Leak[] = ["throws", "cannot_tell", "fails", "invalid"];

test("R123 credentials that errors, their causes and headers, probes and log lines hold are found in no key, no log, no answer", async () => {
  const top = here.top([leaky]);
  const env = { REDIS_URL: here.redis.url, REPRISE_NAMESPACE: top.namespace };
  const worker = await spawnChild(new URL("scenarios-secrets.child.ts", import.meta.url), { env });
  await worker.nextMessage((message): message is "serving" => message === "serving", 50_000);
  const runs = await Promise.all(leaks.map((how) => top.client.start(leaky, { id: how, how }, { id: how })));
  const hasSpoken = async (run: (typeof runs)[number]) => {
    const [{ status }, log] = await Promise.all([run.get(), run.log()]);
    if (status === "needs_review" || status === "failed") return true;
    // Its last probe is 30 s away; what it says was said before.
    return !isFull && log.flatMap(({ taken }) => taken).filter(({ what }) => what === "probed").length >= 2;
  };
  await until(async () => (await Promise.all(runs.map(hasSpoken))).every(Boolean), 60_000);

  const told = await Promise.all(
    runs.map(async (run) => {
      const result = await run.result({ timeout: "1s" }).catch((error: unknown) => error);
      return [await run.get(), await run.ledger(), await run.log(), await run.explain(), await run.verdict(), result];
    }),
  );
  const shown = inspect([told, await top.client.reviews(), await top.client.inbox()], { depth: null });
  await until(async () => (await dump()).includes("dead-letter"), 30_000);
  expect(await worker.kill("SIGTERM")).toEqual({ code: 0, signal: null });

  const places = {
    keys: await dump(),
    files: await everWritten(),
    stderr: worker.stderr,
    stdout: worker.stdout,
    shown,
  };
  for (const [place, text] of Object.entries(places)) {
    for (const [name, secret] of Object.entries(secrets))
      expect(text.includes(secret), `${name} in ${place}`).toBe(false);
  }
  // It was there to be found: each place tells of the same words, masked.
  for (const text of [places.keys, places.files, places.stderr, shown])
    expect(text.includes("Authorization: [redacted] (key [redacted])")).toBe(true);
  leaveEvidence("R123", {
    killed: [{ pid: worker.pid, signal: "SIGTERM" }],
    checks: [`0 occurrences of ${Object.keys(secrets).length} secrets in ${Object.keys(places).join(", ")}`],
  });
});
