/** Trying again: when, under which key, and for how long a repeat is safe. */
import { describe, expect, test } from "vitest";
import { backoffMs, nextProbeAt, windowMs } from "../../src/core/calls/retry.ts";
import { epochMs, notApplied, notCalled, ok, Play, retry, settings, timedOut } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const policy = { attempts: 5, backoff: "exponential", initialMs: 200, maxMs: 30_000, jitter: false } as const;

describe("back-off", () => {
  test.each([
    ["fixed", [200, 200, 200, 200]],
    ["linear", [200, 400, 600, 800]],
    ["exponential", [200, 400, 800, 1_600]],
  ] as const)("%s grows like that", (backoff, delays) => {
    expect([1, 2, 3, 4].map((counted) => backoffMs({ ...policy, backoff }, counted, 0.5))).toEqual(delays);
  });

  test("never exceeds the policy's maximum, however often", () => {
    expect(backoffMs(policy, 1_000, 0.5)).toBe(30_000);
  });

  test("before anything was counted is the first delay", () => {
    expect(backoffMs(policy, 0, 0.5)).toBe(200);
  });

  test("full jitter draws evenly from nothing to all of it", () => {
    const jittered = { ...policy, jitter: true };
    expect([0, 0.25, 0.999].map((random) => backoffMs(jittered, 3, random))).toEqual([0, 200, 799]);
  });
});

test("a step may not be called later than the window after its grant", () => {
  const { spec } = call("a");
  expect(windowMs(settings, spec)).toBe(43_000);
});

test("a probe after the last one is never", () => {
  expect(nextProbeAt(5, 0, 0, false)).toBeNull();
});

test("the first probe is at once", () => {
  expect(nextProbeAt(0, 7, 1_000, true)).toBe(7);
});

describe("when", () => {
  test("a retry waits for its time", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", notApplied());
    play.advance(999);
    expect(play.ordered).toEqual(["a"]);
    play.advance(1);
    expect(play.ordered).toEqual(["a", "a"]);
  });

  test("what the other side asks for overrides the policy", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", notApplied({ retryAfterMs: 90_000 }));
    expect(play.row("a").call.nextAt).toBe(epochMs + 90_000);
  });

  test("a wait within reach of the driver keeps the lease, a longer one gives it back until then", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", notApplied());
    expect(play.next).toMatchObject({ does: "hold", wanted: epochMs + 1_000 });
    play.advance(1_000);
    play.answer("a", notApplied({ retryAfterMs: 5_000 }));
    expect(play.next).toMatchObject({ does: "released", due: epochMs + 6_000 });
  });

  test("the chance that comes in decides the jitter", () => {
    const play = new Play(line([call("a", { retry: { initial: "1s", max: "60s" } })]));
    play.random = 0.25;
    play.answer("a", notApplied());
    expect(play.row("a").call.nextAt).toBe(epochMs + 250);
  });
});

