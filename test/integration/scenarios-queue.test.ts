/** What BullMQ can do to a run: bring back a finished job, lose a lock, redeliver. Only the store's word counts. */
import { randomBytes } from "node:crypto";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { order } from "../../sagas/index.ts";
import { saga, stepsFor, transient } from "../../src/index.ts";
import { lanePrefix, poolQueue, wakeJobId } from "../../src/queue/jobs.ts";
import { redisConnections } from "../../src/redis/index.ts";
import { memberOf, shardKeys } from "../../src/store/keys.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { aCommit, aCreate, aLease } from "../support/records.ts";
import { agreed, isFull, withStore } from "./scenarios-witness.ts";
import { top, until } from "./top.ts";

const input = { id: "o-1", sku: "A", cents: 4_200, email: "a@example.com" };

describe("a job", () => {
  test("R003 that had ended and is put back by hand is acked once, as is one of nobody's, and no run changes", async () => {
    const { namespace, client, worker, world, troubles } = top([order]);
    await worker();
    const run = await client.start(order, input, { id: "r1" });
    await run.result({ timeout: "20s" });
    const before = await Promise.all([run.get(), run.log(), run.ledger()]);
    const queue = await poolOf(namespace, "r1");
    const ended = wakeJobId({ run: { tenant: "default", id: "r1" }, wake: 1 });
    for (const id of [ended, "nobody-knows-it", "nor-this-one", ended]) await queue.putBack(id);
    await until(queue.isEmpty, 20_000);
    expect(troubles).toEqual([expect.stringContaining("nobody-knows-it is not one of ours: acknowledged")]);
    expect(await Promise.all([run.get(), run.log(), run.ledger()])).toEqual(before);
    await client.start(order, { ...input, id: "o-2" }, { id: "r2" }).then((next) => next.result({ timeout: "20s" }));
    expect(world.counts().every(({ arrivals, effects }) => arrivals === 1 && effects === 1)).toBe(true);
    const { arrivals, effects, checks } = await agreed({ namespace, world }, [order], ["r1", "r2"]);
    leaveEvidence("R003", { arrivals, effects, checks: ["four jobs put back, acked, one word said", ...checks] });
  });

  test.each(["orphan", "failed"] as const)(
    "R026 of the next wake-up that BullMQ holds and never delivers (%s) does not put the run to sleep for ever",
    async (kind) => {
      const { namespace, client, worker, world } = top([order]);
      await worker({ settings: { sweepMs: 50, shutdownMs: 3_000 } });
      const queue = await poolOf(namespace, "r1");
      const held = [1, 2].map((wake) => wakeJobId({ run: { tenant: "default", id: "r1" }, wake }));
      for (const jobId of held) await queue.hold(jobId, kind);
      const run = await client.start(order, input, { id: "r1" });
      await until(async () => {
        await queue.graceIsOver();
        return (await run.get()).status === "completed";
      }, 20_000);
      expect(world.counts().every(({ arrivals, effects }) => arrivals === 1 && effects === 1)).toBe(true);
      await until(queue.isEmpty, 20_000);
      const { arrivals, effects, checks } = await agreed({ namespace, world }, [order], ["r1"]);
      const seen = "two wake-ups swallowed by what lay under their ids, the run completed";
      leaveEvidence("R026", { arrivals, effects, checks: [seen, ...checks] });
    },
  );

  test("R008 taken twice, under one id, gives nobody the run: the older fence is refused, and so is the older revision", async () => {
    const namespace = `t${randomBytes(6).toString("hex")}`;
    const { answers, log } = await withStore(namespace, async (store) => {
      const create = aCreate();
      const { tenant, id } = create.record;
      const run = { tenant, id };
      await store.create(create);
      const take = (owner: string, leaseMs: number) =>
        store.acquire({ run, owner, token: `token-of-${owner}`, leaseMs });
      const first = await take("first", 1);
      const second = await until(async () => {
        const answer = await take("second", 60_000);
        return answer.answer === "OK" && answer;
      });
      if (first.answer !== "OK" || !second) throw new Error("the run was not acquired");
      const leases = [
        aLease(run, first.fence, "token-of-first", "first"),
        aLease(run, second.fence, "token-of-second", "second"),
      ];
      const write = (at: 0 | 1) =>
        store.commit({
          lease: leases[at]!,
          commit: aCommit(create.record, { log: { fence: at + 1 } }),
          leaseMs: 60_000,
        });
      const all = [await write(0), await write(1), await write(1), await write(0)];
      return { answers: all.map(({ answer }) => answer), log: await store.log(run) };
    });
    expect(answers).toEqual(["FENCED", "OK", "STALE", "FENCED"]);
    expect(log.map(({ revision, fence }) => [revision, fence])).toEqual([
      [1, 0],
      [2, 2],
    ]);
    const message = "a commit under fence 1, after fence 2 was given out for the same job, wrote nothing";
    leaveEvidence("R008", { checks: [`answered ${answers.join(", ")}`], refusal: { code: "FENCED", message } });
  });
});

