/** A log read as time: what the spans say is what the log says, and nothing that it does not. */
import { describe, expect, test } from "vitest";
import { explain, type LogEntry, type RunStatus, type Taken, timelineOf } from "../../src/core/index.ts";
import { compensate, notApplied, ok, Play, refused, timedOut } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";
import { aLogEntry, aRecord, aRow } from "../support/records.ts";

const t0 = 1_000;

/** A log by hand: at which second, what was taken, and by whom it was written. */
function logOf(
  ...entries: readonly (readonly [second: number, taken: readonly Taken[], by?: string, to?: RunStatus])[]
) {
  let fence = 0;
  let before = "";
  return entries.map(([second, taken, by = "a", to = "running"], at): LogEntry => {
    if (by !== before && by !== "client") fence += 1;
    before = by;
    const from = entries[at - 1]?.[3] ?? "running";
    return aLogEntry(at + 1, {
      at: t0 + second * 1_000,
      taken,
      actor: by,
      fence: by === "client" ? 0 : fence,
      from,
      to,
    });
  });
}

function read(log: readonly LogEntry[], rows = 1, endedAt: number | null = null) {
  const record = aRecord({ id: "r1", endedAt, createdAt: t0 });
  const ledger = Array.from({ length: rows }, (_, at) => aRow(at + 1, {}, { step: `s${at + 1}` }));
  return timelineOf({ namespace: "ns", record, rows: ledger, log, now: t0 + 60_000 });
}

/** Each span as `call#1 1-3 succeeded`, in seconds. */
function spansOf(log: readonly LogEntry[], rows = 1) {
  const seconds = (at: number | null) => (at === null ? "" : String((at - t0) / 1_000));
  return read(log, rows).rows.map(({ step, side, spans }) => [
    `${side} ${step}`,
    ...spans.map(({ kind, from, to, send, end }) => `${kind}#${send} ${seconds(from)}-${seconds(to)} ${end ?? "open"}`),
  ]);
}

const sent = { what: "sent", seq: 1 } as const;
const outcome = (is: "succeeded" | "not_applied" | "unknown", seq = 1, send = 1) =>
  ({ what: "outcome", seq, send, outcome: is, proof: "answer" }) as const;

describe("a row", () => {
  test("is one span where its call is answered, and open while it is not", () => {
    expect(spansOf(logOf([1, [sent]]))).toEqual([["action s1", "call#1 1- open"]]);
    expect(spansOf(logOf([1, [sent]], [3, [outcome("succeeded")]]))).toEqual([["action s1", "call#1 1-3 succeeded"]]);
  });

  test("that is tried again shows each attempt and what lies between", () => {
    const log = logOf(
      [1, [sent]],
      [2, [outcome("not_applied")]],
      [5, [sent]],
      [6, [outcome("unknown")]],
      [9, [outcome("succeeded")]],
    );
    expect(spansOf(log)).toEqual([
      ["action s1", "call#1 1-2 not_applied", "between#1 2-5 went_on", "call#2 5-6 unknown", "between#2 6-9 succeeded"],
    ]);
  });

  test("of which the machine is told in the same breath has nothing between", () => {
    const told = { what: "told", seq: 1, failure: null } as const;
    expect(spansOf(logOf([1, [sent]], [2, [outcome("not_applied"), told]]))).toEqual([
      ["action s1", "call#1 1-2 not_applied"],
    ]);
  });

  test("that lies in a queue, is taken back, or withdrawn says so", () => {
    const offered = { what: "offered", seq: 1 } as const;
    expect(
      spansOf(
        logOf([1, [offered]], [2, [sent]], [3, [{ what: "taken_back", seq: 1 }]], [4, [{ what: "withdrawn", seq: 1 }]]),
      ),
    ).toEqual([["action s1", "queue#0 1-2 went_on", "call#1 2-3 taken_back", "between#1 3-4 withdrawn"]]);
  });

  test("that asks people waits for them", () => {
    const approval = (state: "asking" | "approve" | "approved" | "rejected" | "expired") =>
      ({ what: "approval", seq: 1, n: 1, state }) as const;
    for (const end of ["approved", "rejected", "expired"] as const) {
      expect(spansOf(logOf([1, [approval("asking")]], [9, [approval("approve"), approval(end)]]))).toEqual([
        ["action s1", `people#0 1-9 ${end}`],
      ]);
    }
  });

  test("that is undone has a line of its own for that", () => {
    const undo = (state: "owed" | "sent" | "done" | "halted" | "kept") => ({ what: "undo", seq: 1, state }) as const;
    const start = [
      [1, [sent]],
      [2, [outcome("succeeded")]],
      [3, [undo("owed")]],
      [4, [undo("sent")]],
    ] as const;
    const action = ["action s1", "call#1 1-2 succeeded"];
    expect(spansOf(logOf(...start, [5, [undo("done")]]))).toEqual([action, ["undo s1", "call#1 4-5 succeeded"]]);
    expect(spansOf(logOf(...start, [5, [outcome("unknown")]], [7, [undo("halted"), undo("kept")]]))).toEqual([
      action,
      ["undo s1", "call#1 4-5 unknown", "between#1 5-7 halted"],
    ]);
  });

  test("remembers when the other side was asked", () => {
    const probed = { what: "probed", seq: 1, answer: "happened" } as const;
    const [row] = read(logOf([1, [sent]], [2, [probed]])).rows;
    expect(row).toMatchObject({ operationId: "ns/default/r1/s1/1", probes: [{ at: t0 + 2_000, answer: "happened" }] });
  });

  test("of which the ledger knows nothing is not shown, and whatever is open when the run ends is closed", () => {
    expect(read(logOf([1, [{ what: "sent", seq: 9 }]])).rows).toEqual([]);
    expect(spansOf(logOf([1, [sent]], [2, [outcome("unknown")]], [8, [{ what: "ended" }], "a", "failed"]))).toEqual([
      ["action s1", "call#1 1-2 unknown", "between#1 2-8 went_on"],
    ]);
  });
});

