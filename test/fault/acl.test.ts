/** The user of Redis that the documentation gives Reprise: enough for all it does, and for nothing else. */
import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import { createClient, createWorker, notApplied, saga, step } from "reprise";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";
import { owned, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const { own, release } = owned();
afterEach(release);

const documented = /ACL SETUSER reprise on >PASSWORD (.*)$/m;
const rulesIn = (path: string) => documented.exec(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"))?.[1];
const rules = rulesIn("docs/operations.md") ?? "";

const input = z.object({ n: z.number() });
const rest = { input, noCompensation: "nothing is undone here" } as const;
const mail = step("mail", { ...rest, effect: "once", action: () => undefined });
const render = step("render", { ...rest, effect: "keyed", queue: "gpu", action: () => undefined });
const lookAgain = step("lookAgain", {
  ...rest,
  effect: "keyed",
  retry: { attempts: 1 },
  onExhausted: "review",
  action: () => {
    throw notApplied("the other side is closed");
  },
});
const concurrency = { key: () => "one", limit: 1 };
const tour = saga("tour", { version: 1, input, concurrency })
  .step(mail, ({ input }) => input)
  .wait("1s")
  .step(render, ({ input }) => input)
  .step(lookAgain, ({ input }) => input)
  .build();

test("a worker and a client do all they do as the documented user, and it can neither empty Redis nor read what is not theirs", async () => {
  expect(rulesIn("deploy/kubernetes/secret.example.yaml")).toBe(rules);
  const server = own(await startRedisServer());
  await server.ask("ACL", "SETUSER", "reprise", "on", ">pw", ...rules.split(" "));
  await server.ask("SET", "theirs", "secret");
  const redis = server.url.replace("redis://", "redis://reprise:pw@");
  const place = { redis, sagas: [tour], settings: { deadLetterSweepMs: 200 } };
  const worker = createWorker({ ...place, queues: [{ name: "gpu", concurrency: 1 }] });
  await worker.start();
  own({ stop: () => worker.stop() });
  const client = createClient(place);
  own(client);
  await client.schedules.put({ id: "often", saga: tour, input: { n: 1 }, every: "1h" });
  const run = await client.start(tour, { n: 1 });
  await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ code: "RUN_NEEDS_REVIEW" });
  await waitFor(async () => (await server.ask("EXISTS", "{reprise:default:w0}:dead-letter:failed")) === 1, {
    what: "the letter of the parked run",
  });
  expect((await client.inbox()).items.map(({ reason }) => reason)).toEqual(["exhausted"]);
  expect(await server.ask("ACL", "LOG")).toEqual([]);

  const intruder = new Redis(redis, { maxRetriesPerRequest: 1 });
  own({ stop: async () => intruder.disconnect() });
  for (const wanted of [["FLUSHALL"], ["KEYS", "*"], ["GET", "theirs"], ["CONFIG", "SET", "appendfsync", "no"]]) {
    const [command = "", ...args] = wanted;
    await expect(intruder.call(command, ...args), wanted.join(" ")).rejects.toThrow(/NOPERM/);
  }
});
