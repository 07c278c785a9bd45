/** Who may still send a call though its deadline is over: `absent` is not believed before they have spoken or are gone. */
import { describe, expect, test } from "vitest";
import {
  epochMs,
  notApplied,
  notCalled,
  ok,
  Play,
  probeNow,
  refused,
  resolveAbsent,
  resolveHappened,
  timedOut,
} from "../support/play.ts";
import { type CallOptions, call, line } from "../support/play-sagas.ts";

/** From the grant until nobody who is awake can make the outside apply it. */
const windowMs = 43_000;
const latenessMs = 30_000;

function begun(options: CallOptions = {}): Play {
  return new Play(line([call("a", { effect: "once", probe: true, ...options })]));
}

/** The process that was to make the call stands still, and its deadline has passed before another one has the run. */
function frozen(options: CallOptions = {}): Play {
  const play = begun(options);
  play.now += windowMs;
  play.freeze();
  return play;
}

function exhausted(play: Play, answer: "absent" | "cannot_tell" = "absent"): readonly number[] {
  const times: number[] = [];
  while (play.status !== "needs_review" && times.length < 9) {
    while (!play.flying().includes("probe a")) play.advance(100);
    times.push(play.now - epochMs);
    play.probe("a", answer);
  }
  return times;
}

describe("absent, while the process that had the run is not gone", () => {
  test("is not believed past the deadline either, and the log says who may still send it", () => {
    const play = frozen();
    play.probe("a", "absent");
    expect(play.row("a").call).toMatchObject({ state: "unknown", senders: [{ send: 1, owner: "w1" }] });
    expect(play.taken()).toContainEqual({
      what: "probed",
      seq: 1,
      answer: "absent",
      note: "w1 is not gone and has not said what became of it, so it may still be sent",
    });
  });

  test("waits for nobody where that process is known to have died, but for what it may have sent last", () => {
    const play = begun();
    play.takeOver({ died: true });
    expect(play.row("a").call).toMatchObject({ senders: [], deadline: epochMs + windowMs });
    const late = begun();
    late.now += 2 * windowMs; // it may have stood still before it died
    late.takeOver({ died: true });
    late.probe("a", "absent");
    expect(late.row("a").call).toMatchObject({ state: "unknown", senders: [], deadline: late.now + latenessMs + 1 });
  });

  test("is believed once it is gone and what it may have sent last had its time to arrive", () => {
    const play = frozen();
    play.probe("a", "absent");
    play.frozen.clear();
    play.advance(1_000);
    const goneAt = play.now;
    while (!play.flying().includes("a")) {
      if (play.flying().includes("probe a")) play.probe("a", "absent");
      else play.advance(500);
      expect(play.now).toBeLessThan(goneAt + 2 * latenessMs);
    }
    expect(play.now).toBeGreaterThan(goneAt + latenessMs);
    play.answer("a", ok());
    expect(play.status).toBe("completed");
  });

  test("is not believed because somebody else is gone", () => {
    const play = frozen();
    play.inFlight.clear();
    const fact = { type: "probed", seq: 1, side: "action", answer: "absent", output: null, unusable: false } as const;
    play.step({ ...fact, note: null, gone: ["w7"] });
    play.step({ ...fact, note: null });
    expect(play.row("a").call).toMatchObject({ state: "unknown", senders: [{ owner: "w1" }] });
  });

  test("says nothing of a repeat that is safe: it is made with the same key, and the first send stays in doubt", () => {
    const play = frozen({ effect: "keyed", freshKeyAfterAbsent: true });
    play.probe("a", "absent");
    expect(play.flying()).toEqual(["a"]);
    expect(play.row("a").call).toMatchObject({
      generation: 1,
      senders: [
        { send: 1, owner: "w1" },
        { send: 2, owner: "w2" },
      ],
    });
    play.freeze();
    play.probe("a", "absent");
    expect(play.taken()).toContainEqual(
      expect.objectContaining({ note: expect.stringContaining("w1 and w2 are not gone and have not said") }),
    );
  });

  test("is not believed of a compensation", () => {
    const compensate = { effect: "once", probe: true };
    const play = new Play(line([call("a", { compensate }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.now += windowMs;
    const owner = play.freeze();
    play.probe("undo a", "absent");
    expect(play.row("a").undo?.call).toMatchObject({ state: "unknown", senders: [{ send: 1, owner }] });
    play.late("a", 1, notCalled(), "undo");
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("is not believed of what the worker of a named queue was given, once its permit has run out", () => {
    const play = begun({ queue: "gpu" });
    play.permit("a");
    play.frozen.add("gpu");
    play.now += windowMs;
    play.acquire();
    play.probe("a", "absent");
    expect(play.row("a").call).toMatchObject({ state: "unknown", senders: [{ send: 1, owner: "gpu" }] });
    play.settle("a", ok());
    expect(play.status).toBe("completed");
  });
});

describe("a late word", () => {
  test("that the call was given up has the other side asked anew, and believed when nothing can arrive any more", () => {
    const play = frozen();
    play.probe("a", "absent");
    play.late("a", 1, timedOut());
    expect(play.flying()).toEqual(["probe a"]);
    play.probe("a", "absent"); // what left just before may be on its way
    expect(play.row("a").call.state).toBe("unknown");
    play.advance(latenessMs / 2 + 1);
    play.probe("a", "absent");
    play.advance(latenessMs / 2 - 1);
    expect([play.row("a").call.state, play.flying()]).toEqual(["unknown", []]);
    play.advance(1);
    play.probe("a", "absent");
    expect(play.flying()).toEqual(["a"]);
  });

  test("counts no answer to what was asked before it", () => {
    const play = frozen({ lateness: "0s" });
    play.late("a", 1, timedOut()); // while a probe is under way
    play.probe("a", "absent");
    expect(play.row("a").call.state).toBe("unknown");
  });

  test("that it happened, or was not called, settles it", () => {
    const made = frozen();
    made.late("a", 1, ok("late"));
    expect(made.run.record).toMatchObject({ status: "completed", output: { a: { id: "late" } } });
    const unmade = frozen();
    unmade.late("a", 1, notCalled());
    expect(unmade.flying()).toContain("a");
  });

  test("about one send leaves the other", () => {
    const play = begun({ effect: "keyed" });
    play.freeze();
    play.probe("a", "cannot_tell");
    play.freeze();
    play.late("a", 1, timedOut());
    expect(play.row("a").call.senders).toEqual([{ send: 2, owner: "w2" }]);
    play.late("a", 2, notApplied());
    expect(play.row("a").call.senders).toEqual([]);
  });
});

describe("a driver that answers", () => {
  test("stands there no more", () => {
    const play = begun();
    expect(play.row("a").call.senders).toEqual([{ send: 1, owner: "w1" }]);
    play.answer("a", timedOut());
    expect(play.row("a").call.senders).toEqual([]);
  });

  test("later than it should have (it stood still) is given the lateness from then on", () => {
    const play = begun();
    play.now += windowMs - 1_000;
    play.answer("a", timedOut());
    expect(play.row("a").call.deadline).toBe(play.now + latenessMs + 1);
  });

  test("has died, later than another one was frozen: that one still counts", () => {
    const play = frozen();
    play.takeOver({ died: true });
    play.probe("a", "absent");
    expect(play.row("a").call).toMatchObject({ state: "unknown", senders: [{ send: 1, owner: "w1" }] });
  });
});

test("nobody is remembered where no probe is asked", () => {
  for (const options of [{ probe: false }, { effect: "none" }] as const) {
    expect(begun({ ...options, compensate: true }).row("a").call.senders).toEqual([]);
  }
});

describe("probes", () => {
  test("are spread over most of a minute, so that who stands still for some seconds is outlasted", () => {
    const [first = 0, ...rest] = exhausted(frozen());
    expect(rest.map((at) => at - first)).toEqual([1_000, 6_000, 21_000, 51_000]);
  });

  test("come as they do without it where the deadline lies ahead", () => {
    const play = begun();
    play.freeze();
    expect(exhausted(play)).toEqual([0, 21_500, 43_000, 58_000, 88_000]);
  });

  test("used up ask a person, who is told who may still send it, and may ask again", () => {
    const play = frozen();
    exhausted(play);
    expect(play.review).toMatchObject({
      reason: "unknown_outcome",
      verbs: ["probe", "resolve", "compensate", "close"],
    });
    expect(play.review?.message).toContain("w1 is not gone and has not said what became of it");
    play.verb(probeNow);
    play.probe("a", "absent");
    expect(play.review?.n).toBe(2);
  });

  test("used up about a compensation say so, too", () => {
    const play = new Play(line([call("a", { compensate: { effect: "once", probe: true } }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.now += windowMs;
    const owner = play.freeze();
    while (play.status !== "needs_review") {
      if (play.flying().includes("probe undo a")) play.probe("undo a", "absent");
      else play.advance(500);
    }
    expect(play.review?.message).toContain(`${owner} is not gone`);
  });

  test("asked for by a person after the process has spoken count", () => {
    const play = frozen();
    exhausted(play);
    play.late("a", 1, timedOut());
    expect(play.status).toBe("needs_review");
    play.advance(latenessMs + 1);
    play.verb(probeNow);
    play.probe("a", "absent");
    expect(play.flying()).toEqual(["a"]);
  });
});

test("a person is believed, whoever may still send it", () => {
  for (const verb of [resolveAbsent, resolveHappened()]) {
    const play = frozen();
    exhausted(play);
    play.verb(verb);
    expect(play.review).toBeNull();
    const again = verb === resolveAbsent ? [{ send: 2, owner: `w${play.fence}` }] : [];
    expect(play.row("a").call.senders).toEqual(again);
  }
});
