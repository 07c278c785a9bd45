import { expect, test } from "vitest";
import { z } from "zod";
import type { CommitCommand, LeaseRef, SendCommand } from "../../../src/core/index.ts";
import { RepriseError } from "../../../src/errors.ts";
import { type ActionContext, fail, notApplied, saga, step } from "../../../src/saga/index.ts";
import { benchTop, settings, wrapped } from "./bench-top.ts";

const input = z.object({ n: z.number() });
const output = z.object({ ok: z.string() });
type Act = (context: ActionContext) => unknown;

/** A saga of three steps that note their operation ids; `acts` stand in for what a step does. */
function threeSteps(acts: Readonly<Record<string, Act>> = {}, effect: "keyed" | "once" = "keyed") {
  const seen: string[] = [];
  const make = <const Name extends string>(name: Name) =>
    step(name, {
      input,
      output,
      effect,
      action: async (context) => {
        seen.push(context.operationId.split("/").slice(3).join("/"));
        const made = await acts[name]?.(context as ActionContext);
        return (made ?? { ok: name }) as { ok: string };
      },
      compensate: ({ operationId }) => void seen.push(operationId.split("/").slice(3).join("/")),
      retry: { attempts: 2, initial: 10, max: 10 },
      timeout: "3s",
      lateness: "1s",
    });
  const line = saga("line", { version: 1, input, events: { GO: z.object({}) } })
    .step(make("a"), ({ input }) => input)
    .step(make("b"), ({ input }) => input)
    .step(make("c"), ({ input }) => input)
    .build();
  return { line, seen };
}

test("a straight run is called step by step, one commit a step", async () => {
  const { line, seen } = threeSteps();
  const top = benchTop([line]);
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(100);
  expect(await top.store.read(run)).toMatchObject({ status: "completed", revision: 5 });
  expect(seen).toEqual(["a/1", "b/1", "c/1"]);
});

test("a failure is undone in reverse", async () => {
  const { line, seen } = threeSteps({ c: () => Promise.reject(fail("no")) });
  const top = benchTop([line]);
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(5_000);
  expect(await top.store.read(run)).toMatchObject({ status: "failed", rollback: "complete" });
  expect(seen).toEqual(["a/1", "b/1", "c/1", "b/1/undo", "a/1/undo"]);
});

test("retries wait by the store's clock and keep the operation id", async () => {
  let tries = 0;
  const { line, seen } = threeSteps({
    b: () => {
      tries += 1;
      return tries === 1 ? Promise.reject(notApplied("busy")) : undefined;
    },
  });
  const top = benchTop([line]);
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(1_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(seen).toEqual(["a/1", "b/1", "b/1", "c/1"]);
});

test("a commit whose answer is lost is sent again unchanged, and calls nothing twice", async () => {
  const { line, seen } = threeSteps();
  const sent: string[] = [];
  let lose = 3;
  const top = benchTop(
    [line],
    wrapped((store) => ({
      commit: async (command: CommitCommand) => {
        sent.push(JSON.stringify(command));
        const answer = await store.commit(command);
        lose -= 1;
        if (lose >= 0) throw new Error("the answer was lost");
        return answer;
      },
    })),
  );
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(2_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed", revision: 5 });
  expect(seen).toEqual(["a/1", "b/1", "c/1"]);
  expect(sent.slice(0, 4)).toEqual([sent[0], sent[0], sent[0], sent[0]]);
  expect(new Set(sent).size).toBe(4);
});

test("a grant that is dated back, because the answer before it came late, begins no call that would outlive it", async () => {
  const outlives: boolean[] = [];
  const act = async ({ operationId }: ActionContext) => {
    const [row] = await top.store.ledger({ tenant: "default", id: "r1" });
    const deadline = row?.call.deadline ?? 0;
    if (operationId.includes("/a/")) outlives.push((await top.store.now()) + 3_000 + settings.abortGraceMs > deadline);
    return undefined;
  };
  const { line, seen } = threeSteps({ a: act }, "once");
  let lateMs = settings.leaseMs - 1;
  const top = benchTop(
    [line],
    wrapped((store) => ({
      acquire: async (command) => {
        const answer = await store.acquire(command);
        const delay = lateMs;
        lateMs = 0;
        if (delay > 0) await new Promise<void>((resolve) => void top.clock.after(delay, resolve));
        return answer;
      },
    })),
  );
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(3 * settings.leaseMs);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(seen).toEqual(["a/1", "b/1", "c/1"]);
  expect(outlives).toEqual([false]);
});

test("a cancel that comes with the commit's answer takes the call back", async () => {
  const { line, seen } = threeSteps();
  let cancelled = false;
  const top = benchTop(
    [line],
    wrapped((store) => ({
      commit: async (command: CommitCommand) => {
        if (command.commit.record.rows === 2 && !cancelled) {
          cancelled = true;
          const body = { type: "cancel", mode: "compensate", reason: "enough" } as const;
          await store.send({ run: command.lease.run, slot: "cancel", commandId: "c1", by: "ann", body });
        }
        return await store.commit(command);
      },
    })),
  );
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(5_000);
  expect(await top.store.read(run)).toMatchObject({ status: "cancelled", rollback: "complete" });
  expect(seen).toEqual(["a/1", "a/1/undo"]);
});

test("a cancel during a call is heard within a renewal, aborts its signal and undoes what happened", async () => {
  const aborted: number[] = [];
  const { line, seen } = threeSteps({
    b: ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          aborted.push(top.clock.monotonicMs());
          resolve(undefined);
        });
      }),
  });
  const top = benchTop([line]);
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(100);
  const cancelledAt = top.clock.monotonicMs();
  const body = { type: "cancel", mode: "compensate", reason: "enough" } as const;
  await top.store.send({ run, slot: "cancel", commandId: "c1", by: "ann", body });
  await top.clock.advance(1_100);
  expect(aborted[0]).toBeLessThanOrEqual(cancelledAt + 1_000);
  await top.clock.advance(5_000);
  expect(await top.store.read(run)).toMatchObject({ status: "cancelled", rollback: "complete" });
  expect(seen).toEqual(["a/1", "b/1", "b/1/undo", "a/1/undo"]);
});

