/** What every queue promises of nudges, whatever delivers them. */
import { expect, onTestFinished, test } from "vitest";
import type {
  Consumer,
  ConsumerFactory,
  ConsumerOptions,
  RunRef,
  StepJob,
  WakeUp,
  WakeUps,
} from "../../src/core/index.ts";

export interface QueueBench {
  readonly wakeUps: WakeUps;
  readonly consumers: ConsumerFactory;
  /** Lets the queue do what it would do by itself until `done` is true; throws when that takes too long. */
  until(done: () => boolean): Promise<void>;
  /** Lets some time pass in which nothing is expected. */
  quiet(): Promise<void>;
}

export const run = (id: string): RunRef => ({ tenant: "acme", id });

export function wakeUp(id: string, over: Partial<WakeUp> = {}): WakeUp {
  return { run: run(id), wake: 1, pool: "default", lane: 0, priority: 0, ...over };
}

export function stepJob(id: string, over: Partial<StepJob> = {}): StepJob {
  return { run: run(id), seq: 3, send: 2, side: "action", queue: "gpu", priority: 0, ...over };
}

export function consumerOf(bench: Pick<QueueBench, "consumers">, over: Partial<ConsumerOptions>): Consumer {
  const consumer = bench.consumers({
    pools: ["default"],
    queues: [],
    concurrency: 10,
    onWake: async () => undefined,
    onStep: async () => undefined,
    ...over,
  });
  onTestFinished(() => consumer.stop(1_000));
  return consumer;
}

