/**
 * Baseline `loop`, the ceiling: what is left of a durable saga when there is no engine around it. One BullMQ job per saga;
 * its processor asks XState what follows (called as `core/machine/machine.ts` does: `machine.transition` on a snapshot restored
 * from the stored value, one inert scope per machine) and writes each step in one version-checked script. No lease, no
 * fence, no schema, no retry, no unwind, no take-over, no listing.
 */
import { type Job, Queue, Worker } from "bullmq";
import type { Redis, Result } from "ioredis";
import type { Contestant, Load, Place } from "../subjects/contestant.ts";
import { clientTo, connectionTo } from "../subjects/redis.ts";
import { type OrderInput, orderInput, perform } from "../subjects/work.ts";
import { type BareState, bareMachine } from "./bare-machine.ts";

/** KEYS run, ledger. ARGV revision expected, record, row. OK or STALE. */
const commitScript = `
if (redis.call("HGET", KEYS[1], "revision") or "0") ~= ARGV[1] then return "STALE" end
redis.call("HSET", KEYS[1], "revision", ARGV[1] + 1, "record", ARGV[2])
if ARGV[3] ~= "" then redis.call("RPUSH", KEYS[2], ARGV[3]) end
return "OK"`;

declare module "ioredis" {
  interface RedisCommander<Context> {
    commitStep(
      run: string,
      ledger: string,
      revision: number,
      record: string,
      row: string,
    ): Result<"OK" | "STALE", Context>;
  }
}

function storeAt(place: Place): Redis {
  const store = clientTo(place.url);
  store.defineCommand("commitStep", { numberOfKeys: 2, lua: commitScript });
  return store;
}

/** The whole baseline. */
async function runSaga(store: Redis, prefix: string, input: OrderInput): Promise<void> {
  const keys = [`${prefix}:run:${input.id}`, `${prefix}:ledger:${input.id}`] as const;
  let revision = 0;
  const commit = async (state: BareState, row: string) => {
    const answer = await store.commitStep(...keys, revision, JSON.stringify({ input, state }), row);
    if (answer !== "OK") throw new Error(`${input.id} is ${answer} at revision ${revision}`);
    revision += 1;
  };
  let turn = bareMachine.initial(input);
  await commit(turn.state, "");
  while (turn.start !== null) {
    const { invoke, step, input: stepInput } = turn.start;
    const output = await perform(step, stepInput);
    turn = bareMachine.done(turn.state, invoke, output, input);
    await commit(turn.state, JSON.stringify({ step, input: stepInput, output }));
  }
}

function jobOf(input: OrderInput) {
  return { name: "saga", data: input, opts: { removeOnComplete: true, removeOnFail: true, jobId: input.id } };
}

async function fill(place: Place, { count, from }: Load): Promise<void> {
  const queue = new Queue<OrderInput>(place.namespace, { connection: connectionTo(place.url) });
  for (let at = from; at < from + count; at += 1_000) {
    const size = Math.min(1_000, from + count - at);
    await queue.addBulk(Array.from({ length: size }, (_, index) => jobOf(orderInput(at + index))));
  }
  await queue.close();
}

function workerAt(place: Place, store: Redis): Worker<OrderInput> {
  const { concurrency, url, namespace } = place;
  const process = ({ data }: Job<OrderInput>) => runSaga(store, `{${namespace}}`, data);
  return new Worker(namespace, process, { connection: connectionTo(url), concurrency });
}

async function drain(place: Place, { count }: Load): Promise<() => Promise<void>> {
  const store = storeAt(place);
  const worker = workerAt(place, store);
  let ended = 0;
  await new Promise<void>((resolve, reject) => {
    worker.on("failed", (_, error) => reject(error));
    worker.on("completed", () => {
      ended += 1;
      if (ended === count) resolve();
    });
  });
  return () => rest(worker, store);
}

async function rest(worker: Worker<OrderInput>, store: Redis): Promise<void> {
  await worker.close();
  await store.quit();
}

async function serve(place: Place): Promise<() => Promise<void>> {
  const store = storeAt(place);
  const worker = workerAt(place, store);
  await worker.waitUntilReady();
  return () => rest(worker, store);
}

async function alone(): Promise<readonly number[]> {
  throw new Error("the ceiling of latency is not measured");
}

export const loop: Contestant = { fill, drain, alone, serve };
