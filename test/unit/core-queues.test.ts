/** Steps of named queues: offered, permitted, settled through the inbox, withdrawn while nobody has them. */
import { describe, expect, test } from "vitest";
import {
  close,
  defect,
  done,
  epochMs,
  notApplied,
  notCalled,
  ok,
  Play,
  refused,
  resolveHappened,
  timedOut,
} from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

function offered(options: object = {}): Play {
  const play = new Play(line([call("a", { queue: "gpu", ...options }), call("b")]));
  expect(play.offered).toEqual(["a"]);
  return play;
}

describe("an offer", () => {
  test("is not sent yet, and gives the run back until it is to be repeated", () => {
    const play = offered();
    expect(play.row("a").call).toMatchObject({
      state: "offered",
      attempt: 1,
      send: 1,
      sentAt: epochMs,
      firstSentAt: null,
      deadline: null,
    });
    expect(play.next).toMatchObject({ does: "released", due: epochMs + 5_000 });
    expect(play.ordered).toEqual([]);
  });

  test("is repeated under the same send, ever less often", () => {
    const play = offered();
    const times: number[] = [];
    for (let look = 0; look < 9; look += 1) {
      const before = play.offered.length;
      while (play.offered.length === before) play.advance(1_000);
      times.push(play.now - epochMs);
    }
    expect(times).toEqual([5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 620_000, 920_000]);
    expect(play.row("a").call.send).toBe(1);
  });

  test("is repeated at once by who takes over from a driver that may have died before adding the job", () => {
    const play = offered();
    play.takeOver();
    expect(play.offered).toEqual(["a", "a"]);
  });

  test("is not repeated by who just comes by", () => {
    const play = offered();
    play.acquire();
    expect(play.offered).toEqual(["a"]);
  });

  test("that is due and taken over is repeated once", () => {
    const play = offered();
    play.now += 5_000;
    play.takeOver();
    expect(play.offered).toEqual(["a", "a"]);
  });

  test("is repeated by a driver that holds the run for something else", () => {
    const machine = {
      type: "parallel",
      states: {
        left: { initial: "l", states: { l: { invoke: { src: "a", onDone: "d" } }, d: { type: "final" } } },
        right: { initial: "r", states: { r: { invoke: { src: "b", onDone: "d" } }, d: { type: "final" } } },
      },
    };
    const play = new Play(played(machine, [call("a", { queue: "gpu" }), call("b")]));
    expect(play.next).toMatchObject({ does: "hold", wanted: epochMs + 5_000 });
    play.advance(5_000);
    expect(play.offered).toEqual(["a", "a"]);
  });

  test("is not repeated for a step that has no queue any more", () => {
    const play = offered();
    play.machine = new Play(line([call("a"), call("b")]), { idle: true }).machine;
    play.takeOver();
    expect(play.offered).toEqual(["a"]);
  });

  test("is withdrawn by a cancel while nobody has it", () => {
    const play = offered();
    play.cancel();
    expect(play.last?.commit?.withdraw).toEqual([{ seq: 1, send: 1 }]);
    expect(play.row("a").call.state).toBe("withdrawn");
    expect(play.status).toBe("cancelled");
  });

  test("with an earlier send in doubt is withdrawn and found out", () => {
    const play = offered();
    play.permit("a");
    play.settle("a", timedOut());
    play.advance(1_000);
    play.cancel();
    expect(play.last?.commit?.withdraw).toEqual([{ seq: 1, send: 2 }]);
    expect(play.status).toBe("unwinding");
    expect(play.row("a").call.state).toBe("planned");
  });

  test("is withdrawn by closing", () => {
    const play = new Play(line([call("a", { queue: "gpu" })], { attributes: () => 7 }));
    play.verb(close);
    expect(play.last?.commit?.withdraw).toEqual([]);
    expect(play.row("a").call.state).toBe("withdrawn");
  });
});

