/** A new driver: what it makes of the calls it finds, of a run that kills its workers, of a snapshot it cannot read. */
import { describe, expect, test } from "vitest";
import {
  close,
  epochMs,
  notCalled,
  ok,
  Play,
  resolveAbsent,
  resolveHappened,
  retry,
  timedOut,
} from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

function killed(play: Play, times: number): Play {
  for (let death = 0; death < times; death += 1) play.takeOver({ died: true });
  return play;
}

describe("poison", () => {
  test("three deaths during one call ask a person, and it is not called a fourth time", () => {
    const play = killed(new Play(line([call("a")])), 3);
    expect(play.ordered).toEqual(["a", "a", "a"]);
    expect(play.review).toMatchObject({ reason: "poison", seq: 1, side: "action" });
    expect(play.review?.message).toContain("its worker died 3 times in a row");
  });

  test("a call without effect is no exception", () => {
    const play = killed(new Play(line([call("a", { effect: "none" })])), 3);
    expect(play.review).toMatchObject({ reason: "poison", verbs: ["resolve", "retry", "compensate", "close"] });
    expect(play.row("a").call.state).toBe("planned");
  });

  test("an expired key leaves no retry", () => {
    const play = new Play(line([call("a", { keyTtl: "60s" })]));
    killed(play, 2);
    play.now += 3_600_000;
    killed(play, 1);
    expect(play.review).toMatchObject({ reason: "poison", verbs: ["resolve", "compensate", "close"] });
  });

  test("a worker that left in good order, or of which nothing is known, accuses nobody", () => {
    const play = new Play(line([call("a")]));
    for (let lost = 0; lost < 5; lost += 1) play.takeOver({ died: false });
    expect(play.row("a").call.interruptions).toBe(0);
    expect(play.status).toBe("running");
  });

  test("an outcome ends the count", () => {
    const play = killed(new Play(line([call("a"), call("b")])), 2);
    play.answer("a", ok());
    expect(play.row("a").call.interruptions).toBe(0);
    killed(play, 2);
    expect(play.review).toBeNull();
  });

  test("a grant alone ends no count", () => {
    expect(killed(new Play(line([call("a")])), 2).row("a").call).toMatchObject({ state: "sent", interruptions: 2 });
  });

  test("retry begins a new count", () => {
    const play = killed(new Play(line([call("a")])), 3);
    play.verb(retry());
    expect(play.flying()).toEqual(["a"]);
    killed(play, 2);
    expect(play.review).toBeNull();
  });

  test("a person may say what became of it", () => {
    const play = killed(new Play(line([call("a")])), 3);
    play.verb(resolveHappened());
    expect(play.status).toBe("completed");
  });

  test("a person may say that nothing became of it, and it is called again", () => {
    const play = killed(new Play(line([call("a")])), 3);
    play.verb(resolveAbsent);
    expect(play.flying()).toEqual(["a"]);
    expect(play.row("a").call.interruptions).toBe(0);
  });

  test("the earlier sends stay in doubt after a retry", () => {
    const play = killed(new Play(line([call("a", { retry: { attempts: 1 } })])), 3);
    play.verb(retry());
    play.answer("a", {
      kind: "not_applied",
      code: null,
      message: "no",
      final: false,
      reason: "error",
      retryAfterMs: null,
    });
    expect(play.row("a").call.state).not.toBe("not_applied");
  });

  test("deaths while nothing is sent are counted on the run", () => {
    const play = new Play(line([call("a")]));
    play.pause();
    play.answer("a", notCalled());
    killed(play, 2);
    expect(play.run.record.interruptions).toBe(2);
    killed(play, 1);
    expect(play.review).toMatchObject({ reason: "poison", seq: null, verbs: ["retry", "compensate", "close"] });
    play.verb(retry());
    expect(play.run.record).toMatchObject({ review: null, interruptions: 0 });
  });

  test("deaths before the run has ended are not counted when it is taken up again", () => {
    const play = new Play(line([call("a", { effect: "none" })]));
    killed(play, 2);
    play.answer("a", ok());
    const stopped = new Play(line([call("a")]));
    stopped.pause();
    stopped.answer("a", notCalled());
    killed(stopped, 2);
    stopped.cancel();
    for (const run of [play, stopped])
      expect([run.run.record.endedAt === null, run.run.record.interruptions]).toEqual([false, 0]);
  });

  test("deaths while the run is driven back are counted like others", () => {
    const play = new Play(
      line([
        call("a", {
          compensate: { retry: { attempts: 9, backoff: "fixed", initial: "1h", max: "1h", jitter: false } },
        }),
        call("b"),
      ]),
    );
    play.answer("a", ok());
    play.answer("b", {
      kind: "not_applied",
      code: null,
      message: "no",
      final: true,
      reason: "fail",
      retryAfterMs: null,
    });
    play.answer("undo a", timedOut());
    killed(play, 3);
    expect(play.review).toMatchObject({ reason: "poison", seq: null });
    play.advance(3_600_000);
    expect(play.flying()).toEqual([]);
    play.verb(retry());
    play.tick();
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("a cancel of a poisoned run finds out what the call did and goes back", () => {
    const play = killed(new Play(line([call("a", { probe: true })])), 1);
    play.probe("a", "absent");
    killed(play, 1);
    play.probe("a", "absent");
    killed(play, 1);
    expect(play.review?.reason).toBe("poison");
    play.cancel();
    expect(play.flying()).toEqual(["probe a"]);
    play.probe("a", "happened");
    play.advance(43_000);
    play.answer("undo a", ok());
    expect(play.status).toBe("cancelled");
  });
});

describe("the call that was not made", () => {
  test("by a worker that had lost the run is proof, also after the interruption, and is counted once", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.takeOver({ died: false });
    expect(play.review?.reason).toBe("unknown_outcome");
    play.late("a", 1, notCalled());
    expect(play.flying()).toEqual(["a"]);
    expect(play.row("a").call).toMatchObject({ attempt: 1, send: 2, doubtUntil: null });
  });

  test("of a call that timed out takes its attempt back", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", timedOut());
    play.late("a", 1, notCalled());
    expect(play.row("a").call).toMatchObject({ attempt: 1, send: 2 });
  });
});

