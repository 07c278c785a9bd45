/** Finding out: when a probe is asked, what its answer is worth, and what follows when nobody can tell. */
import { describe, expect, test } from "vitest";
import { epochMs, notApplied, notCalled, ok, Play, probeNow, resolveAbsent, timedOut } from "../support/play.ts";
import { call, line } from "../support/play-sagas.ts";

/** From the grant until nobody can make the outside apply it: 2 s to start, 10 s time-out, 1 s grace, 30 s lateness. */
const windowMs = 43_000;

function once(options: object = {}): Play {
  const play = new Play(line([call("a", { effect: "once", probe: true, ...options })]));
  play.answer("a", timedOut());
  return play;
}

function probeTimes(play: Play, answer: "absent" | "cannot_tell"): readonly number[] {
  const times: number[] = [];
  while (play.status !== "needs_review" && times.length < 9) {
    while (!play.flying().includes("probe a") && play.now < epochMs + 500_000) play.advance(500);
    times.push(play.now - epochMs);
    play.probe("a", answer);
  }
  return times;
}

describe("the schedule", () => {
  test("at once, half-way to the deadline, at it, 5 s and 30 s after it, then a person", () => {
    expect(probeTimes(once(), "cannot_tell")).toEqual([0, 21_500, 43_000, 48_000, 73_000]);
  });

  test("a late take-over of a call in doubt asks at once, and never twice within a second", () => {
    const play = once();
    play.now += 1_000_000;
    play.takeOver();
    const start = play.now;
    const times: number[] = [];
    for (let asked = 0; asked < 5; asked += 1) {
      times.push(play.now - start);
      play.probe("a", "cannot_tell");
      play.advance(1_000);
    }
    expect(times).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
    expect(play.status).toBe("needs_review");
  });

  test("a probe that is due is asked while the run is parked for something else, or paused", () => {
    const play = once();
    play.probe("a", "cannot_tell");
    play.pause();
    play.advance(21_500);
    expect(play.flying()).toEqual(["probe a"]);
  });

  test("a probe under way is not asked again", () => {
    const play = once();
    play.tick();
    expect(play.ordered).toEqual(["a", "probe a"]);
  });

  test("a probe that got lost with its worker is asked again", () => {
    const play = once();
    play.takeOver();
    expect(play.flying()).toEqual(["probe a"]);
  });
});

describe("absent", () => {
  test("is not believed when it was asked for before the deadline", () => {
    const play = once();
    play.advance(windowMs + 1);
    play.probe("a", "absent");
    expect(play.row("a").call.state).toBe("unknown");
  });

  test("is believed when it was asked for at the deadline", () => {
    const play = once();
    play.probe("a", "absent");
    play.advance(21_500);
    play.probe("a", "absent");
    play.advance(21_500);
    play.probe("a", "absent");
    expect(play.row("a").call).toMatchObject({ state: "planned", proof: "probe" });
    play.advance(1_000);
    expect(play.ordered.at(-1)).toBe("a");
    play.answer("a", ok());
    expect(play.status).toBe("completed");
  });

  test("after an interruption is followed by the call at once", () => {
    const play = new Play(line([call("a", { effect: "once", probe: true })]));
    play.takeOver();
    for (const wait of [21_500, 21_500, 0]) {
      play.probe("a", "absent");
      play.advance(wait);
    }
    expect([play.now, play.flying()]).toEqual([epochMs + windowMs, ["a"]]);
  });

  test("with no attempts left is a failure", () => {
    const play = once({ retry: { attempts: 1 } });
    play.probe("a", "cannot_tell");
    play.advance(windowMs);
    play.probe("a", "absent");
    play.advance(windowMs);
    play.probe("a", "absent");
    expect(play.row("a").call.state).toBe("not_applied");
    expect(play.status).toBe("failed");
  });

  test("keeps the operation id unless the step says otherwise", () => {
    const play = once();
    for (const wait of [21_500, 21_500, 1_000]) {
      play.probe("a", "absent");
      play.advance(wait);
    }
    expect(play.orders.at(-1)?.operationId).toBe("ns/default/r1/a/1");
  });

  test("gives the next attempt a fresh key where the step says so", () => {
    const play = once({ freshKeyAfterAbsent: true });
    for (const wait of [21_500, 21_500, 1_000]) {
      play.probe("a", "absent");
      play.advance(wait);
    }
    expect(play.orders.at(-1)?.operationId).toBe("ns/default/r1/a/1~2");
    expect(play.row("a").call).toMatchObject({ generation: 2, firstSentAt: play.now });
  });

  test("is proof for every send, so later ones are judged anew", () => {
    const play = new Play(line([call("a", { probe: true, retry: { attempts: 4 } })]));
    play.answer("a", timedOut());
    play.probe("a", "cannot_tell");
    play.advance(1_000);
    expect(play.row("a").call).toMatchObject({ state: "sent", doubtUntil: epochMs + windowMs });
    play.cancel(); // no repeat is wanted, so the other side is asked past the deadline
    play.answer("a", timedOut());
    play.probe("a", "absent");
    play.advance(windowMs / 2);
    play.probe("a", "absent");
    play.advance(windowMs / 2);
    play.probe("a", "absent");
    expect(play.row("a").call).toMatchObject({ state: "not_applied", doubtUntil: null, deadline: null });
  });
});

