import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  childRef,
  explain,
  fork,
  isChildOf,
  momentBefore,
  ofMissing,
  planOf,
  type RowChild,
  type RunRecord,
  requestTo,
  startChild,
  unwindPreview,
  wordToParent,
} from "../../src/core/index.ts";
import { child, type Saga, type Step, saga } from "../../src/saga/index.ts";
import { close, done, ok, Play, refused, retry, skip } from "../support/play.ts";
import {
  audited,
  completed,
  failedClean,
  failedInPart,
  found,
  goneBack,
  ordered,
  parked,
  running,
} from "../support/play-children.ts";
import { call, line, played } from "../support/play-sagas.ts";

const pending = { isPending: true, asked: "cancel" } as const;

/** `order`, a child, then `ship`. */
function ordering(): Play {
  return new Play(line([ordered, call("ship")]));
}
/** Its child runs, and nobody has the lease. */
function waiting(): Play {
  const play = ordering();
  play.looks("order", running);
  return play;
}
/** The child has completed, and the run goes back because of `ship`. */
function goingBack(): Play {
  const play = ordering();
  play.looks("order", completed);
  play.answer("ship", refused());
  return play;
}

describe("a child", () => {
  test("is waited for without a lease, and its result is the step's", () => {
    const play = waiting();
    expect([play.held, play.status, play.run.record.waitingFor, play.due]).toEqual([
      false,
      "waiting",
      "child",
      play.now + 5_000,
    ]);
    expect(play.row("order")).toMatchObject({ call: { attempt: 0 }, child: { run: "r1.1", status: "running" } });
    play.moved("order");
    play.looks("order", completed);
    play.answer("ship", ok());
    expect([play.status, play.run.record.output]).toEqual(["completed", { order: { id: "paid" }, ship: { id: "x" } }]);
  });

  test("is looked at by itself, ever less often", () => {
    const play = waiting();
    const gaps: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      const from = play.now;
      play.advance((play.due ?? 0) - play.now);
      gaps.push(play.now - from);
      play.looks("order", found("running", { revision: 2 + n }));
    }
    expect(gaps).toEqual([5_000, 5_000, 10_000, 20_000, 40_000, 60_000]);
    expect(play.row("order").call).toMatchObject({ attempt: 0, send: 7 });
  });

  test("that cannot be reached is looked at again, which is no attempt", () => {
    const play = ordering();
    for (let n = 0; n < 20; n += 1) {
      play.looks("order", { is: "unreached", why: "the store is away" });
      play.advance(1_000);
    }
    expect(play.row("order").call).toMatchObject({ attempt: 1, send: 21 });
    play.looks("order", running);
    expect(play.status).toBe("waiting");
  });

  test("that says it has moved while it is looked at is looked at once more", () => {
    const play = ordering();
    play.moved("order");
    expect(play.ordered).toEqual(["order"]);
    play.looks("order", running);
    expect(play.ordered).toEqual(["order", "order"]);
    play.looks("order", completed);
    play.moved("order");
    play.moved("ship");
    expect(play.flying()).toEqual(["ship"]);
  });

  test("that is parked does not park its parent, which knows why", () => {
    const play = ordering();
    play.looks("order", parked);
    expect([play.status, play.review]).toEqual(["waiting", null]);
    expect(play.row("order").child).toMatchObject({ status: "needs_review", why: "pay may have happened" });
    expect(play.taken()).toContainEqual({ what: "child", seq: 1, status: "needs_review" });
  });

  test("is taken over by the next driver, whatever the one before was doing", () => {
    const play = ordering();
    play.takeOver();
    play.looks("order", running);
    play.moved("order");
    play.takeOver();
    play.looks("order", completed);
    expect(play.flying()).toEqual(["ship"]);
    expect(play.row("order").call.attempt).toBe(1);
  });

  test("is asked again however often the worker dies over it; too often in a row, and the run is parked", () => {
    const play = ordering();
    for (let death = 0; death < 2; death += 1) play.takeOver();
    expect([play.flying(), play.run.record.interruptions]).toEqual([["order"], 2]);
    play.looks("order", running);
    expect([play.run.record.interruptions, play.row("order").call.interruptions]).toEqual([0, 0]);
    play.moved("order");
    for (let death = 0; death < 3; death += 1) play.takeOver();
    expect(play.review).toMatchObject({ reason: "poison", seq: null });
    play.verb(retry());
    play.looks("order", completed);
    expect(play.flying()).toEqual(["ship"]);
  });

  test("of which a request comes back that was given up says nothing", () => {
    const play = waiting();
    const before = play.run;
    play.acquire();
    play.step({ type: "child", seq: 1, send: 1, side: "action", seen: failedClean });
    play.step({ type: "child", seq: 9, send: 1, side: "action", seen: failedClean });
    play.step({ type: "child", seq: 1, send: 1, side: "undo", seen: failedClean });
    expect(play.row("order")).toEqual(before.rows[0]);
    play.moved("order");
    play.step({ type: "child", seq: 1, send: 1, side: "action", seen: failedClean });
    expect(play.flying()).toEqual(["order"]);
    play.send("child:99.1", { type: "child", seq: 99, run: "r1.99" });
    expect(play.run.inbox).toEqual([]);
  });
});

