import { describe, expect, test } from "vitest";
import { foldLog, isForgotten, type Remembered, type Row, type Run, recreated } from "../../src/core/index.ts";
import { epochMs, notApplied, ok, Play, refused, retry } from "../support/play.ts";
import { letItFinish } from "../support/play-happenings.ts";
import { call, line, played } from "../support/play-sagas.ts";

const saga = () => line([call("a"), call("b"), call("c")]);

/** What a worker remembers of the run as it is now. */
function remembered(play: Play, more: Partial<Remembered> = {}): Remembered {
  const { revision, logDigest } = play.run.record;
  return { revision, digest: logDigest, at: play.now, run: play.run, isDenied: false, ...more };
}

/** A store that stands where the run was before `b` was answered, and a worker that knows it up to `c`. */
function rolledBack(): { readonly play: Play; readonly known: Remembered } {
  const play = new Play(saga());
  play.answer("a", ok("a-1"));
  const old = play.run;
  const log = play.log.length;
  play.answer("b", ok("b-1"));
  const known = remembered(play);
  play.run = old;
  play.log.length = log;
  play.inFlight.clear();
  return { play, known };
}

function find(play: Play, known: Remembered, fence = play.fence + 1): void {
  play.fence = fence;
  play.step({ type: "acquired", takenFrom: null, permits: [], remembered: known });
}