describe("happened", () => {
  test("is taken at any time, with its output", () => {
    const play = once();
    play.probe("a", "happened", { id: "seen" });
    expect(play.run.record.output).toEqual({ a: { id: "seen" } });
    expect(play.status).toBe("completed");
  });

  test("with an output that fits nothing is recorded and asks a person", () => {
    const play = once();
    play.probeUnusable("a");
    expect(play.row("a")).toMatchObject({ unusable: true, call: { state: "succeeded", proof: "probe" } });
    expect(play.review).toMatchObject({ reason: "defect", message: expect.stringContaining("not an object") });
  });

  test("without a word on why its output fits nothing asks all the same", () => {
    const play = once();
    const fact = { type: "probed", seq: 1, side: "action", answer: "happened", output: 7, unusable: true } as const;
    play.inFlight.clear();
    play.step({ ...fact, note: null });
    expect(play.review?.reason).toBe("defect");
  });
});

describe("an answer nobody waits for", () => {
  test("changes nothing once the outcome is known", () => {
    const play = once();
    play.late("a", 1, ok("late"));
    expect(play.status).toBe("completed");
    const { revision } = play.run.record;
    play.probe("a", "absent");
    expect(play.run.record.revision).toBe(revision);
  });

  test("changes nothing once the call was given up", () => {
    const play = new Play(line([call("a", { effect: "once", probe: true })]));
    play.answer("a", timedOut());
    for (const wait of [21_500, 21_500, 5_000, 25_000]) {
      play.probe("a", "cannot_tell");
      play.advance(wait);
    }
    play.probe("a", "cannot_tell");
    const { revision } = play.run.record;
    play.step({ type: "probed", seq: 1, side: "action", answer: "absent", output: null, unusable: false, note: null });
    expect(play.run.record.revision).toBe(revision);
  });

  test("about a compensation that is not owed changes nothing", () => {
    const play = once();
    const { revision } = play.run.record;
    play.step({ type: "probed", seq: 1, side: "undo", answer: "absent", output: null, unusable: false, note: null });
    expect(play.run.record.revision).toBe(revision);
  });
});

describe("a person's probe", () => {
  function parked(): Play {
    const play = once();
    for (const wait of [21_500, 21_500, 5_000, 25_000]) {
      play.probe("a", "cannot_tell");
      play.advance(wait);
    }
    play.probe("a", "cannot_tell");
    return play;
  }

  test("asks once more, and parks again under the next number when nobody can tell", () => {
    const play = parked();
    expect(play.review).toMatchObject({ n: 1, verbs: ["probe", "resolve", "compensate", "close"] });
    play.verb(probeNow);
    expect(play.flying()).toEqual(["probe a"]);
    play.probe("a", "cannot_tell");
    expect(play.review?.n).toBe(2);
  });

  test("is believed about an absence, since the deadline is long over", () => {
    const play = parked();
    play.verb(probeNow);
    play.probe("a", "absent");
    expect(play.row("a").call).toMatchObject({ state: "planned", proof: "probe" });
  });
});

test("what a person says is proof: resolved as absent, it is called again", () => {
  const play = new Play(line([call("a", { effect: "once" })]));
  play.answer("a", timedOut());
  play.verb(resolveAbsent);
  expect(play.flying()).toEqual(["a"]);
  expect(play.row("a").call).toMatchObject({ send: 2, attempt: 2 });
  play.answer("a", notApplied());
  expect(play.row("a").call.state).toBe("planned");
});

describe("a probe that answers when the call has moved on", () => {
  /** Interrupted, being asked about, and then the worker before says that it never called. */
  function resent(options: object = {}): Play {
    const play = new Play(line([call("a", { probe: true, ...options })]));
    play.takeOver();
    play.late("a", 1, notCalled());
    expect(play.flying()).toEqual(["probe a", "a"]);
    return play;
  }

  test("is evidence while the call is sent anew, and counts when that brings nothing", () => {
    const play = resent();
    play.probe("a", "happened", { id: "seen" });
    expect(play.row("a").call.state).toBe("sent");
    play.answer("a", notApplied());
    expect(play.row("a")).toMatchObject({ output: { id: "seen" }, call: { state: "succeeded" } });
    expect(play.status).toBe("completed");
  });

  test("is no second effect where it has seen the newest send", () => {
    const play = resent({ effect: "once" });
    play.probe("a", "happened", { id: "seen" });
    play.answer("a", ok("mine"));
    expect(play.status).toBe("completed");
  });

  test("is taken at once while the repeat is only planned", () => {
    const play = resent();
    play.answer("a", notApplied());
    play.probe("a", "happened", { id: "seen" });
    expect(play.status).toBe("completed");
  });

  test.each(["absent", "cannot_tell"] as const)("says nothing when it is %s", (answer) => {
    const play = resent();
    const before = play.row("a");
    play.probe("a", answer);
    expect(play.row("a")).toEqual(before);
  });
});
