/** What children are given of their parent's budgets, and what they have used of them: decided by core. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  isOverShareOf,
  type RunRecord,
  remainingOf,
  seenAs,
  shareFor,
  startChild,
  wordToParent,
} from "../../src/core/index.ts";
import { child, type Step, saga } from "../../src/saga/index.ts";
import { notApplied, ok, Play, raise, refused } from "../support/play.ts";
import { ann, approve, says } from "../support/play-approvals.ts";
import { completed, failedClean, found } from "../support/play-children.ts";
import { call, line, type PlayedOptions, played } from "../support/play-sagas.ts";

const paying = saga("paying", { version: 1, input: z.json() })
  .step(call("pay"), () => ({}))
  .build();
const named = (name: string, share?: Readonly<Record<string, number>>) =>
  child(paying, { name, ...(share === undefined ? {} : { share }) }) as Step;
const side = (src: string) => ({ initial: "x", states: { x: { invoke: { src, onDone: "y" } }, y: { type: "final" } } });
/** Steps beside each other. */
function beside(steps: readonly Step[], options: PlayedOptions): Play {
  const states = Object.fromEntries(steps.map(({ spec }) => [spec.name, side(spec.name)]));
  return new Play(played({ type: "parallel", states }, steps, options));
}
/** Two children that take 5 at a time, of 10. */
const two = (hard: Readonly<Record<string, unknown>> = { money: { hard: 10 } }) =>
  beside([named("a", { money: 5 }), named("b", { money: 5 })], { budget: hard });
const shares = (play: Play, step: string) => play.row(step).shares;
const run = (play: Play, step: string) => `r1.${play.row(step).seq}`;
const seen = (play: Play, step: string, more: Parameters<typeof found>[1], status: "running" | "waiting" = "running") =>
  play.looks(step, found(status, { run: run(play, step), ...more }));

describe("a child that is started", () => {
  test("is given a tenth of each limit, whole where things are counted, at most what is free; time is what is left of it", () => {
    const budget = { money: { hard: 10 }, steps: { hard: 5 }, toolCalls: { soft: 3 }, time: { hard: "60s" } };
    const play = new Play(line([named("a")], { budget }));
    expect(shares(play, "a")).toEqual({ money: 1, steps: 1, toolCalls: null, time: 60_000 });
    expect(play.taken()).toContainEqual({ what: "budget", name: "money", used: 0, seq: 1, share: 1 });
    const full = new Play(line([call("first"), named("a", { money: 7 })], { budget: { money: { hard: 10 } } }));
    full.spend("first", { money: 6 });
    full.answer("first", ok());
    expect(shares(full, "a")).toEqual({ money: 4 });
  });

  test("of a run without budgets, or detached, is given nothing, and what the latter uses is its own matter", () => {
    const play = new Play(line([named("a")]));
    expect(play.row("a")).not.toHaveProperty("shares");
    seen(play, "a", { used: { money: 3, steps: 2 } });
    expect(play.run.record.budgets).toEqual({ money: { used: 3, soft: null, hard: null, warned: false } });
    const aside = child(paying, { name: "aside", detached: true }) as Step;
    const other = new Play(line([aside], { budget: { money: { hard: 5 } } }));
    expect(other.row("aside")).not.toHaveProperty("shares");
    other.looks("aside", found("running", { used: { money: 3 } }));
    expect(other.run.record.budgets["money"]?.used).toBe(0);
  });

  test("is started by the same command, whoever sends it; what it may use is in its first record", () => {
    const play = two();
    const row = play.row("a");
    const start = {
      parent: play.run.record,
      row,
      machine: new Play(paying).machine,
      hash: "h",
      detached: false,
      now: 5,
    };
    expect(startChild(start)).toEqual(startChild({ ...start }));
    expect(startChild(start).record.budgets).toEqual({
      money: { used: 0, soft: null, hard: null, warned: false, share: 5 },
    });
    play.looks("a", { is: "unreached", why: "away" });
    play.advance(1_000);
    expect(shares(play, "a")).toEqual({ money: 5 });
  });

  test("anew, after it has left nothing, is given anew", () => {
    const play = new Play(line([named("a", { money: 5 })], { budget: { money: { hard: 10 } } }));
    play.looks("a", { ...failedClean, child: { ...failedClean.child, used: { money: 2 } } });
    expect(play.run.record.budgets["money"]?.used).toBe(2);
    const again = new Play(
      line([child(paying, { name: "a", share: { money: 7 } }) as Step, call("b")], { budget: { money: { hard: 10 } } }),
    );
    again.looks("a", completed);
    expect(again.flying()).toEqual(["b"]);
  });
});