describe("the run", () => {
  test("stands so and so from one change of status to the next", () => {
    const log = logOf(
      [0, [{ what: "created" }], "client"],
      [1, [{ what: "begun" }], "a", "waiting"],
      [4, [{ what: "parked", note: "who knows" }], "a", "needs_review"],
      [6, [{ what: "ended" }], "a", "failed"],
    );
    const { stretches, marks, from, to, isOver, isWhole } = read(log, 1, t0 + 6_000);
    const seconds = (at: number | null) => (at === null ? null : (at - t0) / 1_000);
    expect(stretches.map((stretch) => [stretch.status, seconds(stretch.from), seconds(stretch.to)])).toEqual([
      ["running", 0, 1],
      ["waiting", 1, 4],
      ["needs_review", 4, 6],
      ["failed", 6, 6],
    ]);
    expect(marks).toMatchObject([{ what: "parked", at: t0 + 4_000, note: "who knows" }]);
    expect([seconds(from), seconds(to), isOver, isWhole]).toEqual([0, 6, true, true]);
  });

  test("of which only the newer part of the log is kept says so", () => {
    const [, ...rest] = logOf([0, [{ what: "created" }]], [1, [{ what: "parked" }], "a", "needs_review"]);
    expect(read(rest)).toMatchObject({
      isWhole: false,
      isOver: false,
      from: t0 + 1_000,
      to: t0 + 60_000,
      marks: [{ note: null }],
    });
    expect(read([])).toMatchObject({ isWhole: false, from: t0 });
    expect(read(logOf([0, [{ what: "created" }], "a", "needs_review"])).marks).toMatchObject([{ note: null }]);
  });

  test("goes from one worker to another, with or without a crash; when one died is not made up", () => {
    const log = logOf(
      [0, [{ what: "created" }], "client"],
      [1, [sent], "a"],
      [4, [{ what: "interrupted", seq: 1 }], "b"],
      [5, [sent], "c"],
    );
    expect(read(log).marks).toEqual([
      { what: "crash", at: t0 + 4_000, worker: "b", from: "a", heardAt: t0 + 1_000, note: null },
      { what: "hand_over", at: t0 + 4_000, worker: "b", from: "a", heardAt: t0 + 1_000, note: null },
      { what: "hand_over", at: t0 + 5_000, worker: "c", from: "b", heardAt: t0 + 4_000, note: null },
    ]);
    expect(spansOf(log)).toEqual([["action s1", "call#1 1-4 interrupted", "between#1 4-5 went_on", "call#2 5- open"]]);
    expect(read(logOf([1, [sent], "a"], [3, [{ what: "resumed" }], "b"])).marks.map(({ what }) => what)).toEqual([
      "crash",
      "hand_over",
    ]);
  });

  test("is marked where somebody or something has moved it", () => {
    const log = logOf(
      [1, [{ what: "event", id: "e", type: "GO", payload: null }]],
      [2, [{ what: "timer", id: "t1" }]],
      [3, [{ what: "verb", verb: "retry", review: 1, by: "ann", payload: null }]],
      [4, [{ what: "control", control: "pause", by: "bob", reason: "look" }]],
      [5, [{ what: "discarded", slot: "event:x" }]],
    );
    expect(read(log).marks.map(({ what, worker, note }) => [what, worker, note])).toEqual([
      ["event", null, "GO"],
      ["timer", null, "t1"],
      ["verb", "ann", "retry"],
      ["pause", "bob", "look"],
    ]);
  });

  test("as core writes it reads without a span that overlaps another one of its line", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", notApplied());
    play.advance(1_000);
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", ok());
    expect(play.status).toBe("failed");
    const { record, rows } = play.run;
    const told = timelineOf({ namespace: "ns", record, rows, log: play.log, now: play.now });
    expect(
      told.rows.map(({ step, side, spans }) => [step, side, spans.map(({ kind, end }) => `${kind} ${end}`)]),
    ).toEqual([
      ["a", "action", ["call not_applied", "between went_on", "call succeeded"]],
      ["b", "action", ["call not_applied"]],
      ["a", "undo", ["call succeeded"]],
    ]);
    for (const { spans } of told.rows) {
      for (const [at, span] of spans.entries()) expect(span.from).toBeGreaterThanOrEqual(spans[at - 1]?.to ?? 0);
    }
  });
});