describe("a permit", () => {
  test("means that it is sent, by the store's times", () => {
    const play = offered();
    play.permit("a");
    play.acquire();
    expect(play.row("a").call).toMatchObject({
      state: "sent",
      fence: null,
      firstSentAt: epochMs,
      deadline: epochMs + 43_000,
    });
    expect(play.next).toMatchObject({ does: "released", wanted: epochMs + 10_000 });
  });

  test("that lives leaves the call alone", () => {
    const play = offered();
    play.permit("a");
    play.acquire();
    play.takeOver();
    expect(play.row("a").call).toMatchObject({ state: "sent", send: 1 });
    expect(play.offered).toEqual(["a"]);
  });

  test("that is over makes it interrupted, judged by class, and goes", () => {
    const play = offered();
    play.permit("a");
    play.now += 10_001;
    play.acquire();
    expect(play.row("a").call).toMatchObject({
      state: "offered",
      attempt: 1,
      send: 2,
      interruptions: 0,
      doubtUntil: epochMs + 43_000,
    });
    expect(play.permits.size).toBe(0);
  });

  test("that is over, of a call that was given up meanwhile, goes all the same", () => {
    const play = offered({ effect: "once" });
    play.permit("a");
    play.cancel();
    play.advance(5_000);
    expect(play.row("a").call.state).toBe("unknown");
    expect(play.permits.size).toBe(1);
    play.now += 10_000;
    play.acquire();
    expect(play.permits.size).toBe(0);
  });

  test("of which the store knows nothing any more makes it interrupted", () => {
    const play = offered({ effect: "once" });
    play.permit("a");
    play.acquire();
    play.permits.clear();
    play.acquire();
    expect(play.review?.reason).toBe("unknown_outcome");
  });

  test("won before a cancel makes the commit decide again with the call as sent", () => {
    const play = offered();
    play.permit("a");
    play.now += 1_000;
    const { seq } = play.row("a");
    // The driver has not heard of the permit: it learns of it by the refusal of its commit.
    const permits = [...play.permits.values()];
    play.permits.clear();
    play.acquire();
    for (const permit of permits) play.permits.set(seq, permit);
    play.cancel();
    expect(play.row("a").call.state).toBe("sent");
    expect(play.last?.commit?.abortPermits).toEqual([1]);
    expect(play.aborted).toEqual(["action:1"]);
  });

  test("of another send, or of a row that is not there, changes nothing", () => {
    const play = offered();
    const permit = {
      seq: 1,
      send: 9,
      side: "action",
      token: "t",
      owner: "gpu",
      until: 0,
      sentAt: 0,
      deadline: 0,
      expired: false,
    } as const;
    play.step({ type: "permitted", permits: [permit, { ...permit, seq: 7 }] });
    expect(play.row("a").call.state).toBe("offered");
  });

  test("whose time is not known is looked after when the call's deadline is over", () => {
    const play = offered();
    play.permit("a");
    play.acquire();
    play.pause();
    expect(play.last?.wanted).toBe(epochMs + 10_000);
    play.permits.clear();
    const { deadline } = play.row("a").call;
    play.held = true;
    play.tick();
    expect(play.next).toMatchObject({ does: "release", wanted: deadline });
  });
});

describe("an answer through the inbox", () => {
  test("moves the machine, and the permit goes with it", () => {
    const play = offered();
    play.permit("a");
    play.settle("a", ok());
    expect(play.permits.size).toBe(0);
    expect(play.flying()).toEqual(["b"]);
  });

  test("that comes before the driver has heard of the permit is good", () => {
    const play = offered();
    play.settle("a", ok());
    expect(play.row("a").call).toMatchObject({ state: "succeeded", firstSentAt: epochMs });
  });

  test("that nobody knows leaves a doubt that is not over at once", () => {
    const play = offered({ effect: "once", probe: true });
    play.now += 3_000;
    play.settle("a", timedOut());
    expect(play.row("a").call).toMatchObject({ state: "unknown", firstSentAt: epochMs, deadline: epochMs + 46_000 });
  });

  test("that it was not called offers it again under the next send", () => {
    const play = offered();
    play.permit("a");
    play.settle("a", notCalled("the worker is stopping"));
    expect(play.row("a").call).toMatchObject({ state: "offered", send: 2, attempt: 1 });
    expect(play.offered).toEqual(["a", "a"]);
  });

  test("that it failed is tried again by policy, through the queue", () => {
    const play = offered();
    play.permit("a");
    play.settle("a", notApplied());
    play.advance(1_000);
    expect(play.row("a").call).toMatchObject({ state: "offered", send: 2, attempt: 2 });
  });

  test("of an older send leaves the newer one's permit alone", () => {
    const play = offered();
    play.permit("a");
    play.settle("a", notApplied());
    play.advance(1_000);
    play.permit("a");
    play.send("settle:1:1:again", { type: "settle", seq: 1, send: 1, side: "action", result: ok("old") });
    expect(play.permits.size).toBe(1);
    expect(play.row("a").call.evidence).toMatchObject({ send: 1 });
  });

  test("of a row that is not there is consumed", () => {
    const play = offered();
    play.send("settle:9:1", { type: "settle", seq: 9, send: 1, side: "action", result: ok() });
    expect(play.run.inbox).toEqual([]);
  });

  test("of a compensation that is not owed is consumed", () => {
    const play = offered();
    play.send("settle:1:1:undo", { type: "settle", seq: 1, send: 1, side: "undo", result: done });
    expect(play.row("a").call.state).toBe("offered");
  });

  test("that says it could not be made parks as a defect", () => {
    const play = offered();
    play.permit("a");
    play.settle("a", defect);
    expect(play.review?.reason).toBe("defect");
  });
});