const { step } = stepsFor<WorldClient>();
const Id = z.object({ id: z.string() });

/** Changes nothing, is over at once, and fails the first time, so that the run is given back until its back-off is over. */
function noop<const Name extends string>(name: Name) {
  return step(name, {
    input: Id,
    effect: "none",
    action: async ({ input: args, attempt, services, ...call }) => {
      await services.op("noop", { effect: "none" }).call("do", args, call);
      if (attempt === 1) throw transient("not yet");
    },
    retry: { attempts: 3, backoff: "fixed", initial: "20ms", max: "20ms", jitter: false },
  });
}

const toId = ({ input: { id } }: { readonly input: { readonly id: string } }) => ({ id });
const steps = 5;
const quick = saga("quick", { version: 1, input: Id })
  .step(noop("n1"), toId)
  .step(noop("n2"), toId)
  .step(noop("n3"), toId)
  .step(noop("n4"), toId)
  .step(noop("n5"), toId)
  .build();

const runs = isFull ? 400 : 20;

test(`R005 of ${runs * steps} steps that are over at once and back off by due none fails for an acknowledgement`, async () => {
  const { namespace, client, worker, world, troubles } = top([quick]);
  const settings = { inlineWaitMs: 1, sweepMs: 50, shutdownMs: 3_000 };
  await Promise.all([worker({ settings }), worker({ settings })]);
  const ids = Array.from({ length: runs }, (_, at) => `r${at}`);
  await client.startMany(
    quick,
    ids.map((id) => ({ id, input: { id } })),
  );
  await Promise.all(ids.map((id) => client.run(id, { saga: quick }).result({ timeout: "100s" })));
  expect(world.counts()).toHaveLength(runs * steps);
  expect(world.counts().filter(({ arrivals }) => arrivals !== 2)).toEqual([]);
  for (const id of ids) {
    const [log, ledger] = await Promise.all([client.run(id).log(), client.run(id).ledger()]);
    expect(ledger.every(({ call }) => call.state === "succeeded" && call.attempt === 2)).toBe(true);
    expect(log.at(-1)?.fence).toBeGreaterThanOrEqual(1 + steps); // given back and taken again for each back-off
  }
  const { arrivals, checks } = await agreed({ namespace, world }, [quick], ids);
  const counted = `${troubles.length} troubles counted, ${runs} of ${runs} runs completed`;
  leaveEvidence("R005", { arrivals, checks: [counted, ...checks] });
}, 120_000);

/** The queue of a run's wake-ups, with the hands in it, and in the time at which the run is handed out again. */
async function poolOf(namespace: string, id: string) {
  const connections = redisConnections(inject("redisUrl"));
  onTestFinished(() => connections.close());
  const redis = connections.commands();
  await connections.ready(redis);
  const lanes = connections.isCluster ? 4 : 1;
  const shard = await withStore(namespace, (store) => Promise.resolve(store.shardOf({ tenant: "default", id })));
  const key = (of: string) => `${lanePrefix(namespace, shard % lanes)}:${poolQueue("default")}:${of}`;
  return {
    hold: async (jobId: string, kind: "orphan" | "failed") => {
      await redis.hset(key(jobId), { name: "wake", data: "{}", opts: "{}", timestamp: 1 });
      if (kind === "failed") await redis.zadd(key("failed"), 1, jobId);
    },
    graceIsOver: () => redis.zadd(shardKeys(namespace, shard).due, "XX", 0, memberOf({ tenant: "default", id })),
    putBack: async (jobId: string) => {
      await redis.lpush(key("wait"), jobId);
      await redis.zadd(key("marker"), 0, "0"); // so that a waiting worker looks at once
    },
    isEmpty: async () => (await redis.llen(key("wait"))) + (await redis.llen(key("active"))) === 0,
  };
}