describe("what a child has used", () => {
  test("is counted once, when it is seen, and warned of", () => {
    const play = two({ money: { soft: 4, hard: 10 } });
    seen(play, "a", { used: { money: 3 }, revision: 3 });
    seen(play, "b", { used: { money: 2 }, revision: 3 });
    play.moved("a");
    seen(play, "a", { used: { money: 3 }, revision: 4 });
    play.moved("a");
    seen(play, "a", { used: { money: 4 }, revision: 5 });
    expect(play.run.record.budgets["money"]).toMatchObject({ used: 6, warned: true });
  });

  test("under more names than a run counts is left to its own record", () => {
    const play = new Play(line([named("a")]));
    const used = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`n${n}`, 1]));
    seen(play, "a", { used });
    expect(Object.keys(play.run.record.budgets).length).toBeLessThanOrEqual(60);
    seen(new Play(line([named("a")])), "a", { used: {} });
    play.moved("a");
    seen(play, "a", { used: { ...used, more: 1 }, revision: 9 });
    expect(play.run.record.budgets).not.toHaveProperty("more");
  });
});

describe("a child that wants more", () => {
  test("is given more while something is free, and told when it is looked at", () => {
    const play = new Play(line([named("a", { money: 4 })], { budget: { money: { hard: 10 } } }));
    seen(play, "a", { used: { money: 4 }, short: { money: 4 } });
    expect(shares(play, "a")).toEqual({ money: 8 });
    expect(play.flying()).toEqual(["a"]);
    const stale = {
      ...play.run.record,
      budgets: { money: { used: 4, soft: null, hard: null, warned: false, share: 4 } },
    };
    const told = shareFor({ ...stale, id: "r1.1" }, play.run.record, play.row("a"));
    expect(told).toMatchObject({ by: "run r1", body: { type: "share", shares: { money: 8 } } });
    expect(shareFor({ ...stale, status: "completed" }, play.run.record, play.row("a"))).toBeNull();
    const row = { ...play.row("a"), shares: { money: 4, steps: null, tokens: 5 } };
    expect(shareFor({ ...stale, id: "r1.1" }, play.run.record, row)).toBeNull();
    seen(play, "a", { used: { money: 4 }, short: { money: 4 }, revision: 3 });
    expect(shares(play, "a")).toEqual({ money: 8 });
    play.moved("a");
    seen(play, "a", { used: { money: 8 }, short: { money: 8 }, revision: 4 });
    expect(shares(play, "a")).toEqual({ money: 10 });
  });

  test("waits for what was promised to one at work, and is given what that leaves", () => {
    const play = two();
    seen(play, "b", { used: { money: 1 } });
    seen(play, "a", { used: { money: 5 }, short: { money: 5 } });
    expect([play.status, shares(play, "a")]).toEqual(["waiting", { money: 5 }]);
    play.moved("b");
    play.looks("b", found("completed", { run: run(play, "b"), used: { money: 1 }, revision: 9 }));
    expect(shares(play, "a")).toEqual({ money: 9 });
  });

  test("has a person asked where nothing is left, or only with those that rest; and the raise is shared out", () => {
    const play = two();
    seen(play, "b", { used: { money: 5 } });
    seen(play, "a", { used: { money: 6 }, short: { money: 5 } });
    expect(play.review?.message).toBe(
      "the budget money is used up: 11 of 10; run r1.1, which it has started, wants more. Nothing goes on before somebody raises it",
    );
    play.verb(raise("money", 20));
    expect(shares(play, "a")).toEqual({ money: 10 });
    const resting = two();
    seen(resting, "b", { rests: true, used: { money: 1 } }, "waiting");
    seen(resting, "a", { used: { money: 5 }, short: { money: 5 } });
    expect(resting.review).toMatchObject({ reason: "budget", evidence: { used: 6, hard: 10, promised: 4 } });
    expect(resting.review?.message).toContain("6 of 10 (and 4 promised to runs that wait)");
  });

  test("two of them have a person asked once", () => {
    const play = two();
    seen(play, "a", { used: { money: 5 }, short: { money: 5 } });
    seen(play, "b", { used: { money: 5 }, short: { money: 5 } });
    expect(play.run.record.reviews).toBe(1);
    play.verb(raise("money", 11));
    expect([shares(play, "a"), shares(play, "b")]).toEqual([{ money: 6 }, { money: 5 }]);
    expect(play.status).not.toBe("needs_review");
  });

  test("of time is given what its parent has left by then", () => {
    const play = new Play(line([call("first"), named("a")], { budget: { time: { hard: "60s" } } }));
    play.advance(10_000);
    play.answer("first", ok());
    expect(shares(play, "a")).toEqual({ time: 50_000 });
    play.advance(50_000);
    expect(play.review?.reason).toBe("budget");
    play.verb(raise("time", 90_000));
    seen(play, "a", { short: { time: 50_000 } });
    expect(shares(play, "a")).toEqual({ time: 80_000 });
  });

  test("while its parent stops is given nothing yet", () => {
    const play = new Play(line([named("a", { money: 4 })], { budget: { money: { hard: 10 } } }));
    play.stop();
    seen(play, "a", { used: { money: 4 }, short: { money: 4 } });
    expect(shares(play, "a")).toEqual({ money: 4 });
    play.acquire();
    expect(shares(play, "a")).toEqual({ money: 8 });
  });
});