describe("a child that does not come to a good end", () => {
  test("and has left nothing is a failure of the step, which names it", () => {
    const play = ordering();
    play.looks("order", failedClean);
    expect(play.status).toBe("failed");
    expect(play.rollback).toBe("not_applicable");
    expect(play.row("order").call).toMatchObject({
      state: "not_applied",
      error: {
        kind: "child",
        code: "step_failed",
        message: expect.stringContaining("run r1.1 ended failed (declined)"),
      },
    });
  });

  test("is told to the machine's onError, which may go on without it", () => {
    const invoke = { src: "order", input: {}, onDone: "done", onError: "without" };
    const states = { ordering: { invoke }, without: { type: "final" }, done: { type: "final" } };
    const play = new Play(played({ initial: "ordering", states }, [ordered]));
    play.looks("order", found("cancelled", { rollback: "not_applicable" }));
    expect([play.status, play.run.record.snapshot?.value]).toEqual(["completed", "without"]);
  });

  test("and has left something is asked to undo that, and never called undone before it has", () => {
    const play = ordering();
    play.looks("order", failedInPart);
    expect([play.status, play.flying()]).toEqual(["unwinding", ["undo order"]]);
    play.looks("undo order", { ...failedInPart, asked: "undo", isPending: true });
    play.moved("order");
    play.looks("undo order", goneBack);
    expect([play.status, play.rollback]).toEqual(["failed", "complete"]);
  });

  test("and has left something is put to a person where an onError would run over it", () => {
    const invoke = { src: "order", input: {}, onDone: "done", onError: "without" };
    const states = { ordering: { invoke }, without: { type: "final" }, done: { type: "final" } };
    const play = new Play(played({ initial: "ordering", states }, [ordered]));
    play.looks("order", failedInPart);
    expect(play.review).toMatchObject({
      reason: "unknown_outcome",
      message: expect.stringContaining("stands, or may"),
    });
    // Somebody has seen to it meanwhile.
    play.verb(retry());
    play.looks("order", goneBack);
    expect(play.run.record.snapshot?.value).toBe("without");
  });

  test("is started anew, under another id, when a person has it tried again", () => {
    const pivot = call("pivot", { pivot: true });
    const play = new Play(line([pivot, ordered]));
    play.answer("pivot", ok());
    play.looks("order", failedClean);
    expect(play.review?.reason).toBe("after_pivot");
    play.verb(retry());
    const row = play.row("order");
    expect([row.child, childRef(play.run.record, row)]).toEqual([null, { tenant: "default", id: "r1.2-2" }]);
    play.looks("order", completed);
    expect(play.status).toBe("completed");
  });

  test("a run that has its id and was not started by it is put to a person, and nothing of it is taken over", () => {
    const play = ordering();
    play.looks("order", { is: "foreign", run: "r1.1" });
    expect(play.review).toMatchObject({ reason: "defect", message: expect.stringContaining("there is a run r1.1") });
    expect(play.row("order").child).toBeNull();
    play.verb(retry());
    play.looks("order", { is: "foreign", run: "r1.1" });
    play.cancel();
    expect([play.status, play.rollback]).toEqual(["cancelled", "not_applicable"]);
  });
});