describe("a key that the other side forgets", () => {
  const keyed = {
    keyTtl: "60s",
    retry: { attempts: 9, backoff: "fixed", initial: "1s", max: "1s", jitter: false },
  } as const;

  test("is repeated while the call would end before that", () => {
    const play = new Play(line([call("a", keyed)]));
    play.now = epochMs + 48_999;
    play.answer("a", timedOut({ retryAfterMs: 0 }));
    expect(play.flying()).toEqual(["a"]);
  });

  test("is not repeated when the call could end after it: without a probe a person is asked", () => {
    const play = new Play(line([call("a", keyed)]));
    play.now = epochMs + 50_000;
    play.answer("a", timedOut({ retryAfterMs: 0 }));
    expect(play.review).toMatchObject({ reason: "unknown_outcome", verbs: ["resolve", "compensate", "close"] });
  });

  test("is judged by when the repeat would be made, not by when it is decided", () => {
    const play = new Play(line([call("a", { ...keyed, probe: true })]));
    play.answer("a", timedOut({ retryAfterMs: 55_000 }));
    expect(play.row("a").call).toMatchObject({ state: "unknown", nextAt: null });
  });

  test("that is known still, but not when the repeat is due: a person is asked, and the run does not turn round", () => {
    const play = new Play(line([call("a", keyed)]));
    play.answer("a", timedOut({ retryAfterMs: 55_000 }));
    expect([play.status, play.row("a").call.attempt]).toEqual(["needs_review", 1]);
    expect(play.review).toMatchObject({
      reason: "unknown_outcome",
      verbs: ["resolve", "retry", "compensate", "close"],
    });
  });

  test("expires while a repeat is planned: it is found out instead of repeated", () => {
    const play = new Play(line([call("a", keyed)]));
    play.answer("a", timedOut());
    play.pause();
    play.advance(3_600_000);
    play.resume();
    expect(play.ordered).toEqual(["a"]);
    expect(play.review?.reason).toBe("unknown_outcome");
  });

  test("expires while a person's retry is held up: the question comes again", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "end", onError: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a", { ...keyed, retry: { attempts: 1 } })]));
    play.answer("a", timedOut());
    play.pause();
    play.verb(retry());
    play.advance(3_600_000);
    play.resume();
    expect(play.ordered).toEqual(["a"]);
    expect(play.review).toMatchObject({
      n: 2,
      reason: "unknown_outcome",
      message: expect.stringContaining("no answer"),
    });
  });

  test("does not matter once every send was proven not applied", () => {
    const play = new Play(line([call("a", keyed)]));
    play.answer("a", notApplied({ retryAfterMs: 3_600_000 }));
    play.advance(3_600_000);
    expect(play.flying()).toEqual(["a"]);
  });

  test("counts from the first send", () => {
    const play = new Play(line([call("a", keyed)]));
    play.answer("a", timedOut());
    play.advance(1_000);
    play.now = epochMs + 50_000;
    play.answer("a", timedOut({ retryAfterMs: 0 }));
    expect(play.review?.reason).toBe("unknown_outcome");
  });
});

describe("a call that was not made", () => {
  test("is planned as if it had not been granted", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", notCalled());
    expect(play.row("a").call).toMatchObject({ state: "sent", attempt: 1, send: 2 });
    expect(play.taken()).toContainEqual({ what: "taken_back", seq: 1 });
  });

  test("for want of a durable store is tried a second later, and says so", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", notCalled("store_not_durable"));
    expect(play.row("a").call).toMatchObject({
      state: "planned",
      attempt: 0,
      nextAt: epochMs + 1_000,
      error: { code: "store_not_durable" },
    });
    expect(play.row("a").call).toMatchObject({ firstSentAt: null, firstSentRevision: null, sentAt: null });
  });

  test("leaves an earlier send in doubt as it was", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", timedOut());
    const { deadline } = play.row("a").call;
    play.advance(1_000);
    play.answer("a", notCalled("store_not_durable"));
    expect(play.row("a").call).toMatchObject({
      state: "planned",
      deadline: null,
      doubtUntil: deadline,
      firstSentAt: epochMs,
    });
  });
});

test("a once call waits for a durable store, others do not", () => {
  const play = new Play(line([call("a"), call("b", { effect: "once" })]));
  play.answer("a", ok());
  expect(play.orders.map((order) => order.barrier)).toEqual([false, true]);
});

test("the class only ever becomes stricter: a deployment that makes a keyed step once stops the repeats", () => {
  const play = new Play(line([call("a")]));
  play.answer("a", timedOut());
  play.machine = new Play(line([call("a", { effect: "once" })]), { idle: true }).machine;
  play.advance(1_000);
  expect(play.ordered).toEqual(["a"]);
  expect(play.review?.reason).toBe("unknown_outcome");
});

test("the class only ever becomes stricter: a deployment that makes a once step keyed does not allow repeats", () => {
  const play = new Play(line([call("a", { effect: "once" })]));
  play.machine = new Play(line([call("a")]), { idle: true }).machine;
  play.answer("a", timedOut());
  expect(play.review?.reason).toBe("unknown_outcome");
});

test("fail() of a call that has become once does not answer for the sends before", () => {
  const play = new Play(line([call("a", { retry: { attempts: 5 } })]));
  play.answer("a", timedOut({ retryAfterMs: 0 }));
  play.machine = new Play(line([call("a", { effect: "once" })]), { idle: true }).machine;
  play.answer("a", { kind: "not_applied", code: null, message: "no", final: true, reason: "fail", retryAfterMs: null });
  expect(play.row("a").call.state).toBe("unknown");
  expect(play.review?.reason).toBe("unknown_outcome");
});