test("a call is not begun later than startWithin after its grant was sent", async () => {
  const { line, seen } = threeSteps();
  let slow = true;
  const top = benchTop(
    [line],
    wrapped((store) => ({
      commit: async (command: CommitCommand) => {
        const answer = await store.commit(command);
        if (slow) {
          slow = false;
          await new Promise<void>((resolve) => void top.clock.after(settings.startWithinMs + 1, resolve));
        }
        return answer;
      },
    })),
  );
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(settings.startWithinMs);
  expect(seen).toEqual([]);
  await top.clock.advance(1_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  const log = await top.store.log(run);
  expect(log.flatMap((entry) => entry.taken).map((taken) => taken.what)).toContain("taken_back");
  expect(seen).toEqual(["a/1", "b/1", "c/1"]);
});

test("a worker that lost the run commits nothing more and hands in what it learns", async () => {
  let release: (value: unknown) => void = () => undefined;
  let calls = 0;
  const { line, seen } = threeSteps({
    b: () => {
      calls += 1;
      return calls === 1
        ? new Promise((resolve) => {
            release = resolve;
          })
        : undefined;
    },
  });
  const sent: SendCommand[] = [];
  const top = benchTop(
    [line],
    wrapped((store) => ({
      send: async (command: SendCommand) => {
        sent.push(command);
        return await store.send(command);
      },
    })),
  );
  const worker = top.worker();
  await worker.start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(100);
  await top.store.expire({ owner: worker.id, serverId: null, pulse: null, compared: null });
  const thief = await top.store.acquire({ run, owner: "thief", token: "stolen", leaseMs: 3_000 });
  expect(thief.answer).toBe("OK");
  await top.clock.advance(1_100);
  release({ ok: "b" });
  await top.clock.advance(500);
  expect(sent.map(({ slot }) => slot)).toEqual(["late:2:1"]);
  expect(sent[0]?.body).toMatchObject({ type: "late", seq: 2, send: 1, result: { kind: "succeeded" } });
  expect(top.facts.map((fact) => fact.fact)).toContain("fenced");
  await top.clock.advance(10_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(seen).toEqual(["a/1", "b/1", "c/1"]);
});

test("a grant of a commit that was refused after being sent twice is disowned only if it had landed", async () => {
  for (const lands of [true, false]) {
    const { line, seen } = threeSteps();
    const sent: SendCommand[] = [];
    let tries = 0;
    let reads = 0;
    const top = benchTop(
      [line],
      wrapped((store) => ({
        send: async (command: SendCommand) => {
          sent.push(command);
          return await store.send(command);
        },
        log: async (run, from, to) => {
          reads += 1;
          if (reads === 1) throw new RepriseError("STORE_UNAVAILABLE", "no answer");
          return await store.log(run, from, to);
        },
        commit: async (command: CommitCommand) => {
          if (command.lease.owner === "thief" || command.commit.record.rows < 2) return await store.commit(command);
          tries += 1;
          if (tries === 1) {
            if (lands) await store.commit(command);
            throw new Error("no answer");
          }
          if (tries === 2) return { answer: "FENCED", now: await store.now() };
          return await store.commit(command);
        },
      })),
    );
    await top.worker().start();
    await top.start(line, { n: 1 });
    await top.clock.advance(500);
    expect(seen).toEqual(["a/1"]);
    const words = sent.map(({ slot, body }) => [slot, body.type === "late" ? body.result.kind : body.type]);
    const disowned = lands ? [["late:2:1", "not_called"]] : [];
    expect(words).toEqual([["late:1:1", "succeeded"], ...disowned]);
  }
});

test("without trust in its lease a worker begins no call, and goes on when it is renewed", async () => {
  const { line, seen } = threeSteps({
    a: () => new Promise((resolve) => void top.clock.after(2_500, () => resolve(undefined))),
  });
  let silent = false;
  const top = benchTop(
    [line],
    wrapped((store) => ({
      acquire: async (command) => {
        const answer = await store.acquire(command);
        return answer;
      },
      renew: async (leases: readonly LeaseRef[], leaseMs: number) => {
        if (silent) throw new Error("no answer");
        return await store.renew(leases, leaseMs);
      },
    })),
  );
  silent = true;
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(2_600);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(seen).toEqual(["a/1", "b/1", "c/1"]);
});

test("a stop lets the call that runs end, begins no other, and gives the run back at once", async () => {
  const { line, seen } = threeSteps({
    b: () => new Promise((resolve) => void top.clock.after(2_000, () => resolve(undefined))),
  });
  const top = benchTop([line]);
  const worker = top.worker();
  await worker.start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(100);
  const stopped = worker.stop();
  await top.clock.advance(2_100);
  await stopped;
  expect(seen).toEqual(["a/1", "b/1"]);
  const next = top.worker();
  await next.start();
  await top.clock.advance(1_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(seen).toEqual(["a/1", "b/1", "c/1"]);
});

test("a call that outlasts the grace is aborted and judged as interrupted elsewhere, not counted as an attempt", async () => {
  let calls = 0;
  const { line, seen } = threeSteps({
    b: () => {
      calls += 1;
      return calls === 1 ? new Promise(() => undefined) : undefined;
    },
  });
  const top = benchTop([line]);
  const worker = top.worker({ shutdownMs: 1_000 });
  await worker.start();
  const run = await top.start(line, { n: 1 });
  await top.clock.advance(100);
  const stopped = worker.stop();
  await top.clock.advance(2_500);
  await stopped;
  await top.worker().start();
  await top.clock.advance(1_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
  expect(seen).toEqual(["a/1", "b/1", "b/1", "c/1"]);
  const rows = await top.store.ledger(run);
  expect(rows[1]?.call.attempt).toBe(1);
});

test("a worker can be stopped twice, before it was started and while it starts", async () => {
  const { line } = threeSteps();
  const top = benchTop([line]);
  const idle = top.worker();
  await Promise.all([idle.stop(), idle.stop()]);
  await expect(idle.start()).rejects.toMatchObject({ code: "CLOSED" });
  const hasty = top.worker();
  const started = hasty.start();
  const stopped = hasty.stop();
  await top.clock.advance(20_000);
  await Promise.all([started, stopped]);
  await top.start(line, { n: 1 });
  await top.clock.advance(2_000);
  expect(await top.store.read({ tenant: "default", id: "r1" })).toMatchObject({ revision: 1 });
});

test("a run that no worker serves is handed back untouched, later and later, and said once", async () => {
  const { line } = threeSteps();
  const { line: other } = threeSteps();
  const newer = saga("other", { version: 1, input })
    .step(step("x", { input, output, effect: "none", action: () => ({ ok: "x" }) }), ({ input }) => input)
    .build();
  const top = benchTop([line]);
  const stranger = top.worker({ serve: [newer] });
  await stranger.start();
  const run = await top.start(other, { n: 1 });
  await top.clock.advance(20_000);
  expect(await top.store.read(run)).toMatchObject({ revision: 1, status: "running" });
  expect(top.facts.filter((fact) => fact.fact === "unserved")).toHaveLength(1);
  await stranger.stop();
  await top.worker().start();
  await top.clock.advance(31_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed" });
});

test("two wake-ups of one run are one driver", async () => {
  const { line, seen } = threeSteps({
    a: () => new Promise((resolve) => void top.clock.after(500, () => resolve(undefined))),
  });
  const top = benchTop([line]);
  await top.worker().start();
  await top.worker().start();
  const run = await top.start(line, { n: 1 });
  for (const wake of [7, 8, 9]) {
    await top.queue.wakeUps.wake([{ run, wake, pool: "default", lane: 0, priority: 0 }]);
  }
  await top.clock.advance(2_000);
  expect(await top.store.read(run)).toMatchObject({ status: "completed", revision: 5 });
  expect(seen).toEqual(["a/1", "b/1", "c/1"]);
});