describe("going back", () => {
  test("a child that has completed is asked to undo that, and its end is waited for without a lease", () => {
    const play = goingBack();
    play.moved("order");
    expect(play.ordered.filter((name) => name === "undo order")).toHaveLength(1);
    play.looks("undo order", { ...completed, asked: "undo", isPending: true });
    play.looks("undo order", { ...completed, asked: "undo", isPending: true });
    expect([play.held, play.status, play.row("order").undo?.call?.attempt]).toEqual([false, "unwinding", 0]);
    play.moved("order");
    play.looks("undo order", found("unwinding", { asked: "cancel" }));
    play.moved("order");
    play.looks("undo order", goneBack);
    expect([play.status, play.rollback]).toEqual(["failed", "complete"]);
  });

  test("a child that runs is cancelled, and never forgotten", () => {
    const play = waiting();
    play.cancel();
    expect([play.status, play.flying()]).toEqual(["unwinding", ["undo order"]]);
    play.looks("undo order", { ...running, ...pending });
    play.moved("order");
    play.looks("undo order", goneBack);
    expect([play.status, play.rollback]).toEqual(["cancelled", "complete"]);
  });

  test("a child that was being started when the cancel came is cancelled as well", () => {
    const play = ordering();
    play.cancel();
    play.looks("order", running);
    expect(play.flying()).toEqual(["undo order"]);
    play.looks("undo order", goneBack);
    expect(play.status).toBe("cancelled");
  });

  test("a child that may have been started when its worker died is cancelled as well", () => {
    const play = ordering();
    play.cancel();
    play.takeOver();
    expect(play.flying()).toEqual(["undo order"]);
    play.looks("undo order", found("cancelled", { rollback: "not_applicable" }));
    expect(play.status).toBe("cancelled");
  });

  test("a child that has completed while it was cancelled is asked to undo that", () => {
    const play = waiting();
    play.cancel();
    play.looks("undo order", { ...completed, asked: "cancel" });
    expect(play.flying()).toEqual(["undo order"]);
    play.looks("undo order", { ...completed, asked: "undo", isPending: true });
    expect(play.status).toBe("unwinding");
  });

  test("a child that refuses halts it, and is named", () => {
    const play = goingBack();
    play.looks("undo order", { ...completed, asked: "undo" });
    expect([play.status, play.rollback]).toEqual(["needs_review", "halted"]);
    expect(play.review).toMatchObject({ reason: "halted", message: expect.stringContaining("run r1.1 has completed") });
    play.verb(skip);
    expect([play.status, play.rollback]).toEqual(["failed", "partial"]);
  });

  test("a child that is parked halts it, and goes on by itself when the child does", () => {
    const play = goingBack();
    play.looks("undo order", { ...parked, asked: "cancel" });
    expect(play.review).toMatchObject({ reason: "halted", message: expect.stringContaining("pay may have happened") });
    play.moved("order");
    expect([play.review, play.flying()]).toEqual([null, ["undo order"]]);
    play.looks("undo order", goneBack);
    expect([play.status, play.rollback]).toEqual(["failed", "complete"]);
  });

  test("a child that has left something for good halts it", () => {
    const play = goingBack();
    play.looks("undo order", found("cancelled", { rollback: "partial" }));
    expect(play.review?.message).toContain("what it did stands, or may, in part");
    play.moved("ship");
    play.verb(close);
    expect([play.status, play.rollback]).toEqual(["failed", "partial"]);
  });

  test("an ended run is undone with what it has started", () => {
    const play = ordering();
    play.looks("order", completed);
    play.answer("ship", ok());
    play.undo();
    play.answer("undo ship", done);
    expect(play.flying()).toEqual(["undo order"]);
    play.looks("undo order", goneBack);
    expect([play.status, play.rollback]).toEqual(["cancelled", "complete"]);
  });

  test("two children are undone one after the other, the last one first", () => {
    const second = child(
      saga("second", { version: 1, input: z.json() })
        .step(call("pay"), () => ({}))
        .build(),
    );
    const play = new Play(line([ordered, second as Step, call("ship")]));
    play.looks("order", completed);
    play.looks("second", completed);
    play.answer("ship", refused());
    expect(play.flying()).toEqual(["undo second"]);
    play.looks("undo second", goneBack);
    expect(play.flying()).toEqual(["undo order"]);
  });

  test("children that an action has started as tools are undone one after the other", () => {
    const agent = call("agent", { effect: "none", uses: { order: ordered } });
    const play = new Play(line([agent, call("ship")]));
    for (const key of [1, 2]) play.ask("agent", "order", { key });
    for (const _ of [1, 2]) play.looks("order", completed);
    play.answer("agent", ok());
    play.answer("ship", refused());
    expect(play.flying()).toEqual(["undo order"]);
    play.looks("undo order", goneBack);
    play.looks("undo order", goneBack);
    expect([play.status, play.rollback]).toEqual(["failed", "complete"]);
  });

  test("a run that is stopped takes a child that has ended for stopped, whatever it has left", () => {
    const play = waiting();
    play.send("cancel", { type: "cancel", mode: "stop", reason: "enough" });
    play.looks("undo order", found("cancelled", { rollback: "partial" }));
    expect([play.status, play.run.record.rollback]).toEqual(["cancelled", "partial"]);
    expect(play.row("order").undo).toMatchObject({
      state: "skipped",
      reason: expect.stringContaining("run r1.1 ended"),
    });
    const clean = waiting();
    clean.send("cancel", { type: "cancel", mode: "stop", reason: "enough" });
    clean.looks("undo order", found("cancelled", { rollback: "not_applicable" }));
    expect(clean.row("order").undo?.state).toBe("done");
  });

  test("a run that is stopped waits for its child, which is stopped as well", () => {
    const play = waiting();
    play.send("cancel", { type: "cancel", mode: "stop", reason: "enough" });
    play.looks("undo order", found("unwinding", { asked: "cancel" }));
    expect([play.status, play.flying()]).toEqual(["unwinding", []]);
    play.advance(5_000);
    play.looks("undo order", found("cancelled", { rollback: "partial" }));
    expect(play.status).toBe("cancelled");
  });

  test("a run that is stopped leaves a child that has completed", () => {
    const play = waiting();
    play.moved("order");
    play.looks("order", completed);
    play.send("cancel", { type: "cancel", mode: "stop", reason: "enough" });
    play.answer("ship", refused());
    expect([play.status, play.row("order").undo?.state]).toEqual(["cancelled", "skipped"]);
  });

  test.each(["stop", "kill"] as const)(
    "a run told to %s tells its child, however often its worker dies over it",
    (mode) => {
      const play = waiting();
      play.cancel("enough", mode);
      for (let death = 0; death < 7; death += 1) play.takeOver();
      expect([play.status, play.review, play.flying()]).toEqual(["unwinding", null, ["undo order"]]);
      play.looks("undo order", found("cancelled", { rollback: "not_applicable" }));
      expect(play.status).toBe("cancelled");
    },
  );

  test("a run that is killed ends when its child has been told", () => {
    const play = waiting();
    play.send("cancel", { type: "cancel", mode: "kill", reason: "enough" });
    expect(play.status).toBe("unwinding");
    play.looks("undo order", found("running", { asked: "cancel", isPending: true }));
    expect(play.status).toBe("cancelled");
    expect(play.row("order").undo?.reason).toBe("run r1.1 was told to end where it is");
  });
});

