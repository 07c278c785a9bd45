/** The hard modes of a cancel: what they leave, what they find out first, and which one counts. */
import { describe, expect, test } from "vitest";
import { explain } from "../../src/core/index.ts";
import { defect, done, notApplied, ok, Play, refused, resolveHappened, retry, timedOut } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const cancelled = (rollback: string) => ({ status: "cancelled", rollback, cause: { kind: "cancelled" }, open: [] });

describe("stop", () => {
  test("begins nothing, waits for what is out, undoes nothing and says what stands", () => {
    const play = new Play(line([call("a"), call("b"), call("c")]));
    play.answer("a", ok());
    play.cancel("enough", "stop");
    expect(play.status).toBe("unwinding");
    expect(play.aborted).toEqual(["action:2"]);
    play.answer("b", ok("b-1"));
    expect(play.run.record).toMatchObject({ ...cancelled("partial"), cancel: { mode: "stop" } });
    expect(play.row("b")).toMatchObject({
      output: { id: "b-1" },
      undo: { state: "skipped", call: null, reason: "stopped by ops: enough" },
    });
    expect(play.ordered).toEqual(["a", "b"]);
    expect(play.taken()).toContainEqual({
      what: "control",
      control: "cancel",
      by: "ops",
      reason: "enough",
      mode: "stop",
    });
  });

  test("before anything was sent leaves nothing behind", () => {
    const play = new Play(line([call("a")]), { idle: true });
    play.cancel("enough", "stop");
    expect(play.run.record).toMatchObject(cancelled("not_applicable"));
    const waiting = new Play(line([call("a", { queue: "gpu" })]));
    waiting.cancel("enough", "stop");
    expect(waiting.run.record).toMatchObject(cancelled("not_applicable"));
  });

  test("keeps what stays by declaration, and does not count what has no effect", () => {
    const play = new Play(line([call("a", { compensate: false }), call("n", { effect: "none" }), call("b")]));
    play.answer("a", ok());
    play.answer("n", ok());
    play.answer("b", refused());
    expect(play.status).toBe("failed");
    const other = new Play(line([call("a", { compensate: false }), call("n", { effect: "none" }), call("b")]));
    other.answer("a", ok());
    other.answer("n", ok());
    other.cancel("enough", "stop");
    other.answer("b", notApplied());
    expect(other.run.record).toMatchObject(cancelled("not_applicable"));
    expect(other.row("a").undo).toMatchObject({ state: "kept", reason: "it stays" });
  });

  test("finds out what may have happened, and accepts what nobody can tell", () => {
    const play = new Play(line([call("a", { effect: "once", probe: true })]));
    play.cancel("enough", "stop");
    play.answer("a", timedOut());
    play.probe("a", "happened");
    expect(play.row("a").undo?.state).toBe("skipped");
    expect(play.run.record).toMatchObject(cancelled("partial"));
    const blind = new Play(line([call("a", { effect: "once" })]));
    blind.cancel("enough", "stop");
    blind.advance(5_000);
    expect(blind.row("a")).toMatchObject({
      call: { state: "unknown" },
      undo: { state: "accepted", reason: "stopped by ops: enough" },
    });
    expect(blind.run.record).toMatchObject(cancelled("partial"));
    blind.late("a", 1, ok());
    expect(blind.row("a").call.state).toBe("succeeded");
    expect(blind.run.record).toMatchObject(cancelled("partial"));
  });

  test("takes a waiting, a paused and a parked run at once", () => {
    const machine = { initial: "one", states: { one: { on: { GO: "end" } }, end: { type: "final" } } };
    const waiting = new Play(played(machine, [call("a")], { events: ["GO"] }));
    waiting.cancel("enough", "stop");
    expect(waiting.status).toBe("cancelled");
    const paused = new Play(line([call("a"), call("b")]));
    paused.pause();
    paused.answer("a", ok());
    paused.cancel("enough", "stop");
    expect(paused.run.record).toMatchObject(cancelled("partial"));
    const parked = new Play(line([call("a")]));
    parked.answer("a", defect);
    parked.cancel("enough", "stop");
    expect(parked.run.record).toMatchObject({ ...cancelled("not_applicable"), review: null });
  });

  test("ends a run whose workers died under it, which a person was asked about", () => {
    const play = new Play(line([call("a", { effect: "keyed" })]));
    for (const _ of [1, 2, 3]) play.takeOver();
    expect(play.review?.reason).toBe("poison");
    play.cancel("enough", "stop");
    expect(play.run.record).toMatchObject(cancelled("partial"));
    const idle = new Play(line([call("a")]), { startAt: 2_000_000 });
    for (const _ of [1, 2, 3]) idle.takeOver();
    expect(idle.review?.reason).toBe("poison");
    idle.cancel("enough", "stop");
    expect(idle.run.record).toMatchObject(cancelled("not_applicable"));
  });

  test("ends it behind a point of no return, where a soft one parks", () => {
    const play = new Play(line([call("a", { pivot: true }), call("b")]));
    play.answer("a", ok());
    play.cancel();
    expect(play.review?.reason).toBe("after_pivot");
    play.cancel("enough", "stop");
    play.answer("b", notApplied());
    expect(play.run.record).toMatchObject({ ...cancelled("partial"), cancel: { mode: "stop" } });
  });

  test("a call that a defect keeps from being repeated is not made, and what an earlier send did is found out or accepted", () => {
    const play = new Play(line([call("a", { probe: true })]));
    play.takeOver();
    play.probe("a", "absent");
    play.advance(1_000);
    expect(play.flying()).toEqual(["a"]);
    play.cancel("enough", "stop");
    play.answer("a", defect);
    expect(play.flying()).toEqual(["probe a"]);
    play.probe("a", "happened");
    expect(play.status).toBe("cancelled");
    const blind = new Play(line([call("a")]));
    blind.takeOver();
    blind.cancel("enough", "stop");
    blind.answer("a", defect);
    expect(blind.status).toBe("cancelled");
    expect(blind.row("a")).toMatchObject({ call: { state: "unknown" }, undo: { state: "accepted" } });
  });

  test("a run that is stopped says so", () => {
    const play = new Play(line([call("a")]));
    play.cancel("enough", "stop");
    expect(play.run.record.unwind).toMatchObject({ leaves: true, ends: "cancelled" });
    const judged = { namespace: "ns", ...play.run, machine: play.machine, now: play.now };
    expect(explain(judged).where.text).toContain("is being stopped, undoing nothing (enough)");
  });
});

