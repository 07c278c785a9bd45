import { describe, expect, test } from "vitest";
import { z } from "zod";
import { decide, foldLog, type Row, type Run, verdictOf } from "../../src/core/index.ts";
import { type Json, saga } from "../../src/saga/index.ts";
import { done, ok, Play, refused, retry, settings, timedOut } from "../support/play.ts";
import { completed, failedClean, found, goneBack, ordered } from "../support/play-children.ts";
import { type CallOptions, call } from "../support/play-sagas.ts";

interface Bounds {
  readonly size?: number;
  readonly concurrency?: number;
}

function working(items: number, bounds: Bounds = {}, ship: CallOptions = {}): Play {
  const batch = saga("batch", { version: 1, input: z.array(z.json()) })
    .each(({ input }) => input, call("ship", ship), bounds)
    .step(call("report"), () => ({}))
    .build();
  return new Play(batch, { input: Array.from({ length: items }, (_, at) => ({ at })) });
}
function ordering(items: number, bounds: Bounds = {}): Play {
  const batch = saga("batch", { version: 1, input: z.array(z.json()) })
    .each(({ input }) => input, ordered, bounds)
    .step(call("report"), () => ({}))
    .build();
  return new Play(batch, { input: Array.from({ length: items }, (_, at) => ({ at })) });
}

const begun = (play: Play, step = "ship"): readonly Json[] =>
  play.run.rows.filter((row) => row.step === step).map((row) => (row.input as { at: number }).at);

