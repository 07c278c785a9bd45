/** Parked runs as failed jobs, over BullMQ and looked at with BullMQ's own Queue, as the tooling of queues does. */
import { randomBytes } from "node:crypto";
import { setTimeout as pass } from "node:timers/promises";
import { type Job, Queue } from "bullmq";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { DeadLetter, DeadLetterRef } from "../../src/core/index.ts";
import { bullmqDeadLetters } from "../../src/queue/index.ts";
import { redisConnections } from "../../src/redis/index.ts";

async function bench() {
  const connections = redisConnections(inject("redisUrl"));
  const namespace = `d${randomBytes(6).toString("hex")}`;
  const troubles: string[] = [];
  const make = () => {
    const letters = bullmqDeadLetters({
      connect: () => connections.commands(),
      blocking: () => connections.blocking(),
      namespace,
      onTrouble: (where, error) => void troubles.push(`${where}: ${String(error)}`),
    });
    onTestFinished(() => letters.stop(2_000));
    return letters;
  };
  const connection = connections.commands();
  await connections.ready(connection);
  const queue = new Queue("dead-letter", { connection, prefix: `{reprise:${namespace}:w0}` });
  onTestFinished(async () => {
    await queue.close();
    connections.close();
  });
  const failed = (id: string) => until(async () => (await queue.getFailed()).find((job) => job.id === id));
  const counts = () => queue.getJobCounts("failed", "completed", "wait", "active", "delayed");
  return { make, letters: make(), queue, connection, failed, counts, troubles };
}

async function until<Value>(ask: () => Promise<Value>): Promise<NonNullable<Value>> {
  const end = performance.now() + 10_000;
  for (;;) {
    const value = await ask();
    if (value) return value;
    if (performance.now() > end) throw new Error("it did not happen");
    await pass(10);
  }
}

function letter(id: string, review = 1): DeadLetter {
  const run = { tenant: "acme", id };
  const verbs = ["resolve", "close"] as const;
  const question = { reason: "unknown_outcome", message: `what became of ${id}?`, since: 1_767_225_600_000 } as const;
  return { run, review, saga: "order", version: 1, ...question, verbs };
}

/** Refuses everything, and says what it was asked about. */
function refusing() {
  const asked: string[] = [];
  const resume = async ({ run, review }: DeadLetterRef) => {
    asked.push(`${run.id} ${review}`);
    return { is: "refused", reason: "nobody knows" } as const;
  };
  return { asked, resume };
}

const nothing = { failed: 0, completed: 0, wait: 0, active: 0, delayed: 0 };