describe("a store that knows less than a worker remembers", () => {
  test("the run is as it is remembered, parked, and what was sent then is not sent as if it never had been", () => {
    const { play, known } = rolledBack();
    find(play, known);
    expect(play.status).toBe("needs_review");
    expect(play.review).toMatchObject({
      reason: "store_rollback",
      verbs: ["retry", "compensate", "close"],
      evidence: { stored: 3, remembered: 4, restored: true },
    });
    expect(play.row("b")).toMatchObject({ call: { state: "succeeded" }, output: { id: "b-1" } });
    expect(play.row("c").call).toMatchObject({ state: "planned", error: { kind: "interrupted" } });
    expect(play.flying()).toEqual([]);
    play.verb(retry());
    expect(play.flying()).toEqual(["c"]);
    play.answer("c", ok());
    expect(play.status).toBe("completed");
    expect(play.ordered).toEqual(["a", "b", "c", "c"]);
  });

  test("who knows most brings back what was sent last, also where somebody who knew less came first and to the same revision", () => {
    const play = new Play(saga());
    const old = play.run;
    const log = play.log.length;
    play.answer("a", ok("a-1"));
    const less = remembered(play);
    play.answer("b", ok("b-1"));
    const more = remembered(play, { at: less.at + 1 });
    play.run = old;
    play.log.length = log;
    play.inFlight.clear();
    find(play, less);
    expect(play.run.record.revision).toBe(more.revision);
    expect(isForgotten(play.run.record, more)).toBe(true);
    find(play, more);
    expect(play.review).toMatchObject({ reason: "store_rollback", evidence: { restored: true } });
    expect(play.row("b")).toMatchObject({ call: { state: "succeeded" }, output: { id: "b-1" } });
    expect(play.row("c").call).toMatchObject({ state: "planned", error: { kind: "interrupted" } });
  });

  test("a fence that the store gives out again does not make a call of the forgotten world this driver's own", () => {
    const { play, known } = rolledBack();
    find(play, known, play.fence);
    expect(play.row("c").call).toMatchObject({ state: "planned", error: { kind: "interrupted" } });
    play.verb(retry());
    expect(play.flying()).toEqual(["c"]);
  });

  test("its log says so, goes on above what is remembered, and is read back from there", () => {
    const { play, known } = rolledBack();
    find(play, known);
    expect(play.run.record.revision).toBe(known.revision + 1);
    expect(play.log.map(({ revision }) => revision)).toEqual([1, 2, 3, 4, 5]);
    expect(play.log[3]).toMatchObject({ taken: [{ what: "forgotten" }], digest: play.log[2]?.digest });
    expect(play.taken()).toContainEqual(expect.objectContaining({ what: "restored", note: "revision 4" }));
    play.verb(retry());
    play.answer("c", ok());
    const steps = foldLog(play.machine, play.run, play.log);
    expect(steps.map(({ problem }) => problem)).toEqual(steps.map(() => null));
    expect(steps.at(-1)).toMatchObject({ revision: play.run.record.revision, snapshot: play.run.record.snapshot });
    const forged = play.log.map((entry, at) => (at === 3 ? { ...entry, digest: "another" } : entry));
    expect(foldLog(play.machine, play.run, forged)[0]?.problem).toBe("it does not follow the entry before");
  });

  test("what was done after it comes later in the order of effects than what is remembered", () => {
    const { play, known } = rolledBack();
    find(play, known);
    play.verb(retry());
    play.answer("c", ok());
    const order = play.run.rows.map(({ call }) => call.firstSentRevision as number);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(new Set(order).size).toBe(order.length);
  });

  test("what the store knows of calls beyond what is remembered stays: it is no less outside", () => {
    const { play, known } = rolledBack();
    // Somebody has driven it from where the store was, and there its call was sent twice, and a row was asked for that is not remembered.
    const [a, b] = play.run.rows as [Row, Row];
    const again: Row = { ...b, call: { ...b.call, state: "unknown", send: 2, attempt: 2, probeAt: null } };
    const more: Row = { ...b, seq: 3, occurrence: 2, call: { ...b.call, state: "unknown", probeAt: null } };
    play.run = { ...play.run, record: { ...play.run.record, rows: 3 }, rows: [a, again, more] };
    find(play, known);
    expect(play.run.rows.map(({ step, occurrence }) => `${step}/${occurrence}`)).toEqual(["a/1", "b/1", "c/1", "b/2"]);
    expect(play.run.record.rows).toBe(4);
    expect(play.row("b").call).toMatchObject({ state: "succeeded", send: 2 });
    expect(play.row("b", 2)).toMatchObject({ abandoned: true, call: { firstSentAt: b.call.firstSentAt } });
    expect(play.run.record.open).toContain(4);
  });

  test("what one of the forgotten commits had taken from the inbox is not taken again, what came since is", () => {
    const machine = {
      initial: "hold",
      states: { hold: { on: { GO: "work" } }, work: { invoke: { src: "a", onDone: "hold" } } },
    };
    const play = new Play(played(machine, [call("a")], { events: ["GO", "LATER"] }));
    const old = play.run;
    const log = play.log.length;
    play.event("GO", {}, "first");
    const waiting = { slot: "event:waiting", position: 3, commandId: "m3", at: play.now, by: "ops" } as const;
    const early = { ...waiting, body: { type: "event", event: "LATER", payload: {} } as const };
    const known = remembered(play, { run: { ...play.run, inbox: [early] } });
    const first = { slot: "event:first", commandId: "m1", at: play.now, by: "ops" } as const;
    const body = { type: "event", event: "GO", payload: {} } as const;
    play.advance(1_000);
    const late = { ...first, slot: "event:late", position: 2, commandId: "m9", at: play.now, body };
    play.run = { ...old, inbox: [{ ...first, position: 1, body }, late, early] };
    play.log.length = log;
    play.inFlight.clear();
    find(play, known);
    expect(play.run.inbox.map(({ slot }) => slot)).toEqual(["event:late", "event:waiting"]);
    expect(play.run.record.snapshot?.value).toBe("work");
  });

  test("not remembered whole, or known to be another one, it is parked as the store has it", () => {
    const { play, known } = rolledBack();
    find(play, { ...known, run: null });
    expect(play.review).toMatchObject({ reason: "store_rollback", evidence: { restored: false } });
    expect(play.run.rows.map(({ step }) => step)).toEqual(["a", "b"]);
    expect(play.run.record.revision).toBe(known.revision + 1);
    const steps = foldLog(play.machine, play.run, play.log);
    expect(steps.map(({ problem }) => problem)).toEqual(steps.map(() => null));
    const forged = play.log.map((entry, at) => (at === 3 ? { ...entry, digest: "another" } : entry));
    expect(foldLog(play.machine, play.run, forged).at(-1)?.problem).toContain("stands for what is forgotten");
    const other = rolledBack();
    find(other.play, { ...other.known, revision: 2, isDenied: true, run: null });
    expect(other.play.review?.evidence).toEqual({ stored: 3, remembered: 2, restored: false });
  });

  test("a question that was open in it is put again after this one", () => {
    const play = new Play(line([call("a", { onExhausted: "review", retry: { attempts: 1 } })]));
    const old = play.run;
    const log = play.log.length;
    play.answer("a", notApplied());
    const known = remembered(play);
    play.run = old;
    play.log.length = log;
    play.inFlight.clear();
    find(play, known);
    expect(play.review).toMatchObject({ n: 2, reason: "store_rollback" });
    play.verb(retry());
    expect(play.review).toMatchObject({ n: 3, reason: "exhausted" });
  });
});