describe("the three answers", () => {
  const explained = (play: Play) => {
    const { record, rows } = play.run;
    return explain({ namespace: "ns", record, rows, machine: play.machine, now: play.now });
  };

  test("of a run that has not begun, and of one that ended well: it stands at no call", () => {
    const later = explained(new Play(line([call("a")]), { startAt: 2_000_000 }));
    expect(later).toMatchObject({
      stoppedAt: { step: null, seq: null, side: null, attempt: null, since: null },
      lastAct: null,
    });
    const play = new Play(line([call("a")]));
    play.answer("a", ok());
    expect(explained(play)).toMatchObject({
      stoppedAt: { status: "completed", step: null, since: play.run.record.endedAt },
      lastAct: { step: "a", side: "action", known: "happened", operationId: "ns/default/r1/a/1" },
    });
  });

  test("of a parked run: the call that a person is asked about, and since when", () => {
    const play = new Play(line([call("read", { effect: "none" }), call("mail", { effect: "once" })]));
    play.answer("read", ok());
    play.answer("mail", timedOut());
    play.advance(60_000);
    expect(play.status).toBe("needs_review");
    expect(explained(play)).toMatchObject({
      stoppedAt: {
        step: "mail",
        seq: 2,
        side: "action",
        attempt: 1,
        review: "unknown_outcome",
        since: play.review?.since,
      },
      lastAct: { step: "mail", known: "may have happened" },
    });
  });

  test("of a run that is parked for no call: none is named", () => {
    const play = new Play(line([call("a", { effect: "none" })]));
    for (const _ of [1, 2, 3]) {
      play.held = false;
      play.acquire({ died: true });
    }
    const { stoppedAt, lastAct } = explained(play);
    expect([stoppedAt.review, lastAct]).toEqual(["poison", null]);
  });

  test("of a run that goes back: the compensation that is out; of one that failed: what it failed at", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    expect(explained(play)).toMatchObject({
      stoppedAt: { status: "unwinding", step: "a", side: "undo", attempt: 1 },
      lastAct: { step: "a", side: "undo", known: "under way" },
    });
    play.answer("undo a", ok());
    expect(explained(play).stoppedAt).toMatchObject({ status: "failed", step: "b", side: "action" });
  });

  test("of several that are out: the one that was sent last", () => {
    const both = played(
      {
        type: "parallel",
        states: Object.fromEntries(
          ["a", "b"].map((name) => [
            name,
            { initial: "on", states: { on: { invoke: { src: name, onDone: "off" } }, off: { type: "final" } } },
          ]),
        ),
      },
      [call("a"), call("b")],
    );
    const play = new Play(both);
    play.answer("a", notApplied());
    play.advance(1_000);
    expect(explained(play).stoppedAt).toMatchObject({ step: "a", attempt: 2 });
    expect(explained(play).lastAct).toMatchObject({ step: "a" });
  });

  test("of a halted unwind: the compensation that a person is asked about", () => {
    const play = new Play(line([call("a", { compensate: { effect: "once", retry: { attempts: 1 } } }), call("b")]));
    play.answer("a", ok());
    play.answer("b", refused());
    play.answer("undo a", refused());
    expect(explained(play).stoppedAt).toMatchObject({ status: "needs_review", step: "a", side: "undo" });
    expect(compensate.verb).toBe("compensate");
  });
});
