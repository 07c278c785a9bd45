/**
 * A client waits for the end of a run, and Redis goes away, or the news never reaches it: it learns the result all the same,
 * because it reads again. What is published is a hint.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tenant } from "../support/fault-plan.ts";
import type { Room } from "../support/fault-room.ts";
import { done } from "../support/fault-sagas.ts";
import { Stage } from "../support/fault-stage.ts";
import { waitFor } from "../support/processes.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

/** How soon a client that waits reads again, whatever it hears. */
const rereadMs = 2_000;
/** For an answer, a connection that comes back, a full machine. */
const slackMs = 3_000;
const times = process.env["REPRISE_SIZE"] === "full" ? 5 : 1;

let stage: Stage;
beforeAll(async () => {
  stage = await Stage.open();
});
afterAll(() => stage.close());

interface Waiting {
  readonly room: Room;
  /** Between the client and Redis. */
  readonly proxy: TcpProxy;
  /** When the client learned the result, by the store's clock; rejects with what it was told instead. */
  readonly learned: Promise<number>;
  /** Lets the last effect of the run be answered. */
  readonly finish: () => void;
}

const subscription = ({ words: [command] }: { readonly words: readonly string[] }) =>
  command?.toUpperCase() === "SUBSCRIBE";

/** A run whose last call is under way, and a client that waits for its end and was promised word of it. */
async function waiting(name: string): Promise<Waiting> {
  const proxy = await stage.proxy();
  const [room, worker] = await Promise.all([stage.room(name, proxy.url), stage.rescuer()]);
  await worker.serve(name);
  const operationId = room.operationOf("approve");
  stage.world.fault({ service: "approve", operationId, kind: "apply-then-hang" });
  await room.start("whole");
  const held = await stage.world.nextHeld({ operationId });
  const result = room.client.run("r1", { tenant }).result({ timeout: "60s" });
  const learned = result.then(() => room.store.now());
  learned.catch(() => undefined);
  await waitFor(() => proxy.asking(subscription) === 1, { what: "the client to subscribe" });
  await waitFor(async () => (await listeners(name)) === 1, { what: "the subscription" });
  return { room, proxy, learned, finish: () => held.release() };
}

/** How many Redis believes to hear of a namespace. */
async function listeners(namespace: string): Promise<number> {
  const channels = (await stage.redis.ask("PUBSUB", "CHANNELS", `*${namespace}*`)) as readonly string[];
  const counts = (await stage.redis.ask("PUBSUB", "NUMSUB", ...channels)) as readonly (string | number)[];
  return counts.reduce<number>((sum, each) => sum + (typeof each === "number" ? each : 0), 0);
}

/** It learned the result, not before it was there, and soon after it; every call was made once. */
async function expectLearned({ room, learned }: Waiting): Promise<number> {
  const learnedAt = await learned;
  const [record, log] = await Promise.all([room.record(), room.log()]);
  expect(record.status).toBe("completed");
  const afterMs = learnedAt - (log.at(-1)?.at ?? Number.NaN);
  expect(afterMs).toBeGreaterThanOrEqual(0);
  expect(afterMs).toBeLessThan(rereadMs + slackMs);
  expect(await room.counts()).toMatchObject(done);
  return afterMs;
}

describe.each(Array.from({ length: times }, (_, n) => n + 1))("a client that waits for a result (%i)", (time) => {
  test("R058 while Redis is killed and started again learns it", async () => {
    const mine = await waiting(`r058-restart-${time}`);
    const { pid } = stage.redis;
    expect(await stage.redis.kill()).toEqual({ code: null, signal: "SIGKILL" });
    const goneAt = performance.now();
    const isLong = () => performance.now() - goneAt > 1.25 * rereadMs;
    await waitFor(isLong, { what: "the client to read again in vain" });
    await stage.redis.restart();
    mine.finish();
    const afterMs = await expectLearned(mine);
    const checks = [`told ${afterMs} ms after the end; Redis was away for longer than it waits to read again`];
    await mine.room.prove("R058", { killed: [{ pid, signal: "SIGKILL" }], checks });
  });

  test("R058 whose news is lost on the way learns it by reading again", async () => {
    const mine = await waiting(`r058-deaf-${time}`);
    mine.proxy.silence(subscription);
    mine.finish();
    const afterMs = await expectLearned(mine);
    expect(await listeners(mine.room.namespace)).toBe(1);
    const checks = [`told ${afterMs} ms after the end; Redis believed that it listened, and nothing reached it`];
    await mine.room.prove("R058", { checks });
  });
});