/** A door that handlers wait at. */
function gateOf(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

export function queueSuite(makeBench: () => Promise<QueueBench>): void {
  test("a wake-up is handed over once, with its run", async () => {
    const bench = await makeBench();
    const seen: RunRef[] = [];
    await bench.wakeUps.wake([wakeUp("a")]);
    await consumerOf(bench, { onWake: async (ref) => void seen.push(ref) }).start();
    await bench.until(() => seen.length > 0);
    await bench.quiet();
    expect(seen).toEqual([run("a")]);
  });

  test("ids with dots and dashes come back as they were", async () => {
    const bench = await makeBench();
    const seen: RunRef[] = [];
    const odd = { tenant: "a.b_c-1", id: "x.1.2-3_4.5" };
    await bench.wakeUps.wake([wakeUp("a", { run: odd, wake: 17 })]);
    await consumerOf(bench, { onWake: async (ref) => void seen.push(ref) }).start();
    await bench.until(() => seen.length > 0);
    expect(seen).toEqual([odd]);
  });

  test("the same wake number is one job while it is queued or handled", async () => {
    const bench = await makeBench();
    const seen: string[] = [];
    const gate = gateOf();
    await bench.wakeUps.wake([wakeUp("a"), wakeUp("a")]);
    await bench.wakeUps.wake([wakeUp("a")]);
    const onWake = async (ref: RunRef) => {
      seen.push(ref.id);
      await gate.passed;
    };
    await consumerOf(bench, { onWake }).start();
    await bench.until(() => seen.length > 0);
    await bench.wakeUps.wake([wakeUp("a")]);
    await bench.quiet();
    gate.open();
    await bench.quiet();
    expect(seen).toEqual(["a"]);
  });

  test("once it has ended, the same id is a new job", async () => {
    const bench = await makeBench();
    const seen: string[] = [];
    await consumerOf(bench, { onWake: async (ref) => void seen.push(ref.id) }).start();
    await bench.wakeUps.wake([wakeUp("a")]);
    await bench.until(() => seen.length === 1);
    await bench.quiet();
    await bench.wakeUps.wake([wakeUp("a")]);
    await bench.until(() => seen.length === 2);
  });

  test("a handler that fails is not called again, and the next job is", async () => {
    const bench = await makeBench();
    const seen: string[] = [];
    const onWake = async (ref: RunRef) => {
      seen.push(ref.id);
      if (ref.id === "bad") throw new Error("bad");
    };
    await consumerOf(bench, { onWake, concurrency: 1 }).start();
    await bench.wakeUps.wake([wakeUp("bad")]);
    await bench.wakeUps.wake([wakeUp("good")]);
    await bench.until(() => seen.length === 2);
    await bench.quiet();
    expect(seen).toEqual(["bad", "good"]);
  });

  test("a consumer shows which queues it reads, whether its hands are full, and when it last took a job", async () => {
    const bench = await makeBench();
    const gate = gateOf();
    const consumer = consumerOf(bench, { concurrency: 1, onWake: () => gate.passed });
    await consumer.start();
    expect(consumer.signs()).toMatchObject([{ isFull: false, tookAt: null }]);
    await bench.wakeUps.wake([wakeUp("a")]);
    await bench.until(() => consumer.signs()[0]?.isFull === true);
    expect(consumer.signs()[0]?.tookAt).toEqual(expect.any(Number));
    gate.open();
    await bench.until(() => consumer.signs()[0]?.isFull === false);
    await consumer.stop(1_000);
    expect(consumer.signs()).toEqual([]);
  });

  test("a step job says row, send and side; action and compensation are two jobs", async () => {
    const bench = await makeBench();
    const seen: StepJob[] = [];
    await bench.wakeUps.offer([stepJob("a"), stepJob("a", { side: "undo" }), stepJob("a")]);
    const queues = [{ name: "gpu", concurrency: 1 }];
    await consumerOf(bench, { queues, onStep: async (job) => void seen.push(job) }).start();
    await bench.until(() => seen.length === 2);
    await bench.quiet();
    expect(seen).toEqual([stepJob("a"), stepJob("a", { side: "undo" })]);
  });

  test("a pool and a step queue of one name are two queues", async () => {
    const bench = await makeBench();
    const seen: string[] = [];
    await bench.wakeUps.wake([wakeUp("a", { pool: "gpu" })]);
    await bench.wakeUps.offer([stepJob("b")]);
    const onWake = async (ref: RunRef) => void seen.push(`wake ${ref.id}`);
    const onStep = async (job: StepJob) => void seen.push(`step ${job.run.id}`);
    await consumerOf(bench, { pools: ["gpu"], onWake, onStep }).start();
    await bench.until(() => seen.length === 1);
    await bench.quiet();
    expect(seen).toEqual(["wake a"]);
    await consumerOf(bench, { pools: [], queues: [{ name: "gpu", concurrency: 1 }], onWake, onStep }).start();
    await bench.until(() => seen.length === 2);
    expect(seen).toEqual(["wake a", "step b"]);
  });

  test("what is urgent comes first: no priority, then the smaller number", async () => {
    const bench = await makeBench();
    const seen: string[] = [];
    await bench.wakeUps.wake([wakeUp("p9", { priority: 9 }), wakeUp("p2", { priority: 2 }), wakeUp("p0")]);
    await consumerOf(bench, { concurrency: 1, onWake: async (ref) => void seen.push(ref.id) }).start();
    await bench.until(() => seen.length === 3);
    expect(seen).toEqual(["p0", "p2", "p9"]);
  });

  test("no more handlers run at once than the concurrency", async () => {
    const bench = await makeBench();
    let now = 0;
    let most = 0;
    let ended = 0;
    const gate = gateOf();
    const onWake = async () => {
      now += 1;
      most = Math.max(most, now);
      await gate.passed;
      now -= 1;
      ended += 1;
    };
    await bench.wakeUps.wake(["a", "b", "c", "d", "e"].map((id) => wakeUp(id)));
    await consumerOf(bench, { concurrency: 2, onWake }).start();
    await bench.until(() => now === 2);
    await bench.quiet();
    gate.open();
    await bench.until(() => ended === 5);
    expect(most).toBe(2);
  });

  test("stopping waits for the handlers that run and takes nothing more", async () => {
    const bench = await makeBench();
    const seen: string[] = [];
    const gate = gateOf();
    const onWake = async (ref: RunRef) => {
      await gate.passed;
      seen.push(ref.id);
    };
    let taken = 0;
    const counted = (ref: RunRef) => {
      taken += 1;
      return onWake(ref);
    };
    const consumer = consumerOf(bench, { concurrency: 1, onWake: counted });
    await consumer.start();
    await bench.wakeUps.wake([wakeUp("a")]);
    await bench.until(() => taken === 1);
    let stopped = false;
    const stopping = consumer.stop(10_000).then(() => {
      stopped = true;
    });
    await bench.wakeUps.wake([wakeUp("b")]);
    await bench.quiet();
    expect(stopped).toBe(false);
    gate.open();
    await bench.until(() => stopped);
    await stopping;
    await bench.quiet();
    expect(seen).toEqual(["a"]);
    const late: string[] = [];
    await consumerOf(bench, { onWake: async (ref) => void late.push(ref.id) }).start();
    await bench.until(() => late.length === 1);
    expect(late).toEqual(["b"]);
  });

  test("it can be stopped twice, before it was started, and while it starts", async () => {
    const bench = await makeBench();
    const early = consumerOf(bench, {});
    await early.stop(1_000);
    await early.stop(1_000);
    await early.start();
    const starting = consumerOf(bench, {});
    const start = starting.start();
    const stop = starting.stop(1_000);
    await bench.quiet();
    await Promise.all([start, stop]);
    await bench.wakeUps.close();
    await bench.wakeUps.close();
  });

  test("a paused queue of steps hands nothing over, loses nothing, and goes on when it is resumed", async () => {
    const bench = await makeBench();
    const seen: string[] = [];
    const onStep = async (job: StepJob) => void seen.push(job.run.id);
    await bench.wakeUps.pauseQueue("gpu");
    await bench.wakeUps.pauseQueue("gpu");
    expect(await bench.wakeUps.isQueuePaused("gpu")).toBe(true);
    expect(await bench.wakeUps.isQueuePaused("cpu")).toBe(false);
    await bench.wakeUps.offer([stepJob("a"), stepJob("b", { priority: 3 })]);
    const queues = ["gpu", "cpu"].map((name) => ({ name, concurrency: 5 }));
    await consumerOf(bench, { queues, onStep }).start();
    await bench.wakeUps.offer([stepJob("c"), stepJob("other", { queue: "cpu" })]);
    await bench.until(() => seen.length > 0);
    await bench.quiet();
    expect(seen).toEqual(["other"]);
    await bench.wakeUps.resumeQueue("gpu");
    await bench.wakeUps.resumeQueue("gpu");
    expect(await bench.wakeUps.isQueuePaused("gpu")).toBe(false);
    await bench.until(() => seen.length === 4);
    await bench.quiet();
    expect(seen.toSorted()).toEqual(["a", "b", "c", "other"]);
  });
}