describe("children that hold what each other wants", () => {
  const both = { money: { hard: 10 }, tokens: { hard: 10 } };
  const give = { money: 5, tokens: 5 };
  const started = () => beside([named("a", give), named("b", give)], { budget: both });

  test("do not wait for one another: a person is asked for the first of it, and then for the other", () => {
    const play = started();
    seen(play, "a", { used: { money: 5, tokens: 2 }, short: { money: 5 } }, "waiting");
    expect(play.review).toBeNull();
    seen(play, "b", { used: { money: 2, tokens: 5 }, short: { tokens: 5 } }, "waiting");
    expect(play.review).toMatchObject({ reason: "budget", evidence: { budget: "money", used: 7, promised: 3 } });
    play.verb(raise("money", 20));
    expect([shares(play, "a"), play.review]).toMatchObject([{ money: 10 }, null]);
    play.looks("a", found("completed", { run: run(play, "a"), used: { money: 6, tokens: 2 }, revision: 9 }));
    expect(shares(play, "b")).toEqual({ money: 5, tokens: 8 });
  });

  test("wait where the other one can be given what it wants, or has not heard of it yet", () => {
    const play = beside([named("a", give), named("b", give)], { budget: { ...both, tokens: { hard: 11 } } });
    seen(play, "a", { used: { money: 5, tokens: 2 }, short: { money: 5 } }, "waiting");
    seen(play, "b", { used: { money: 2, tokens: 5 }, short: { tokens: 5 } }, "waiting");
    expect([shares(play, "b"), play.review]).toEqual([{ money: 5, tokens: 6 }, null]);
  });

  test("of one budget, since what they started of their own rests, are not taken for at work", () => {
    const play = beside([named("a", { money: 5 }), named("b", { money: 5 })], { budget: { money: { hard: 10 } } });
    seen(play, "a", { used: { money: 5 }, short: { money: 5 } }, "waiting");
    seen(play, "b", { used: { money: 2 }, short: { money: 5 } }, "waiting");
    expect(play.review).toMatchObject({ reason: "budget", evidence: { used: 7, promised: 3 } });
  });
});

