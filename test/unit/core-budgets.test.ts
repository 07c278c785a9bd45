/** What a run may use: counted, warned of once, and never gone past without a person. */
import { describe, expect, test } from "vitest";
import { remainingOf } from "../../src/core/index.ts";
import { compensate, done, notApplied, notCalled, ok, Play, raise, refused, retry } from "../support/play.ts";
import { call, line, type PlayedOptions, played } from "../support/play-sagas.ts";

const steps = [call("a"), call("b"), call("c")];
const budgeted = (budget: PlayedOptions["budget"], made = steps) =>
  new Play(line(made, { budget } as PlayedOptions), { input: { cents: 700 } });
const used = (play: Play, name: string) => play.run.record.budgets[name]?.used;
const passed = (play: Play) => play.taken().filter((taken) => taken.what === "budget" && taken.passed !== undefined);

describe("steps", () => {
  test("are counted when they are begun, repeats apart", () => {
    const play = budgeted({ steps: { hard: 2 } });
    play.answer("a", notApplied({ retryAfterMs: 0 }));
    play.answer("a", ok());
    expect(used(play, "steps")).toBe(2);
    play.answer("b", ok());
    expect(play.flying()).toEqual([]);
    expect(play.review).toMatchObject({
      reason: "budget",
      message: "the budget steps is used up: 2 of 2. Nothing goes on before somebody raises it",
      evidence: { budget: "steps", used: 2, hard: 2 },
      verbs: ["raise", "compensate", "close"],
    });
    expect(passed(play)).toEqual([{ what: "budget", name: "steps", used: 2, passed: "hard" }]);
    play.verb(raise("steps", 3));
    expect(play.flying()).toEqual(["c"]);
    play.answer("c", ok());
    expect(play.run.record).toMatchObject({ status: "completed", budgets: { steps: { used: 3, hard: 3 } } });
  });

  test("that were not begun after all are given back", () => {
    const play = budgeted({ steps: { hard: 3 } });
    play.answer("a", notCalled());
    expect(used(play, "steps")).toBe(1);
    play.answer("a", ok());
    expect(used(play, "steps")).toBe(2);
    const other = budgeted({ money: { hard: 3 } });
    other.answer("a", notCalled());
    expect(other.run.record.budgets).toEqual({ money: { used: 0, soft: null, hard: 3, warned: false } });
  });

  test("of an unwind are bounded by nothing", () => {
    const play = budgeted({ steps: { hard: 2 } });
    play.answer("a", ok());
    play.answer("b", ok());
    play.verb(compensate);
    play.answer("undo b", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("beside each other take what is left, and the run is parked for the others", () => {
    const machine = {
      type: "parallel",
      states: {
        left: { initial: "x", states: { x: { invoke: { src: "a", onDone: "y" } }, y: { type: "final" } } },
        right: { initial: "x", states: { x: { invoke: { src: "b", onDone: "y" } }, y: { type: "final" } } },
      },
    };
    const play = new Play(played(machine, [call("a"), call("b")], { budget: { steps: { hard: 1 } } }));
    expect(play.flying()).toEqual(["a"]);
    expect(play.review?.reason).toBe("budget");
    play.answer("a", ok());
    play.verb(raise("steps", 9));
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });
});

describe("tool calls", () => {
  const agent = () =>
    new Play(
      line([call("agent", { effect: "none", uses: { pay: call("pay") } })], {
        budget: { toolCalls: { hard: 1 }, steps: { hard: 1 } },
      }),
    );

  test("are counted for themselves, and the action that asks waits for the person without a worker", () => {
    const play = agent();
    play.ask("agent", "pay", { key: 1 });
    play.answer("pay", ok());
    const second = play.ask("agent", "pay", { key: 2 });
    expect(play.review?.reason).toBe("budget");
    expect(play.toolAnswer(second)).toMatchObject({ is: "suspended" });
    expect(play.run.record.budgets).toMatchObject({ toolCalls: { used: 1 }, steps: { used: 1 } });
    play.answer("agent", { kind: "suspended", reason: "parked" });
    play.verb(raise("toolCalls", 2));
    expect(play.flying().toSorted()).toEqual(["agent", "pay"]);
  });
});

describe("what an action says it used", () => {
  test("is counted, warned of once at the soft limit, and nothing more is granted at the hard one", () => {
    const play = budgeted({ money: { soft: 5, hard: 10 } });
    play.spend("a", { money: 4 });
    expect(passed(play)).toEqual([]);
    play.spend("a", { money: 3 });
    play.spend("a", { money: 3 });
    expect(passed(play)).toEqual([{ what: "budget", name: "money", used: 7, passed: "soft" }]);
    expect(play.run.record.budgets["money"]).toEqual({ used: 10, soft: 5, hard: 10, warned: true });
    expect(play.status).toBe("running");
    play.answer("a", ok());
    expect(play.review?.reason).toBe("budget");
    expect(play.flying()).toEqual([]);
  });

  test("past the limit is recorded all the same, and a repeat is no way round it", () => {
    const play = budgeted({ money: { hard: 10 } });
    play.spend("a", { money: 25 });
    expect(used(play, "money")).toBe(25);
    play.answer("a", notApplied({ retryAfterMs: 0 }));
    expect(play.review?.reason).toBe("budget");
    expect(play.row("a").call.state).toBe("planned");
    play.verb(raise("money", 26));
    expect(play.flying()).toEqual(["a"]);
  });

  test("under a key is counted once, although the action is made again; without one each time", () => {
    const play = budgeted({ money: { hard: 100 } });
    play.spend("a", { money: 3 }, "one");
    play.takeOver();
    const { revision } = play.run.record;
    play.spend("a", { money: 3 }, "one");
    expect(play.run.record.revision).toBe(revision);
    play.spend("a", { money: 3 }, ["two"]);
    play.spend("a", { money: 1 });
    play.spend("a", { money: 1 });
    expect(used(play, "money")).toBe(8);
    play.answer("a", ok());
    play.spend("b", { money: 3 }, "one");
    expect(used(play, "money")).toBe(11);
  });

  test("of things nobody bounds is counted too, and of no row at all is not", () => {
    const play = budgeted(() => ({ money: { hard: 1 } }));
    play.spend("a", { tokens: 1_200 });
    expect(play.run.record.budgets["tokens"]).toEqual({ used: 1_200, soft: null, hard: null, warned: false });
    play.step({ type: "spend", seq: 9, send: 1, uses: { money: 5 }, key: null });
    expect(used(play, "money")).toBe(0);
  });

  test("while the run goes back is counted as well", () => {
    const play = budgeted({ money: { hard: 1 } });
    play.cancel();
    play.spend("a", { money: 5 });
    expect(used(play, "money")).toBe(5);
    play.answer("a", refused());
    expect(play.status).toBe("cancelled");
  });
});

describe("time", () => {
  test("is used by passing: a warning at the soft limit, a person at the hard one, whatever is out", () => {
    const play = budgeted({ time: { soft: "30s", hard: "60s" } });
    play.advance(30_000);
    expect(passed(play)).toMatchObject([{ used: 30_000, passed: "soft" }]);
    play.advance(30_000);
    expect(play.review).toMatchObject({ reason: "budget", evidence: { budget: "time", used: 60_000 } });
    play.answer("a", ok());
    expect(play.flying()).toEqual([]);
    play.verb(raise("time", 90_000));
    expect(play.flying()).toEqual(["b"]);
    play.advance(30_000);
    expect(play.review?.n).toBe(2);
  });

  test("does not run out in a pause; what the record says of it is true as of its last commit", () => {
    const play = budgeted({ time: { hard: "60s" } });
    play.pause();
    play.advance(100_000);
    expect(play.status).toBe("paused");
    play.resume();
    expect(play.review?.reason).toBe("budget");
    expect(used(play, "time")).toBe(100_000);
  });

  test("without a hard limit only warns", () => {
    const play = budgeted({ time: { soft: "30s" } });
    play.advance(100_000);
    expect(play.status).toBe("running");
    expect(passed(play)).toHaveLength(1);
  });
});

describe("raising a limit", () => {
  const full = () => {
    const play = budgeted({ steps: { hard: 1 }, money: {} });
    play.answer("a", ok());
    return play;
  };

  test("to no more than is used, of no such budget, or of one without a limit is refused, and asked again", () => {
    const play = full();
    for (const [budget, to] of [
      ["steps", 1],
      ["steps", Number.NaN],
      ["money", 5],
      ["constructor", 5],
    ] as const) {
      const n = play.review?.n ?? 0;
      play.verb(raise(budget, to));
      expect(play.review).toMatchObject({ n: n + 1, reason: "budget" });
      expect(play.flying()).toEqual([]);
    }
    expect(play.review?.message).toContain("it has no budget constructor with a hard limit, but steps");
    play.verb(raise("steps", 2));
    expect(play.taken()).toContainEqual({ what: "budget", name: "steps", used: 1, raised: 2 });
    expect(play.flying()).toEqual(["b"]);
  });

  test("is no answer to another question, nor is a retry one to this", () => {
    const play = full();
    play.verb(retry());
    expect(play.review).toMatchObject({ n: 2, reason: "budget" });
    const other = new Play(line([call("a", { onExhausted: "review", retry: { attempts: 1 } })]));
    other.answer("a", notApplied());
    other.verb(raise("steps", 5));
    expect(other.review).toMatchObject({ n: 2, reason: "exhausted" });
    const none = budgeted({ steps: { hard: 0 } });
    expect(none.flying()).toEqual([]);
    none.verb(raise("tokens", 5));
    expect(none.review?.message).toContain("but steps");
  });
});

test("what is left is counted to the hard limit, by name", () => {
  const play = budgeted({ money: { hard: 10 }, tokens: { soft: 3 }, time: { hard: "60s" } });
  play.spend("a", { money: 12, tokens: 9 });
  expect(remainingOf(play.run.record, play.now + 20_000)).toEqual({ money: 0, tokens: null, time: 40_000 });
});