describe("going back", () => {
  test("compensations and settling calls are made by the driver", () => {
    const play = offered();
    play.permit("a");
    play.settle("a", ok());
    play.answer("b", refused());
    expect(play.flying()).toEqual(["undo a"]);
  });

  test("a call by permit is waited for, then taken as unknown", () => {
    const play = offered({ effect: "once" });
    play.permit("a");
    play.acquire();
    play.cancel();
    expect(play.status).toBe("unwinding");
    play.advance(5_000);
    expect(play.review?.reason).toBe("unknown_outcome");
    play.verb(resolveHappened());
    play.answer("undo a", done);
    expect(play.status).toBe("cancelled");
  });

  test("closing tells the holder of a permit to stop", () => {
    const machine = {
      type: "parallel",
      states: {
        left: { initial: "l", states: { l: { invoke: { src: "a", onDone: "d" } }, d: { type: "final" } } },
        right: { initial: "r", states: { r: { invoke: { src: "b", onDone: "d" } }, d: { type: "final" } } },
        more: { initial: "m", states: { m: { invoke: { src: "c", onDone: "d" } }, d: { type: "final" } } },
      },
    };
    const steps = [call("a", { queue: "gpu" }), call("b", { effect: "once" }), call("c", { queue: "cpu" })];
    const play = new Play(played(machine, steps));
    play.permit("a");
    play.takeOver();
    expect(play.review?.reason).toBe("unknown_outcome");
    play.verb(close);
    expect(play.last?.commit).toMatchObject({ abortPermits: [1], withdraw: [{ seq: 3, send: 1 }] });
    expect(play.run.rows.map((row) => row.call.state)).toEqual(["unknown", "unknown", "withdrawn"]);
    expect(play.status).toBe("failed");
  });

  test("abandoned by permit it is aborted wherever it runs", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "end" }, on: { GO: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a", { queue: "gpu" })], { events: ["GO"] }));
    play.permit("a");
    play.acquire();
    play.event("GO");
    expect(play.last?.commit?.abortPermits).toEqual([1]);
    play.settle("a", ok());
    play.answer("undo a", done);
    expect(play.status).toBe("completed");
  });

  test("abandoned while it is offered it is withdrawn", () => {
    const machine = {
      initial: "one",
      states: { one: { invoke: { src: "a", onDone: "end" }, on: { GO: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a", { queue: "gpu" })], { events: ["GO"] }));
    play.event("GO");
    expect(play.row("a").call.state).toBe("withdrawn");
    expect(play.status).toBe("completed");
  });

  test("a word about a withdrawn offer that it happened after all is not lost", () => {
    const machine = {
      initial: "one",
      states: {
        one: { invoke: { src: "a", onDone: "two" }, on: { GO: "two" } },
        two: { invoke: { src: "b", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const play = new Play(played(machine, [call("a", { queue: "gpu" }), call("b")], { events: ["GO"] }));
    play.event("GO");
    play.late("a", 1, ok());
    expect(play.flying()).toEqual(["b", "undo a"]);
  });
});