describe.runIf(process.env["REPRISE_CONTRACT"] !== "memory")("dead letters over BullMQ", () => {
  test("a letter is a failed job with the question as its reason, and is not taken for a request", async () => {
    const { letters, failed, queue, troubles } = await bench();
    const { asked, resume } = refusing();
    await letters.start(resume);
    await letters.add([letter("r1")]);
    const job = await failed("acme~r1~1");
    expect(job).toMatchObject({
      name: "order",
      failedReason: "what became of r1?",
      timestamp: 1_767_225_600_000,
      data: {
        tenant: "acme",
        id: "r1",
        saga: "order",
        version: 1,
        review: 1,
        reason: "unknown_outcome",
        message: "what became of r1?",
        since: 1_767_225_600_000,
        verbs: ["resolve", "close"],
      },
      stacktrace: ["what became of r1?"],
    });
    expect(await queue.getJobCounts("failed", "completed")).toEqual({ failed: 1, completed: 0 });
    expect(asked).toEqual([]);
    expect(troubles).toEqual([]);
  });

  test("added again, by anybody, it is the one that is there; another review of the run is another", async () => {
    const { make, letters, failed, counts } = await bench();
    await letters.start(refusing().resume);
    await letters.add([letter("r1")]);
    await failed("acme~r1~1");
    await Promise.all([letters.add([letter("r1"), letter("r1", 2)]), make().add([letter("r1")])]);
    await failed("acme~r1~2");
    expect(await counts()).toEqual({ ...nothing, failed: 2 });
  });

  const ways: Readonly<Record<string, (queue: Queue, job: Job) => Promise<void>>> = {
    "by its own retry": (_, job) => job.retry(),
    "with its attempts forgotten": (_, job) =>
      job.retry("failed", { resetAttemptsMade: true, resetAttemptsStarted: true }),
    "with all that have failed": (queue) => queue.retryJobs(),
  };
  test.each(Object.entries(ways))(
    "put back %s it is a request; refused, it fails again with the reason",
    async (_, putBack) => {
      const { letters, queue, failed } = await bench();
      const { asked, resume } = refusing();
      await letters.start(resume);
      await letters.add([letter("r1")]);
      await putBack(queue, await failed("acme~r1~1"));
      const again = await until(async () => {
        const job = await failed("acme~r1~1");
        return job.failedReason === "nobody knows" ? job : null;
      });
      expect(again.stacktrace).toEqual(["nobody knows"]);
      expect(asked).toEqual(["r1 1"]);
    },
  );

  test("a request that is done takes the letter away, and leaves nothing behind", async () => {
    const { letters, failed, counts } = await bench();
    await letters.start(async () => ({ is: "done" }));
    await letters.add([letter("r1")]);
    await (await failed("acme~r1~1")).retry();
    await until(async () => Object.values(await counts()).every((count) => count === 0));
  });

  test("a request that could not be carried out fails again, with what went wrong", async () => {
    const { letters, failed } = await bench();
    await letters.start(() => Promise.reject(new Error("the store is away")));
    await letters.add([letter("r1")]);
    await (await failed("acme~r1~1")).retry();
    await until(async () => (await failed("acme~r1~1")).failedReason === "the store is away");
  });

  test("a request that is for another worker comes to it, and is still a request", async () => {
    const { make, letters, failed, counts } = await bench();
    const other = make();
    await letters.start(async () => ({ is: "elsewhere" }));
    await letters.add([letter("r1"), letter("r2")]);
    const jobs = [await failed("acme~r1~1"), await failed("acme~r2~1")];
    await other.start(async () => ({ is: "done" }));
    for (const job of jobs) await job.retry();
    await until(async () => Object.values(await counts()).every((count) => count === 0));
  });

  test("two who put the same letter back make one request", async () => {
    const { letters, failed } = await bench();
    const { asked, resume } = refusing();
    await letters.start(resume);
    await letters.add([letter("r1")]);
    const job = await failed("acme~r1~1");
    const outcomes = await Promise.allSettled([job.retry(), job.retry()]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await until(async () => (await failed("acme~r1~1")).failedReason === "nobody knows");
    expect(asked).toEqual(["r1 1"]);
  });

  test("a letter that was taken by a process that died is shown, and is no request", async () => {
    const { letters, queue, connection, failed } = await bench();
    const { asked, resume } = refusing();
    await letters.add([letter("r1")]);
    // Taken, and its lock is gone: what BullMQ leaves of a worker that was killed.
    await connection.rpoplpush(queue.toKey("wait"), queue.toKey("active"));
    await connection.hincrby(queue.toKey("acme~r1~1"), "ats", 1);
    await letters.start(resume);
    expect((await failed("acme~r1~1")).failedReason).toBe("what became of r1?");
    expect(asked).toEqual([]);
  });

  test("letters are listed wherever they are, and can be taken away", async () => {
    const { letters, failed, queue } = await bench();
    await letters.add([letter("shown")]);
    await letters.start(refusing().resume);
    await failed("acme~shown~1");
    await queue.pause();
    await letters.add([letter("waiting"), letter("waiting", 2)]);
    await queue.add("theirs", {}, { jobId: "somebody-else" });
    const ids = async () => (await letters.list(0, 100)).map(({ run, review }) => `${run.id} ${review}`).toSorted();
    expect(await ids()).toEqual(["shown 1", "waiting 1", "waiting 2"]);
    await letters.remove([letter("shown"), letter("waiting", 2), letter("never-there")]);
    expect(await ids()).toEqual(["waiting 1"]);
  });

  test("a job of somebody else stays theirs, failed", async () => {
    const { letters, queue, failed } = await bench();
    const { asked, resume } = refusing();
    await letters.start(resume);
    await queue.add("theirs", {}, { jobId: "somebody-else" });
    expect((await failed("somebody-else")).failedReason).toBe("this job stands for no parked run of Reprise");
    expect(asked).toEqual([]);
  });

  test("what was stopped before it was started takes nothing", async () => {
    const { letters, counts } = await bench();
    await letters.add([letter("r1")]);
    await letters.stop(1_000);
    await letters.start(() => Promise.reject(new Error("nobody asks it")));
    expect(await counts()).toEqual({ ...nothing, wait: 1 });
  });
});