describe("a state that is left", () => {
  function leaving(): Play {
    const saga = played(
      {
        initial: "ordering",
        states: {
          ordering: { invoke: { src: "order", input: {}, onDone: "done" }, after: { 7000: "late" } },
          late: { after: { 100000: "done" } },
          done: { type: "final" },
        },
      },
      [ordered],
    );
    return new Play(saga);
  }

  test("has its child cancelled, while the run goes on", () => {
    const play = leaving();
    play.looks("order", running);
    play.advance(5_000);
    play.looks("order", running);
    play.advance(2_000);
    expect([play.run.record.snapshot?.value, play.flying()]).toEqual(["late", ["undo order"]]);
    play.looks("undo order", { ...running, ...pending });
    expect([play.held, play.status, play.run.record.waitingFor]).toEqual([false, "waiting", "child"]);
    play.moved("order");
    play.looks("undo order", goneBack);
    play.advance(100_000);
    expect(play.status).toBe("completed");
  });
});

describe("a child that is detached", () => {
  test("is started and left alone, and stays when the run goes back", () => {
    const play = new Play(line([audited, call("ship")]));
    play.looks("audit", running);
    expect(play.row("audit").output).toEqual({ id: "r1.1" });
    play.answer("ship", refused());
    expect([play.status, play.rollback, play.ordered]).toEqual(["failed", "not_applicable", ["audit", "ship"]]);
    expect(play.row("audit").undo).toMatchObject({ state: "kept", reason: expect.stringContaining("detached") });
  });
});