describe("several calls", () => {
  test("are judged each by its class", () => {
    const machine = {
      type: "parallel",
      states: {
        left: { initial: "l", states: { l: { invoke: { src: "a", onDone: "d" } }, d: { type: "final" } } },
        right: { initial: "r", states: { r: { invoke: { src: "b", onDone: "d" } }, d: { type: "final" } } },
      },
    };
    const play = new Play(played(machine, [call("a"), call("b", { effect: "once" })]));
    play.takeOver();
    expect([play.row("a").call.state, play.row("b").call.state]).toEqual(["planned", "unknown"]);
    expect(play.review?.seq).toBe(2);
    play.verb(resolveHappened());
    expect(play.flying()).toEqual(["a"]);
  });

  test("of which two need a person ask about one after the other", () => {
    const machine = {
      type: "parallel",
      states: {
        left: { initial: "l", states: { l: { invoke: { src: "a", onDone: "d" } }, d: { type: "final" } } },
        right: { initial: "r", states: { r: { invoke: { src: "b", onDone: "d" } }, d: { type: "final" } } },
      },
    };
    const play = new Play(played(machine, [call("a", { effect: "once" }), call("b", { effect: "once" })]));
    play.takeOver();
    expect(play.review?.seq).toBe(1);
    play.verb(resolveHappened());
    expect(play.review).toMatchObject({ n: 2, seq: 2 });
    play.verb(resolveHappened());
    expect(play.status).toBe("completed");
  });
});

describe("a snapshot that today's machine cannot hold", () => {
  const before = { initial: "x", states: { x: { invoke: { src: "a", onDone: "end" } }, end: { type: "final" } } };
  const after = { initial: "y", states: { y: { invoke: { src: "a", onDone: "end" } }, end: { type: "final" } } };

  function deployed(): Play {
    const play = new Play(played(before, [call("a")]));
    play.machine = new Play(played(after, [call("a")]), { idle: true }).machine;
    return play;
  }

  test("parks the run, which is not touched", () => {
    const play = deployed();
    const { snapshot } = play.run.record;
    play.takeOver();
    expect(play.review).toMatchObject({ reason: "blocked", verbs: ["retry", "compensate", "close"] });
    expect(play.review?.message).toContain('"x"');
    expect(play.run.record.snapshot).toEqual(snapshot);
  });

  test("stays parked after a retry that changed nothing", () => {
    const play = deployed();
    play.takeOver();
    play.verb(retry());
    expect(play.review).toMatchObject({ n: 2, reason: "blocked" });
  });

  test("goes on where it was once the code is mended", () => {
    const play = deployed();
    play.takeOver();
    play.machine = new Play(played(before, [call("a")]), { idle: true }).machine;
    play.verb(retry());
    expect(play.flying()).toEqual(["a"]);
    play.answer("a", ok());
    expect(play.status).toBe("completed");
  });

  test("ends when it is closed, with every row accounted for", () => {
    const play = deployed();
    play.takeOver();
    play.verb(close);
    expect(play.status).toBe("failed");
    expect(play.row("a").undo?.state).toBe("accepted");
  });

  test("does not keep it from being cancelled and undone", () => {
    const play = deployed();
    play.takeOver();
    play.cancel();
    play.advance(60_000);
    expect(play.ordered).toContain("a");
    play.answer("a", ok());
    play.answer("undo a", ok());
    expect(play.status).toBe("cancelled");
  });
});

describe("beginning", () => {
  test("an early wake-up begins nothing", () => {
    const play = new Play(line([call("a")]), { startAt: epochMs + 60_000 });
    expect(play.run.record).toMatchObject({ snapshot: null, revision: 1 });
    expect(play.due).toBe(epochMs + 60_000);
    play.advance(59_999);
    expect(play.ordered).toEqual([]);
    play.advance(1);
    expect(play.ordered).toEqual(["a"]);
  });

  test("the first commit begins the machine and sends the first call", () => {
    const play = new Play(line([call("a")]));
    expect(play.log.map((entry) => entry.taken.map((taken) => taken.what))).toEqual([["created"], ["begun", "sent"]]);
  });
});

test("a run that poisoned its workers before anything was sent can be closed", () => {
  const play = new Play(line([call("a", { queue: "gpu" })]));
  killed(play, 3);
  expect(play.review).toMatchObject({ reason: "poison", seq: null });
  play.verb(close);
  expect(play.status).toBe("failed");
});