describe("a call of the parent beside its children", () => {
  test("waits while what is left is promised to them, and goes on with what they leave", () => {
    const play = beside([named("a", { money: 10 }), call("b")], { budget: { money: { hard: 10 } } });
    expect([play.flying(), play.status]).toEqual([["a"], "running"]);
    seen(play, "a", { used: { money: 4 } });
    expect([play.status, play.run.record.waitingFor]).toEqual(["waiting", "budget"]);
    play.moved("a");
    play.looks("a", found("completed", { used: { money: 6 }, revision: 7 }));
    expect(play.flying()).toEqual(["b"]);
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });
});

test("what was promised to a child that the machine has left is free once that has ended", () => {
  const states = {
    one: { invoke: { src: "a", onDone: "two" }, on: { GO: "two" } },
    two: { invoke: { src: "b", onDone: "end" } },
    end: { type: "final" },
  };
  const options = { budget: { money: { hard: 10 } }, events: ["GO"] };
  const play = new Play(played({ initial: "one", states }, [named("a", { money: 10 }), call("b")], options));
  seen(play, "a", { used: { money: 2 } });
  play.event("GO");
  expect(play.flying()).toEqual(["undo a"]);
  play.looks("undo a", found("completed", { used: { money: 3 }, revision: 5, isPending: true, asked: "undo" }));
  expect(play.flying()).toEqual(["b"]);
  expect(play.run.record.budgets["money"]?.used).toBe(3);
});

/** A run that was started with these shares, of `a` and `b`. */
function below(
  given: Readonly<Record<string, number | null>>,
  options: PlayedOptions = {},
  steps = [call("a"), call("b")],
) {
  return new Play(line(steps, options), { id: "p1.1", parent: { run: "p1", seq: 1, detached: false }, shares: given });
}
const word = (play: Play, before: RunRecord) => wordToParent(before, play.run.record);
const share = (play: Play, given: Readonly<Record<string, number>>) =>
  play.send(`share:${JSON.stringify(given)}`, { type: "share", shares: given });