describe("what is said of it", () => {
  const judged = (play: Play) => ({ namespace: "ns", ...play.run, machine: play.machine, now: play.now });

  test("is in the explanation: those that wait for a person first, a few by name", () => {
    const play = new Play(
      saga("many", { version: 1, input: z.json() })
        .each(() => [{}, {}, {}, {}, {}], ordered, { concurrency: 5 })
        .build(),
    );
    for (const seq of [2, 3, 4, 5]) play.looks("order", found("running", { run: `r1.${seq}` }));
    play.looks("order", { ...parked, child: { ...parked.child, run: "r1.6" } });
    const { text } = explain(judged(play)).where;
    expect(text).toMatch(
      /waits for child: run r1\.6 is parked for a person: pay may have happened \(row 6\); run r1\.2 is/,
    );
    expect(text).toMatch(/; and 2 more$/);
    expect(new Set(explain(judged(play)).attempted.map(({ known }) => known))).toEqual(new Set(["under way"]));
  });

  test("is how far it has come while it goes back", () => {
    const play = goingBack();
    play.looks("undo order", { is: "unreached", why: "away" });
    expect(explain(judged(play)).where.text).toContain("run r1.1 goes back; it is completed");
    const unknown = ordering();
    unknown.cancel();
    unknown.takeOver();
    unknown.looks("undo order", { is: "unreached", why: "away" });
    expect(explain(judged(unknown)).where.text).toContain("could not be asked yet");
  });

  test("is what undoing it, and replaying it, would do", () => {
    const play = waiting();
    expect(unwindPreview(judged(play))?.steps).toMatchObject([
      { course: "compensate", reason: "run r1.1 is running, and is cancelled" },
    ]);
    play.moved("order");
    play.looks("order", completed);
    play.answer("ship", ok());
    expect(unwindPreview(judged(play))?.steps).toMatchObject([{ course: "compensate" }, { course: "compensate" }]);
    const wish = { mode: "new_run", id: "again", input: null } as const;
    const plan = planOf({ judged: judged(play), wish, id: "p", expiresAt: play.now + 1 });
    expect([plan.safe, plan.unsafe[0]]).toEqual([
      false,
      "order (row 1) is run r1.1, which is completed: the new run starts another one",
    ]);
  });

  test("a fork uses its result, and starts no other; one that the machine still waits for is started anew", () => {
    const play = ordering();
    play.looks("order", completed);
    play.answer("ship", refused());
    const at = (seq: number) => {
      const moment = momentBefore({ ...judged(play), log: play.log }, play.machine, seq);
      if (!moment.ok) throw new Error(moment.problem);
      const made = { judged: judged(play), machine: play.machine, moment, id: "f1", now: play.now };
      return fork({ ...made, plan: "p", by: "ann", reason: "again" });
    };
    const later = at(2);
    expect(later.rows[0]).toMatchObject({ call: { state: "reused" }, child: { run: "r1.1" }, undo: { state: "kept" } });
    expect(later.record.open).toEqual([2]);
    expect(at(1).rows).toMatchObject([{ call: { state: "planned", send: 0 }, child: null }]);
  });
});

