/** The loop breaker: the same call too often in one run, and a person is asked. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Json, saga } from "../../src/saga/index.ts";
import { compensate, done, ok, Play, retry } from "../support/play.ts";
import { call, line, type PlayedOptions, played } from "../support/play-sagas.ts";

/** Asks for `a` again and again, with the input that `next` gives the n-th turn. */
function turning(next: (n: number) => Json, more: PlayedOptions = {}, effect: "none" | "keyed" = "none") {
  let n = 0;
  const machine = {
    initial: "one",
    states: {
      one: { invoke: { src: "a", input: () => next(n), onDone: { target: "one", reenter: true } }, on: { GO: "end" } },
      end: { type: "final" },
    },
  };
  const play = new Play(played(machine, [call("a", { effect })], { events: ["GO"], ...more }));
  const turn = (times: number) => {
    for (let at = 0; at < times && play.flying().length > 0; at += 1) {
      n += 1;
      play.answer("a", ok());
    }
  };
  return { play, turn };
}

describe("the same call", () => {
  test("asked for more often than the limit parks the run, and a retry lets it go on as often again", () => {
    const { play, turn } = turning(() => ({ q: [1, "x"] }), { loopLimit: 3 });
    turn(10);
    expect(play.ordered).toHaveLength(3);
    expect(play.review).toMatchObject({
      reason: "loop",
      seq: 4,
      side: "action",
      evidence: { q: [1, "x"] },
      verbs: ["retry", "compensate", "close"],
    });
    play.verb(retry());
    turn(10);
    expect(play.ordered).toHaveLength(6);
    expect(play.review).toMatchObject({ reason: "loop", seq: 7, n: 2 });
  });

  test("is undone like any other where the person says so", () => {
    const { play, turn } = turning(() => 5, { loopLimit: 2 }, "keyed");
    turn(9);
    play.verb(compensate);
    play.answer("undo a", done);
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("between others is found by looking back", () => {
    const { play, turn } = turning((n) => ({ n: n % 7 }), { loopLimit: 3 });
    turn(100);
    expect(play.ordered).toHaveLength(21);
  });

  test("is told apart by its input, whatever the order of its keys; what no loop is goes on", () => {
    const same = turning((n) => (n % 2 === 0 ? { a: 1, b: null } : { b: null, a: 1 }), { loopLimit: 2 });
    same.turn(9);
    expect(same.play.review?.reason).toBe("loop");
    const others = turning((n) => [null, n, `t${n}`, { n }][n % 4] ?? null, { loopLimit: 4 });
    others.turn(15);
    expect(others.play.review).toBeNull();
  });

  test("that comes back only after very many others is none of a loop, and a long run does not pay for it", () => {
    const { play, turn } = turning((n) => ({ n: n % 280 }), { loopLimit: 1 });
    turn(300);
    expect(play.review).toBeNull();
    expect(play.run.rows.every((row) => row.repeat === undefined)).toBe(true);
  });

  test("may be asked for as often as it likes where the saga says so", () => {
    const { play, turn } = turning(() => 1);
    turn(150);
    expect(play.review).toBeNull();
  });
});

describe("tools", () => {
  const agent = () =>
    new Play(
      line([call("agent", { effect: "none", uses: { look: call("look", { effect: "none" }) } }), call("z")], {
        loopLimit: 2,
      }),
    );

  test("that an agent asks for again and again stop it", () => {
    const play = agent();
    for (const key of [1, 2]) {
      play.ask("agent", "look", { key });
      play.answer("look", ok());
    }
    const third = play.ask("agent", "look", { key: 3 });
    expect(play.review).toMatchObject({ reason: "loop" });
    expect(play.toolAnswer(third).is).toBe("suspended");
  });
});

test("the items of a list are as many as the list says", () => {
  const play = new Play(
    saga("list", { version: 1, input: z.json(), loopLimit: 2 })
      .each(() => [{}, {}, {}, {}], call("look", { effect: "none" }))
      .build(),
  );
  for (const _ of [1, 2, 3, 4]) play.answer("look", ok());
  expect([play.status, play.review]).toEqual(["completed", null]);
});