describe("a batch", () => {
  test("begins its items in their order, as many at once as it may, and gives their outputs in that order", () => {
    const play = working(3, { concurrency: 2 });
    expect([begun(play), play.ordered]).toEqual([
      [0, 1],
      ["ship", "ship"],
    ]);
    const [first, second] = [...play.inFlight.values()];
    play.inFlight.clear();
    const result = (seq = 0, send = 1, id = "") =>
      ({ type: "result", seq, send, side: "action", result: ok(id) }) as const;
    play.step(result(second?.seq, 1, "b"));
    expect(begun(play)).toEqual([0, 1, 2]);
    play.step(result(first?.seq, 1, "a"));
    play.answer("ship", ok("c"));
    expect(play.flying()).toEqual(["report"]);
    expect(play.row("shipEach").output).toEqual([{ id: "a" }, { id: "b" }, { id: "c" }]);
    play.answer("report", ok());
    expect(play.status).toBe("completed");
    expect(foldLog(play.machine, play.run, play.log).filter((step) => step.problem !== null)).toEqual([]);
  });

  test("with nothing in it is over at once", () => {
    const play = working(0);
    expect([play.flying(), play.row("shipEach").output]).toEqual([["report"], []]);
  });

  test("begins a part when the one before has ended", () => {
    const play = working(5, { size: 2, concurrency: 3 });
    expect(begun(play)).toEqual([0, 1]);
    play.answer("ship", ok());
    expect(begun(play)).toEqual([0, 1]);
    play.answer("ship", ok());
    expect(begun(play)).toEqual([0, 1, 2, 3]);
  });

  test("beside another one works through its own items alone", () => {
    const items = z.array(z.json());
    const both = saga("both", { version: 1, input: items })
      .parallel({
        left: (branch) => branch.each(({ input }) => input, call("ship"), { size: 2, concurrency: 2, as: "ships" }),
        right: (branch) => branch.each(({ input }) => input, call("pack"), { size: 2, as: "packs" }),
      })
      .build();
    const play = new Play(both, { input: [{ at: 0 }, { at: 1 }, { at: 2 }] });
    for (const step of ["ship", "pack", "ship", "ship", "pack", "pack"]) play.answer(step, ok(step));
    const outputs = (step: string) => Array.from({ length: 3 }, () => ({ id: step }));
    expect([begun(play), begun(play, "pack")]).toEqual([
      [0, 1, 2],
      [0, 1, 2],
    ]);
    expect([play.row("ships").output, play.row("packs").output]).toEqual([outputs("ship"), outputs("pack")]);
    expect(play.status).toBe("completed");
  });

  test("writes its own row when it begins and when it ends, and no item's that is over", () => {
    const play = working(4);
    const written: (readonly number[])[] = [];
    for (let n = 0; n < 4; n += 1) written.push(play.answer("ship", ok()).commit?.rows.map(({ seq }) => seq) ?? []);
    expect(written).toEqual([
      [2, 3],
      [3, 4],
      [4, 5],
      [1, 5, 6],
    ]);
  });

  test("is ended by an item that fails, when those under way are over, and what happened is undone in reverse", () => {
    const play = working(4, { concurrency: 3 });
    play.answers(["ship", ok("0")], ["ship", refused("out of stock")]);
    expect([begun(play).length, play.status]).toEqual([3, "running"]);
    play.answer("ship", ok("2"));
    const message = "item 1: ship was not applied: out of stock";
    expect(play.row("shipEach").call).toMatchObject({ state: "not_applied", error: { kind: "fail", message } });
    expect(play.flying()).toEqual(["undo ship"]);
    play.answer("undo ship", done);
    play.answer("undo ship", done);
    expect([play.status, play.run.record.cause?.message]).toEqual(["failed", message]);
  });

  test("is ended by an item whose intent cannot be computed, and by one that is somebody else's", () => {
    const intent = ({ input }: { readonly input: unknown }) => {
      if ((input as { at: number }).at === 1) throw new Error("no key");
      return ["ship", 1];
    };
    const play = working(3, {}, { intent });
    play.claimed("ship", { answer: "MINE", generation: 1 });
    play.answer("ship", ok());
    play.published("ship");
    expect(play.row("shipEach").call.error?.message).toContain("item 1: ship cannot be called");
    const other = working(3, {}, { intent: () => ["ship", 1] });
    other.claimed("ship", { answer: "CONFLICT", owner: "r9#1.1", argsHash: "x", asked: "y" });
    expect(other.row("shipEach").call.error?.message).toContain("r9#1.1 has its intent with other arguments");
  });

  test("whose item needs a person goes on after that", () => {
    const play = working(2, {}, { effect: "once", retry: { attempts: 1 } });
    play.answer("ship", timedOut());
    expect(play.review?.reason).toBe("unknown_outcome");
    play.verb({ verb: "resolve", as: "happened", output: { id: "seen" }, reference: null, evidence: "seen" });
    play.answer("ship", ok("1"));
    expect(play.row("shipEach").output).toEqual([{ id: "seen" }, { id: "1" }]);
  });

  test("is gone on with by the next driver", () => {
    const play = working(3);
    play.answer("ship", ok());
    play.takeOver();
    play.answer("ship", ok());
    play.answer("ship", ok());
    expect(play.flying()).toEqual(["report"]);
  });

  test("that is cancelled begins nothing more, and undoes what happened", () => {
    const play = working(3);
    play.answer("ship", ok());
    play.cancel();
    play.answer("ship", ok());
    play.answer("undo ship", done);
    play.answer("undo ship", done);
    expect([play.status, play.rollback, begun(play)]).toEqual(["cancelled", "complete", [0, 1]]);
    expect(play.row("shipEach").call.state).toBe("withdrawn");
  });

  test("whose outputs are more than the run may hold is told when somebody has looked", () => {
    const batch = saga("batch", { version: 1, input: z.array(z.json()) })
      .each(() => [{}, {}], call("ship"))
      .build();
    const play = new Play(batch, { input: [], settings: { maxRunBytes: 300 } });
    play.answer("ship", ok("x".repeat(90)));
    play.answer("ship", ok("x".repeat(90)));
    expect(play.review?.message).toContain("shipEach succeeded");
    play.verb(retry());
    expect([play.status, play.row("shipEach").call.state]).toEqual(["needs_review", "succeeded"]);
  });

  test("that is paused begins nothing more until it goes on", () => {
    const play = working(2);
    play.pause();
    play.answer("ship", ok());
    expect([play.status, begun(play)]).toEqual(["paused", [0]]);
    play.resume();
    expect(begun(play)).toEqual([0, 1]);
  });
});