describe("stop during an unwind", () => {
  const back = () => {
    const play = new Play(line([call("a"), call("b"), call("c")]));
    play.answer("a", ok());
    play.answer("b", ok());
    play.answer("c", refused());
    expect(play.flying()).toEqual(["undo b"]);
    return play;
  };

  test("ends it where it is: what is out is heard, what is owed is left", () => {
    const play = back();
    play.cancel("enough", "stop");
    expect(play.flying()).toEqual(["undo b"]);
    play.answer("undo b", done);
    expect(play.run.record).toMatchObject(cancelled("partial"));
    expect(play.row("b").undo?.state).toBe("done");
    expect(play.row("a").undo).toMatchObject({ state: "skipped", call: null });
    expect(play.ordered).not.toContain("undo a");
  });

  test("leaves a compensation that did not come about, whether it failed, waits or may have happened", () => {
    const failed = back();
    failed.cancel("enough", "stop");
    failed.answer("undo b", refused());
    expect(failed.row("b").undo?.state).toBe("skipped");
    expect(failed.status).toBe("cancelled");
    const waits = back();
    waits.answer("undo b", notApplied());
    waits.cancel("enough", "stop");
    expect(waits.row("b").undo?.state).toBe("skipped");
    expect(waits.status).toBe("cancelled");
    const doubted = back();
    doubted.answer("undo b", timedOut());
    doubted.cancel("enough", "stop");
    expect(doubted.row("b").undo).toMatchObject({ state: "accepted", call: { state: "unknown" } });
    expect(doubted.run.record).toMatchObject(cancelled("partial"));
  });

  test("asks the other side about a compensation that may have happened", () => {
    const play = new Play(line([call("a", { compensate: { probe: true } }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.cancel("enough", "stop");
    play.answer("undo a", timedOut());
    play.probe("undo a", "happened");
    expect(play.row("a").undo?.state).toBe("done");
    expect(play.run.record).toMatchObject(cancelled("complete"));
  });

  test("answers the question of one that has halted", () => {
    const play = back();
    play.answer("undo b", refused());
    expect(play.review?.reason).toBe("halted");
    play.cancel("enough", "stop");
    expect(play.run.record).toMatchObject({ ...cancelled("partial"), review: null });
  });

  test("calls nothing more to learn what is to be undone", () => {
    const play = new Play(line([call("a")]));
    play.cancel();
    play.answer("a", timedOut());
    expect(play.run.rows[0]?.call).toMatchObject({ state: "planned" });
    play.cancel("enough", "stop");
    play.advance(100_000);
    expect(play.ordered).toEqual(["a"]);
    expect(play.run.record).toMatchObject(cancelled("partial"));
  });

  test("of a run that goes back to a savepoint goes no further", () => {
    const machine = {
      initial: "one",
      states: {
        one: { tags: ["savepoint"], invoke: { src: "a", onDone: "two" } },
        two: { invoke: { src: "b", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("a"), call("b", { onExhausted: "review", retry: { attempts: 1 } })]));
    play.answer("a", ok());
    play.answer("b", notApplied());
    play.verb({ verb: "rewind", to: "played.one", reason: "back", despite: false });
    play.cancel("enough", "stop");
    play.answer("undo a", done);
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("leaves an effect that turned up late as it is", () => {
    const play = new Play(line([call("a", { onExhausted: "fail", retry: { attempts: 1 } }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", done);
    expect(play.status).toBe("failed");
    play.late("b", 1, ok());
    expect(play.review?.reason).toBe("late_result");
    play.cancel("enough", "stop");
    expect(play.row("b").undo?.state).toBe("skipped");
    expect(play.run.record).toMatchObject({ status: "cancelled", rollback: "partial", review: null });
  });
});

describe("kill", () => {
  test("ends it at once, with what is out accepted as unknown, on record", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.cancel("now", "kill");
    expect(play.run.record).toMatchObject({ ...cancelled("partial"), cancel: { mode: "kill" } });
    expect(play.aborted).toEqual(["action:2"]);
    expect(play.row("b")).toMatchObject({
      call: { state: "unknown" },
      undo: { state: "accepted", reason: "killed by ops: now" },
    });
    play.answer("b", ok("b-1"));
    expect(play.row("b")).toMatchObject({ call: { state: "succeeded" }, output: { id: "b-1" } });
    expect(play.run.record).toMatchObject(cancelled("partial"));
  });

  test("ends an unwind at once, whatever is out and whoever was asked", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.cancel("now", "kill");
    expect(play.run.record).toMatchObject(cancelled("partial"));
    const asked = new Play(line([call("a", { effect: "once" })]));
    asked.answer("a", timedOut());
    asked.cancel("now", "kill");
    expect(asked.run.record).toMatchObject({ ...cancelled("partial"), review: null });
  });

  test("needs no value that is missing", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    const missing = [{ where: "output of a", hash: "h", bytes: 9, why: "gone" }] as const;
    play.run = { ...play.run, missing };
    play.takeOver();
    expect(play.review?.reason).toBe("missing_artifact");
    play.run = { ...play.run, missing };
    play.cancel("wait", "stop");
    expect(play.status).toBe("needs_review");
    play.run = { ...play.run, missing };
    play.cancel("now", "kill");
    expect(play.run.record).toMatchObject(cancelled("partial"));
  });
});

describe("of several", () => {
  test("the first counts, until a harder one comes; a softer one changes nothing but the log", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.cancel("first");
    play.cancel("second", "stop");
    expect(play.run.record).toMatchObject({ cancel: { mode: "stop", reason: "second" }, unwind: { leaves: true } });
    play.answer("b", ok());
    expect(play.run.record).toMatchObject(cancelled("partial"));
    const other = new Play(line([call("a", { effect: "once", probe: true })]));
    other.cancel("first", "stop");
    other.cancel("second");
    expect(other.run.record).toMatchObject({ cancel: { mode: "stop", reason: "first" } });
    other.cancel("third", "kill");
    expect(other.run.record).toMatchObject({ ...cancelled("partial"), cancel: { mode: "kill" } });
  });

  test("a refused one is withdrawn by going on, and a harder one still ends the run", () => {
    const play = new Play(line([call("a", { pivot: true }), call("b")]));
    play.answer("a", ok());
    play.cancel();
    play.verb(retry());
    expect(play.run.record.cancel).toBeNull();
    play.cancel("now", "kill");
    expect(play.status).toBe("cancelled");
  });

  test("an answer that was at hand with a stop is recorded and left", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", timedOut());
    play.verb(resolveHappened());
    expect(play.status).toBe("completed");
  });
});