describe("what it is asked", () => {
  const parent = new Play(line([ordered])).run.record;
  const record = { ...parent, id: "r1.1", parent: { run: "r1", seq: 1, detached: false } };
  const cancelled = { ...parent, cancel: { mode: "kill", reason: "now", by: "ann", at: 1 } } as const;

  test.each<[string, Partial<RunRecord>, RunRecord, string | null]>([
    ["that runs", { status: "running" }, parent, "cancel"],
    ["that is parked", { status: "needs_review" }, parent, "cancel"],
    ["of a parent that is killed", { status: "waiting" }, cancelled, "cancel:kill"],
    ["that has completed", { status: "completed" }, parent, "undo:parent"],
    ["that has failed and left nothing", { status: "failed", rollback: "complete" }, parent, null],
    ["that has failed in part", { status: "failed", rollback: "partial" }, parent, "undo:parent"],
    ["that was cancelled", { status: "cancelled", rollback: "partial" }, parent, null],
  ])("of one %s", (_words, more, by, slot) => {
    expect(requestTo({ ...record, ...more }, by)?.slot ?? null).toBe(slot);
  });

  test("says why", () => {
    const cause = { kind: "cancelled", step: null, message: "not wanted", reference: null } as const;
    const said = requestTo({ ...record, status: "running" }, { ...parent, cause })?.body;
    expect(said).toMatchObject({ mode: "compensate", reason: "run r1, which started it, goes back: not wanted" });
    expect(requestTo({ ...record, status: "running" }, parent)?.body).toMatchObject({
      reason: expect.stringContaining("went on without it"),
    });
  });

  test("nobody else's run is asked", () => {
    const mine = { run: parent, seq: 1, of: { name: "line", version: 1 } };
    expect(isChildOf(record, mine)).toBe(true);
    expect(isChildOf(record, { ...mine, of: { name: "other", version: 1 } })).toBe(false);
    expect(isChildOf(record, { ...mine, of: { name: "line", version: 2 } })).toBe(false);
    expect(isChildOf({ ...record, parent: null }, mine)).toBe(false);
    expect(isChildOf({ ...record, parent: { ...record.parent, run: "r2" } }, mine)).toBe(false);
    expect(isChildOf(record, { ...mine, seq: 2 })).toBe(false);
  });
});

test("one that is not there is none of a row that has never seen it, and else forgotten: waited for, and begun again after that", () => {
  const seen: RowChild = { run: "r1.1", status: "running", rollback: "none", revision: 2, why: null };
  expect(ofMissing({ child: null }, true)).toBe("foreign");
  expect(ofMissing({ child: null }, false)).toBe("foreign");
  expect(ofMissing({ child: seen }, true)).toBe("wait");
  expect(ofMissing({ child: seen }, false)).toBe("begin");
});

describe("its id", () => {
  const row = (seq: number, generation = 1) => ({ seq, call: { generation } as never });

  test("follows from parent and row, and is no longer than an id may be", () => {
    expect(childRef({ tenant: "t", id: "o-1" }, row(3))).toEqual({ tenant: "t", id: "o-1.3" });
    expect(childRef({ tenant: "t", id: "o-1" }, row(3, 2))).toEqual({ tenant: "t", id: "o-1.3-2" });
    const long = { tenant: "t", id: "x".repeat(64) };
    const ids = [childRef(long, row(1)).id, childRef(long, row(2)).id, childRef(long, row(1, 2)).id];
    expect([new Set(ids).size, ids.every((id) => /^[A-Za-z0-9_.-]{64}$/.test(id))]).toEqual([3, true]);
  });
});

describe("its word to its parent", () => {
  function childRecord(saga: Saga, detached = false) {
    const play = new Play(saga);
    const parent = play.run.record;
    const [asked] = play.run.rows;
    if (asked === undefined) throw new Error("nothing was asked for");
    const start = { parent, row: asked, machine: play.machine, hash: "h", detached, now: 7 };
    return startChild(start).record;
  }

  test("is sent when it ends, is parked, or goes on after that, and to nobody else", () => {
    const record = childRecord(line([ordered]));
    const parkedRecord = { ...record, status: "needs_review" as const, revision: 2 };
    const endedRecord = { ...record, status: "failed" as const, revision: 3 };
    const word = { run: { tenant: "default", id: "r1" }, body: { type: "child", seq: 1, run: "r1.1" } };
    expect(wordToParent(record, parkedRecord)).toMatchObject({ ...word, slot: "child:1.2" });
    expect(wordToParent(parkedRecord, { ...record, revision: 3 })).toMatchObject({ ...word, slot: "child:1.3" });
    expect(wordToParent(record, endedRecord)).toMatchObject({ ...word, slot: "child:1.3" });
    expect(wordToParent(record, { ...record, status: "waiting" })).toBeNull();
    expect(wordToParent(record, record)).toBeNull();
    expect(wordToParent(record, { ...endedRecord, parent: null })).toBeNull();
    const detached = childRecord(line([ordered]), true);
    expect(wordToParent(detached, { ...detached, status: "failed" })).toBeNull();
  });
});