describe("a batch of children", () => {
  test("waits for them without a lease, and begins the next when one has ended", () => {
    const play = ordering(3, { concurrency: 2 });
    play.looks("order", found("running", { run: "r1.2" }));
    play.looks("order", found("running", { run: "r1.3" }));
    expect([play.held, play.status, play.run.record.waitingFor]).toEqual([false, "waiting", "child"]);
    const judged = { namespace: "ns", ...play.run, machine: play.machine, now: play.now };
    expect(verdictOf(judged)).toMatchObject({ verdict: "RESUME_SAFE" });
    play.moved("order", 2);
    play.looks("order", completed);
    expect(play.ordered).toEqual(["order", "order", "order", "order"]);
    play.looks("order", found("running", { run: "r1.4" }));
    expect(play.status).toBe("waiting");
  });

  test("is ended by one that fails, which it names", () => {
    const play = ordering(2);
    play.looks("order", failedClean);
    expect(play.row("orderEach").call.error).toMatchObject({
      kind: "child",
      code: "step_failed",
      message: expect.stringContaining("item 0: order was not applied: run r1.1 ended failed"),
    });
  });

  test("has them undone in reverse, as many at once as were begun at once, while no lease is held", () => {
    const play = ordering(5, { concurrency: 2 });
    for (let n = 0; n < 5; n += 1) play.looks("order", completed);
    play.answer("report", refused());
    expect([...play.inFlight.values()].map(({ seq }) => seq)).toEqual([5, 6]);
    const going = found("unwinding", { asked: "undo" });
    play.looks("undo order", going);
    play.looks("undo order", going);
    expect([play.held, play.flying()]).toEqual([false, []]);
    play.moved("order", 5);
    play.looks("undo order", goneBack);
    expect([...play.inFlight.values()].map(({ seq }) => seq)).toEqual([4]);
    play.looks("undo order", goneBack);
    play.looks("undo order", goneBack);
    play.moved("order", 4);
    for (let n = 0; n < 2; n += 1) play.looks("undo order", goneBack);
    expect([play.status, play.rollback]).toEqual(["failed", "complete"]);
  });
});

describe("an action that has a child as its tool", () => {
  const agent = () =>
    new Play(
      saga("agent", { version: 1, input: z.json() })
        .step(call("agent", { effect: "none", uses: { order: ordered } }), () => ({}))
        .build(),
    );

  test("is broken off while that runs, and made again when it is over", () => {
    const play = agent();
    const ask = play.ask("agent", "order", { key: 1 });
    play.looks("order", found("running", { run: "r1.2" }));
    expect(play.toolAnswer(ask)).toEqual({ is: "suspended", why: "it waits for run r1.2" });
    play.answer("agent", { kind: "suspended", reason: "it waits" });
    expect([play.held, play.status, play.run.record.waitingFor]).toEqual([false, "waiting", "child"]);
    play.moved("order");
    expect(play.flying()).toEqual(["order"]);
    play.looks("order", completed);
    expect(play.flying()).toEqual(["agent"]);
    const again = play.ask("agent", "order", { key: 1 });
    expect(play.toolAnswer(again)).toEqual({ is: "output", output: { id: "paid" } });
    play.answer("agent", ok());
    expect(play.status).toBe("completed");
  });
});

describe("a long batch", () => {
  /** As it stands when so many items are over, and the decision that one more leads to. */
  function farInto(items: number): { readonly run: Run; readonly next: (run: Run) => void } {
    const play = working(items + 10, { size: 20, concurrency: 2 });
    const input = {
      machine: play.machine,
      namespace: "ns",
      settings,
      now: play.now,
      random: 0.5,
      actor: "w",
      fence: 1,
    };
    const inFlight = new Set(play.inFlight.keys());
    let { run } = play;
    const answer = (seq: number) => {
      const key = `action:${seq}`;
      inFlight.delete(key);
      const fact = { type: "result", seq, send: 1, side: "action", result: ok() } as const;
      const decision = decide(run, [fact], { ...input, commitId: `c${seq}`, inFlight });
      for (const order of decision.calls) inFlight.add(`action:${order.seq}`);
      run = decision.run;
    };
    // Row 1 is the batch.
    for (let item = 0; item < items; item += 1) answer(item + 2);
    const next = (counted: Run) => {
      run = counted;
      answer(items + 2);
    };
    return { run, next };
  }

  test("looks at its newest part alone, however many items are over", () => {
    const looks = [60, 600, 3_000].map((items) => {
      const { run, next } = farInto(items);
      let count = 0;
      const rows = run.rows.map(({ tool, ...rest }) => {
        const get = () => {
          count += 1;
          return tool;
        };
        return Object.defineProperty({ ...rest }, "tool", { get, enumerable: true }) as Row;
      });
      next({ ...run, rows });
      return count;
    });
    expect(new Set(looks).size).toBe(1);
    expect(looks[0]).toBeLessThan(100);
  });
});