describe("a run that has gone on in another way than is remembered", () => {
  /** The run as it is now, to come back to. */
  function standOf({ run, log }: Play) {
    return { run, log: [...log] };
  }

  function goBack(play: Play, { run, log }: ReturnType<typeof standOf>): void {
    play.becomes(run, log);
    play.advance(1_000);
  }

  test("that a person has let go on is gone on with, and what somebody else knows to have happened is not made again", () => {
    const play = new Play(saga());
    const old = standOf(play);
    play.answer("a", ok("a-1"));
    const less = remembered(play);
    play.advance(1_000);
    play.answer("b", ok("b-1"));
    const more = remembered(play, { isDenied: true });
    goBack(play, old);
    play.remembers({ ...less, isDenied: true });
    play.verb(retry());
    play.answer("b", notApplied());
    const { snapshot, revision } = play.run.record;
    play.remembers(more);
    expect(play.review).toMatchObject({ reason: "store_rollback", evidence: { stored: revision, restored: true } });
    expect(play.review?.message).toContain("it has gone on from there in another way");
    expect(play.run.record).toMatchObject({ snapshot, knownTo: { at: more.at, revision: more.revision } });
    expect(play.row("b")).toMatchObject({ call: { state: "succeeded" }, output: { id: "b-1" }, abandoned: false });
    expect(play.row("c")).toMatchObject({ abandoned: true, told: "nothing" });
    play.verb(retry());
    letItFinish(play);
    expect(play.status).toBe("completed");
    expect(play.row("c")).toMatchObject({ call: { state: "succeeded" }, undo: { state: "done" } });
    expect(play.row("c", 2)).toMatchObject({ call: { state: "succeeded" }, undo: null });
    expect(play.ordered.filter((name) => name === "b")).toHaveLength(2);
  });

  test("that goes back undoes also what only somebody else knows to have happened", () => {
    const play = new Play(saga());
    play.answer("a", ok());
    const old = standOf(play);
    play.answer("b", ok("b-1"));
    const known = remembered(play, { isDenied: true });
    goBack(play, old);
    play.acquire();
    play.cancel();
    play.answer("b", refused());
    expect(play.row("b")).toMatchObject({ call: { state: "not_applied" }, undo: { state: "not_needed" } });
    play.remembers(known);
    expect(play.run.record.unwind).not.toBeNull();
    expect(play.row("b")).toMatchObject({ call: { state: "succeeded" }, undo: null });
    // What was sent of `c` is remembered too.
    expect(play.row("c")).toMatchObject({ abandoned: true, call: { firstSentAt: expect.any(Number) } });
    play.verb(retry());
    letItFinish(play);
    expect(play.status).toBe("cancelled");
    expect(play.run.rows.map(({ step, undo }) => `${step} ${undo?.state}`)).toEqual(["a done", "b done", "c done"]);
  });

  test("whose machine was told that nothing was there has that undone", () => {
    const machine = {
      initial: "work",
      states: {
        work: { invoke: { src: "a", onDone: "end", onError: "more" } },
        more: { invoke: { src: "b", onDone: "end" } },
      },
    };
    const play = new Play(
      played({ ...machine, states: { ...machine.states, end: { type: "final" } } }, [call("a"), call("b")]),
    );
    const old = standOf(play);
    play.answer("a", ok("a-1"));
    const known = remembered(play, { isDenied: true });
    goBack(play, old);
    play.acquire();
    play.advance(100_000);
    play.answer("a", refused());
    expect(play.flying()).toEqual(["b"]);
    play.remembers(known);
    expect(play.row("a")).toMatchObject({ call: { state: "succeeded" }, told: "failure", abandoned: true });
    play.verb(retry());
    letItFinish(play);
    expect(play.row("a")).toMatchObject({ undo: { state: "done" } });
    expect(play.row("b")).toMatchObject({ call: { state: "succeeded" }, undo: null });
  });

  test("a send that the store knows nothing of may have happened, whatever another one has come to", () => {
    const play = new Play(line([call("a", { effect: "once", probe: true }), call("b")]), { startAt: epochMs + 1_000 });
    const old = standOf(play);
    play.advance(1_000);
    const known = remembered(play, { isDenied: true });
    expect(play.flying()).toEqual(["a"]);
    play.now += 500;
    goBack(play, old);
    play.answer("a", refused());
    expect(play.row("a").call.state).toBe("not_applied");
    play.remembers(known);
    expect(play.row("a").call.state).toBe("unknown");
  });

  test("where a repeat was to come that nobody waits for, it does not come", () => {
    const play = new Play(saga());
    const old = standOf(play);
    play.answer("a", notApplied());
    const known = remembered(play, { isDenied: true });
    expect(play.row("a").call.state).toBe("planned");
    play.becomes(old.run, old.log);
    play.cancel("enough", "kill");
    expect(play.row("a")).toMatchObject({ call: { state: "unknown" }, undo: { state: "accepted" } });
    play.remembers(known);
    expect(play.row("a")).toMatchObject({ call: { state: "not_applied" }, undo: { state: "accepted" } });
    play.verb(retry());
    expect(play.status).toBe("cancelled");
  });

  test("what either has used of a budget is used", () => {
    const play = new Play(line([call("a"), call("b")], { budget: { money: { soft: 50, hard: 90 } } }));
    const old = standOf(play);
    play.spend("a", { money: 7 }, "k");
    const known = remembered(play, { isDenied: true });
    play.becomes(old.run, old.log);
    play.remembers(known);
    expect(play.run.record.budgets["money"]).toMatchObject({ used: 7 });
    expect(play.row("a").spent).toHaveLength(1);
  });
});