describe("a run that has a share", () => {
  test("goes no further than that, says so, and goes on when it is given more", () => {
    const play = below({ money: 5 });
    expect(remainingOf(play.run.record, play.now)).toEqual({ money: 5 });
    play.spend("a", { money: 5 });
    expect(isOverShareOf(play.run.record, { money: 1, other: 2 })).toBe(false);
    const before = play.run.record;
    play.answer("a", ok());
    expect([play.flying(), play.status, play.run.record.waitingFor]).toEqual([[], "waiting", "budget"]);
    expect(play.run.record.budgets["money"]).toMatchObject({ used: 5, share: 5, short: true });
    expect(word(play, before)).toMatchObject({ run: { id: "p1" }, body: { type: "child", seq: 1, run: "p1.1" } });
    expect(seenAs(play.run.record)).toMatchObject({ status: "waiting", used: { money: 5 }, short: { money: 5 } });
    share(play, { money: 5, other: 9 });
    expect(play.flying()).toEqual([]);
    share(play, { money: 8 });
    expect(play.flying()).toEqual(["b"]);
    expect(play.run.record.budgets["money"]).toEqual({ used: 5, soft: null, hard: null, warned: false, share: 8 });
    expect(word(play, play.run.record)).toBeNull();
  });

  test("and asks people waits for them, as nobody else goes on by itself, and for its budget when they have let it go", () => {
    const asking = [call("a"), call("b", { approve: {} })];
    const play = below({ money: 5 }, {}, asking);
    play.spend("a", { money: 5 });
    play.answer("a", ok());
    expect([play.status, play.run.record.waitingFor, play.run.record.asks]).toEqual(["waiting", "approval", [2]]);
    expect(seenAs(play.run.record)).toMatchObject({ rests: true });
    says(play, "b", ann, approve());
    expect([play.flying(), play.run.record.waitingFor]).toEqual([[], "budget"]);
    expect(seenAs(play.run.record)).toMatchObject({ short: { money: 5 } });
    share(play, { money: 8 });
    expect(play.flying()).toEqual(["b"]);
  });

  test("and a limit of its own stops at that, which is a person's, and beyond its share once more", () => {
    const play = below({ money: 5 }, { budget: { money: { hard: 3 } } });
    play.spend("a", { money: 3 });
    play.answer("a", ok());
    expect(play.review?.reason).toBe("budget");
    play.verb(raise("money", 30));
    expect(play.flying()).toEqual(["b"]);
    play.spend("b", { money: 9 });
    expect(isOverShareOf(play.run.record, { money: 1 })).toBe(true);
    expect(play.run.record.budgets["money"]).toMatchObject({ short: true });
    play.answer("b", ok());
    expect(play.run.record.status).toBe("completed");
  });

  test("past its share wants more while an action is out that may wait for it, and past its own limit nothing", () => {
    const play = below({ money: 5, tokens: 2, steps: null }, { budget: { money: { hard: 5 } } });
    play.spend("a", { money: 6, tokens: 3 });
    const { budgets } = play.run.record;
    expect([budgets["money"]?.short, budgets["tokens"]?.short, budgets["steps"]?.used]).toEqual([undefined, true, 1]);
    play.answer("a", notApplied({ retryAfterMs: 60_000 }));
    expect(play.run.record.budgets["tokens"]?.short).toBeUndefined();
  });

  test("of time stops when that is over, and not before its call", () => {
    const play = below({ time: 10_000 });
    play.advance(20_000);
    expect(play.status).toBe("running");
    play.answer("a", ok());
    expect([play.status, play.run.record.waitingFor, play.run.record.budgets["time"]?.short]).toEqual([
      "waiting",
      "budget",
      true,
    ]);
    share(play, { time: 60_000 });
    expect(play.flying()).toEqual(["b"]);
    expect(seenAs(play.run.record)).not.toHaveProperty("used");
  });

  test("asks for its own children, and gives them of what it gets", () => {
    const play = below({ money: 4 }, {}, [named("a", { money: 4 })]);
    expect(shares(play, "a")).toEqual({ money: 4 });
    seen(play, "a", { run: "p1.1.1", used: { money: 4 }, short: { money: 4 } });
    expect([play.status, play.review, play.run.record.budgets["money"]?.short]).toEqual(["waiting", null, true]);
    share(play, { money: 6 });
    expect([shares(play, "a"), play.flying()]).toEqual([{ money: 6 }, ["a"]]);
  });

  test("wants nothing while it is paused, parked or goes back", () => {
    const play = below({ money: 5 });
    play.spend("a", { money: 5 });
    play.answer("a", ok());
    play.pause();
    expect(play.run.record.budgets["money"]?.short).toBeUndefined();
    expect(seenAs(play.run.record)).toMatchObject({ status: "paused", rests: true });
    play.resume();
    expect(play.run.record.budgets["money"]?.short).toBe(true);
    play.cancel();
    expect(play.run.record.budgets["money"]?.short).toBeUndefined();
    expect(play.flying()).toEqual(["undo a"]);
    const failing = below({ money: 5 });
    failing.spend("a", { money: 9 });
    failing.answer("a", refused());
    expect(failing.status).toBe("failed");
  });

  test("rests where it waits for what comes from outside", () => {
    const waits = (waitingFor: RunRecord["waitingFor"]) =>
      seenAs({ ...below({ money: 5 }).run.record, status: "waiting", waitingFor }).rests;
    expect([waits("event"), waits("timer"), waits("child"), waits("budget")]).toEqual([
      true,
      true,
      undefined,
      undefined,
    ]);
  });
});

test("a share that is no amount, or of time, is refused where it is declared", () => {
  for (const [given, why] of [
    [{ money: 0 }, "its share of money is 0"],
    [{ time: 5 }, "it passes for all at once"],
    [{ "": 5 }, "1 to 32 letters"],
  ] as const) {
    expect(() => child(paying, { share: given as Readonly<Record<string, number>> })).toThrow(why);
  }
});
