import { describe, expect, test } from "vitest";
import { foldLog, isForgotten, type Remembered, type Run, recreated } from "../../src/core/index.ts";
import { notApplied, ok, Play, retry } from "../support/play.ts";
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

  test("a fence that the store gives out again does not make a call of the forgotten world this driver's own", () => {
    const { play, known } = rolledBack();
    find(play, known, play.fence);
    expect(play.row("c").call).toMatchObject({ state: "planned", error: { kind: "interrupted" } });
    play.verb(retry());
    expect(play.flying()).toEqual(["c"]);
  });

  test("its log says so, and is not read back over that", () => {
    const { play, known } = rolledBack();
    find(play, known);
    expect(play.taken()).toContainEqual({ what: "restored", note: "revision 4" });
    const steps = foldLog(play.machine, play.run, play.log);
    expect(steps.at(-1)?.problem).toBe("the store has forgotten what was before it");
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
    const other = rolledBack();
    find(other.play, { ...other.known, revision: 2, isDenied: true, run: { ...other.play.run } as Run });
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
  expect(record.knownTo).toBe(known.at);
  const earlier = { ...known, revision: record.revision + 5, at: known.at - 1, isDenied: true };
  expect(isForgotten(record, earlier)).toBe(false);
  expect(isForgotten(record, { ...earlier, at: known.at + 1 })).toBe(true);
  const { record: anew } = recreated(known, known.run as Run);
  expect(isForgotten(anew, earlier)).toBe(false);
  expect(isForgotten(anew, known)).toBe(true);
});

test("a run that is gone is created anew as it is remembered", () => {
  const { known } = rolledBack();
  const run = known.run as Run;
  const { record, rows, log } = recreated(known, run);
  expect(record).toMatchObject({ revision: 1, status: "running", seen: 0, logDigest: log.digest });
  expect(rows).toEqual(run.rows);
  expect(log).toMatchObject({ revision: 1, from: null, to: "running", at: run.record.createdAt });
  const ended = recreated(known, { ...run, record: { ...run.record, status: "completed", endedAt: 7 } });
  expect(ended).toMatchObject({
    log: { at: 7, to: "completed" },
    memberships: ["status:completed", "saga:line:completed"],
  });
  expect(isForgotten(ended.record, known)).toBe(false);
  expect(isForgotten(ended.record, { ...known, at: known.at + 1 })).toBe(true);
});