test("it is told by revision, by digest, and by what the log says", () => {
  const { play, known } = rolledBack();
  const { record } = play.run;
  expect(isForgotten(record, known)).toBe(true);
  const same = { ...known, revision: record.revision, digest: record.logDigest };
  expect(isForgotten(record, same)).toBe(false);
  expect(isForgotten(record, { ...same, digest: "another" })).toBe(true);
  expect(isForgotten(record, { ...same, revision: 1, digest: "older" })).toBe(false);
  expect(isForgotten(record, { ...same, revision: 1, isDenied: true })).toBe(true);
});

test("what came back is not replaced by what somebody knew earlier, whatever its revision is called", () => {
  const { play, known } = rolledBack();
  find(play, known);
  const { record } = play.run;
  expect(record.knownTo).toEqual({ at: known.at, revision: known.revision, as: record.revision });
  const earlier = { ...known, at: known.at - 1, revision: known.revision - 1, isDenied: true };
  expect(isForgotten(record, earlier)).toBe(false);
  expect(isForgotten(record, { ...earlier, at: known.at + 1 })).toBe(true);
  // Two commits of one millisecond; a commit of the world that goes on, whose clock is behind.
  expect(isForgotten(record, { ...known, revision: known.revision + 1, isDenied: true })).toBe(true);
  expect(isForgotten(record, { ...earlier, revision: record.revision + 1 })).toBe(true);
  const { record: anew } = recreated(known, known.run as Run);
  expect(isForgotten(anew, earlier)).toBe(false);
  expect(isForgotten(anew, known)).toBe(true);
});

test("a run that is gone is created anew as it is remembered", () => {
  const { known } = rolledBack();
  const run = known.run as Run;
  const { record, rows, log } = recreated(known, run);
  expect(record).toMatchObject({ revision: 3, logFrom: 3, status: "running", seen: 0, logDigest: log.digest });
  expect(rows).toEqual(run.rows);
  expect(isForgotten(record, known)).toBe(true);
  expect(log).toMatchObject({ revision: 3, from: null, to: "running", at: run.record.createdAt });
  const ended = recreated(known, { ...run, record: { ...run.record, status: "completed", endedAt: 7 } });
  expect(ended).toMatchObject({
    log: { at: 7, to: "completed" },
    memberships: ["status:completed", "saga:line:completed"],
  });
  expect(isForgotten(ended.record, known)).toBe(false);
  expect(ended.record.revision).toBe(known.revision + 1);
  expect(isForgotten(ended.record, { ...known, revision: 6, at: known.at + 1 })).toBe(true);
});
