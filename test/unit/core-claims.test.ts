import { describe, expect, test } from "vitest";
import { type ClaimIntentAnswer, explain, verdictOf } from "../../src/core/index.ts";
import { intentOwner } from "../../src/core/rows.ts";
import {
  close,
  compensate,
  notApplied,
  ok,
  Play,
  type PlayOptions,
  refused,
  resolveAbsent,
  resolveHappened,
  retry,
  timedOut,
} from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const refund = { intent: () => ["refund", "ch-1"] };
const mine: ClaimIntentAnswer = { answer: "MINE", generation: 1 };
const other = "r9#4.1";
const busy = (more: object = {}): ClaimIntentAnswer => ({
  answer: "BUSY",
  owner: other,
  generation: 1,
  state: "claimed",
  claimedAt: 0,
  until: null,
  heard: true,
  ...more,
});
const conflict: ClaimIntentAnswer = { answer: "CONFLICT", owner: other, argsHash: "theirs", asked: "ours" };
const done = (outcome: object): ClaimIntentAnswer => ({
  answer: "DONE",
  owner: other,
  generation: 1,
  outcome: outcome as never,
  heard: true,
});

const refunding = (options: object = {}, play: PlayOptions = {}): Play =>
  new Play(line([call("refund", { ...refund, ...options }), call("mail")]), play);

/** `refund` has its intent and was sent. */
function sent(options: object = {}): Play {
  const play = refunding(options);
  play.claimed("refund", mine);
  return play;
}

describe("an intent before its effect", () => {
  test("it is on record that the row asks before the claim is sent, and nothing is sent before it is granted", () => {
    const play = refunding();
    expect(play.row("refund")).toMatchObject({
      call: { state: "claiming", send: 0 },
      intent: { claim: 1, state: "free" },
    });
    expect(play.last?.commit?.rows[0]?.call.state).toBe("claiming");
    expect(play.last?.claims).toMatchObject([{ seq: 1, claim: 1, owner: "r1#1.1" }]);
    expect(play.ordered).toEqual([]);
    play.claimed("refund", mine);
    expect(play.ordered).toEqual(["refund"]);
    expect(play.row("refund")).toMatchObject({ call: { state: "sent" }, intent: { state: "mine" } });
  });

  test("whoever takes over asks again under the same name", () => {
    const play = refunding();
    play.takeOver({ died: false });
    expect(play.last?.claims).toMatchObject([{ owner: "r1#1.1" }]);
    expect(play.last?.commit).toBeNull();
    play.claimed("refund", mine);
    expect(play.ordered).toEqual(["refund"]);
  });

  test("what it came to is published, and the run does not end before the registry knows", () => {
    const play = sent();
    play.answer("refund", ok("re-1"));
    expect(play.last?.publishes).toMatchObject([
      { owner: "r1#1.1", became: { state: "succeeded", outcome: { id: "re-1" } } },
    ]);
    play.answer("mail", ok());
    expect(play.status).toBe("running");
    expect(play.run.record.open).toEqual([1]);
    play.published("refund");
    expect(play.status).toBe("completed");
    expect(play.taken()).toContainEqual({ what: "published", seq: 1, became: "succeeded" });
  });

  test("a driver that dies before that is followed by one that publishes again", () => {
    const play = sent();
    play.answer("refund", ok());
    play.takeOver();
    expect(play.last?.publishes).toHaveLength(1);
    play.published("refund");
    play.step({ type: "published", seq: 1, claim: 1, became: "succeeded" });
    play.step({ type: "published", seq: 9, claim: 1, became: "succeeded" });
    expect(play.run.record.open).toEqual([2]);
  });

  test("a retry keeps the intent, and so does a person who has it made after all; only a failure for good frees it", () => {
    const play = sent({ onExhausted: "review", retry: { attempts: 2, backoff: "fixed", initial: "1s", max: "1s" } });
    play.answer("refund", notApplied());
    play.advance(1_000);
    play.answer("refund", notApplied());
    expect(play.review?.reason).toBe("exhausted");
    expect(play.registry.size).toBe(0);
    play.verb(retry());
    expect(play.ordered).toEqual(["refund", "refund", "refund"]);
    play.answer("refund", refused());
    expect(play.last?.publishes).toMatchObject([{ became: { state: "not_applied" } }]);
    play.published("refund");
    expect(play).toMatchObject({ status: "failed", rollback: "not_applicable" });
  });

  test("undone, it is published as undone, and the run ends cancelled after that", () => {
    const play = sent();
    play.answer("refund", ok());
    play.published("refund");
    play.answer("mail", refused());
    play.answer("undo refund", { kind: "succeeded", output: null });
    expect(play.last?.publishes).toMatchObject([{ became: { state: "undone" } }]);
    expect(play.status).toBe("unwinding");
    play.published("refund");
    expect(play).toMatchObject({ status: "failed", rollback: "complete" });
  });

  test("nothing is said while nobody knows; given up, it is published as unknown", () => {
    const play = sent({ effect: "once" });
    play.answer("refund", timedOut());
    expect(play.review?.reason).toBe("unknown_outcome");
    expect(play.last?.publishes).toEqual([]);
    play.verb(close);
    expect(play.last?.publishes).toMatchObject([{ became: { state: "unknown" } }]);
    play.published("refund");
    expect(play.status).toBe("failed");
  });

  test("left while it asks, its claim is given up by word, once it is answered: it would come last else, and stay", () => {
    const play = refunding();
    play.cancel();
    expect(play.row("refund").call.state).toBe("withdrawn");
    expect(play.last?.publishes).toEqual([]);
    play.claimed("refund", mine);
    expect(play.ordered).toEqual([]);
    expect(play.last?.publishes).toMatchObject([{ owner: "r1#1.1", became: { state: "withdrawn" } }]);
    play.published("refund");
    expect(play.status).toBe("cancelled");
  });

  test("closed while it asks, too", () => {
    const play = refunding();
    play.claimed("refund", conflict);
    play.verb(close);
    play.published("refund");
    expect(play).toMatchObject({ status: "failed", rollback: "not_applicable" });
  });

  test("a claim that is over already is made anew under the next name", () => {
    const play = refunding();
    play.claimed("refund", { answer: "GONE" });
    expect(play.row("refund")).toMatchObject({ call: { state: "claiming" }, intent: { claim: 2 } });
    expect(play.last?.claims).toMatchObject([{ owner: "r1#1.2" }]);
  });

  test("on a named queue it is offered once it has its intent", () => {
    const play = refunding({ queue: "gpu" });
    expect(play.offered).toEqual([]);
    play.claimed("refund", mine);
    expect(play.offered).toEqual(["refund"]);
  });

  test("neither claimed nor published while the worker stops, nor claimed while the run is paused", () => {
    const play = refunding();
    play.takeOver();
    play.registry.clear();
    play.stop();
    expect(play.last?.claims).toEqual([]);
    const paused = refunding({}, { idle: true });
    paused.acquire();
    paused.registered("claim", "refund");
    paused.pause();
    expect(paused.last?.claims).toEqual([]);
    paused.resume();
    expect(paused.last?.claims).toHaveLength(1);
  });

  test("an intent that cannot be computed is a defect before anything is sent", () => {
    const broken = refunding({
      intent: () => {
        throw new Error("no charge, token=abc");
      },
    });
    expect(broken.review).toMatchObject({
      reason: "defect",
      message: expect.stringContaining("no charge, token=[redacted]"),
    });
    expect(refunding({ intent: () => null }).review?.message).toContain("null");
    expect(refunding({ intent: () => new Map() }).review?.message).toContain("not JSON");
  });
});

describe("an intent that another run has", () => {
  test("the run waits for it without a worker, and takes the recorded outcome when it is there", () => {
    const play = refunding();
    play.claimed("refund", busy());
    expect(play).toMatchObject({ status: "waiting", held: false });
    expect(play.run.record.waitingFor).toBe("intent");
    expect(play.row("refund").intent).toMatchObject({ state: "busy", owner: other });
    play.word("refund", other, "succeeded");
    play.claimed("refund", done({ id: "re-9" }));
    expect(play.row("refund")).toMatchObject({
      call: { state: "reused", send: 0 },
      output: { id: "re-9" },
      told: "outcome",
    });
    play.answer("mail", ok());
    expect(play.status).toBe("completed");
    expect(play.ordered).toEqual(["mail"]);
  });

  test("asks again from time to time where it may not be told", () => {
    const play = refunding();
    play.claimed("refund", busy({ heard: false }));
    play.advance(4_999);
    expect(play.registry.size).toBe(0);
    play.advance(1);
    expect(play.registry.size).toBe(1);
    play.claimed("refund", mine);
    expect(play.ordered).toEqual(["refund"]);
  });

  test("parks after a while, naming the owner; the owner's word lifts that", () => {
    const play = refunding();
    play.claimed("refund", busy());
    play.advance(30_000);
    play.claimed("refund", busy());
    play.advance(30_000);
    play.claimed("refund", busy());
    expect(play.review).toMatchObject({
      reason: "intent_busy",
      message: expect.stringContaining(other),
      verbs: ["retry", "resolve", "compensate", "close"],
    });
    play.advance(600_000);
    expect(play.registry.size).toBe(0);
    play.word("refund", other, "not_applied");
    expect(play.review).toBeNull();
    play.claimed("refund", mine);
    expect(play.ordered).toEqual(["refund"]);
  });

  test("a retry of that review asks again, patiently", () => {
    const play = refunding({}, { settings: { intentWaitMs: 1_000 } });
    play.claimed("refund", busy());
    play.advance(1_000);
    play.claimed("refund", busy());
    play.verb(retry());
    expect(play.row("refund").intent).toMatchObject({ state: "free", owner: null, since: null });
    play.claimed("refund", busy({ owner: "r8#1.1" }));
    expect(play.status).toBe("waiting");
  });

  test("with other arguments it parks, showing both", () => {
    const play = refunding({}, { input: { cents: 5 } });
    play.claimed("refund", conflict, { cents: 7 });
    expect(play.review).toMatchObject({
      reason: "intent_conflict",
      evidence: { owner: other, intent: ["refund", "ch-1"], input: { cents: 5 }, theirs: { cents: 7 } },
    });
    play.verb(retry({ cents: 7 }));
    expect(play.row("refund")).toMatchObject({ input: { cents: 7 }, intent: { state: "free", claim: 1 } });
    play.claimed("refund", done({ id: "re-9" }));
    expect(play.row("refund").call.state).toBe("reused");
  });

  test("a person may say what its outcome is: it stays the other run's effect", () => {
    const play = refunding();
    play.claimed("refund", conflict);
    play.verb(resolveHappened());
    expect(play.row("refund")).toMatchObject({ call: { state: "reused", proof: "person" }, reference: "ref-1" });
    play.answer("mail", refused());
    expect(play).toMatchObject({ status: "failed", rollback: "not_applicable" });
    expect(play.ordered).toEqual(["mail"]);
  });

  test("or that it is not made at all, which the machine hears as a failure", () => {
    const play = refunding();
    play.claimed("refund", conflict);
    play.verb(resolveAbsent);
    play.published("refund");
    expect(play).toMatchObject({ status: "failed", rollback: "not_applicable" });
    expect(play.ordered).toEqual([]);
  });

  test("compensated instead, nothing of it is undone", () => {
    const play = refunding();
    play.claimed("refund", conflict);
    play.verb(compensate);
    play.published("refund");
    expect(play).toMatchObject({ status: "failed", rollback: "not_applicable" });
  });

  test("an outcome that does not fit is put to a person, who sees it", () => {
    const play = refunding();
    play.claimed("refund", done({ number: 7 }));
    expect(play.review).toMatchObject({ reason: "defect", evidence: { number: 7 } });
    play.verb(resolveHappened({ id: "re-9" }));
    expect(play.row("refund")).toMatchObject({ call: { state: "reused" }, output: { id: "re-9" }, told: "outcome" });
  });

  test("an outcome that does not fit is forgotten when the run is cancelled", () => {
    const play = refunding();
    play.claimed("refund", done({ number: 7 }));
    play.cancel();
    expect(play).toMatchObject({ status: "cancelled", rollback: "not_applicable" });
  });

  test("a pivot that another run has made is passed", () => {
    const play = refunding({ pivot: true, compensate: false });
    play.claimed("refund", done({ id: "re-9" }));
    play.answer("mail", refused());
    expect(play.review?.reason).toBe("after_pivot");
  });

  test("late words about a call it never made change nothing", () => {
    const play = refunding();
    play.claimed("refund", busy());
    play.late("refund", 1, timedOut());
    expect(play.status).toBe("waiting");
    play.word("refund", "somebody#1.1", "succeeded");
    play.send("intent:9:1:undone", { type: "intent", seq: 9, owner: other, became: "undone" });
    expect(play.status).toBe("waiting");
  });
});

describe("an outcome that its owner undoes", () => {
  function reused(): Play {
    const play = new Play(
      played(
        {
          initial: "refund",
          states: {
            refund: { invoke: { src: "refund", onDone: "hold" } },
            hold: { on: { GO: "end" } },
            end: { type: "final" },
          },
        },
        [call("refund", refund)],
        { events: ["GO"] },
      ),
    );
    play.claimed("refund", done({ id: "re-9" }));
    return play;
  }

  test("parks the run that went by it; a person who knows better lets it go on", () => {
    const play = reused();
    play.word("refund", other, "undone");
    expect(play.review).toMatchObject({ reason: "intent_undone", message: expect.stringContaining(other) });
    play.verb(resolveAbsent);
    expect(play.review?.message).toContain("undone by its owner");
    play.verb(resolveHappened());
    expect(play.row("refund").intent?.state).toBe("reused");
    play.event("GO");
    expect(play.status).toBe("completed");
  });

  test("or turns it round, or gives it up", () => {
    const back = reused();
    back.word("refund", other, "undone");
    back.verb(compensate);
    expect(back).toMatchObject({ status: "failed", rollback: "not_applicable" });
    const left = reused();
    left.word("refund", other, "undone");
    left.verb(close);
    expect(left).toMatchObject({ status: "failed" });
  });

  test("any other word about it changes nothing, nor does it while the run goes back", () => {
    const play = reused();
    play.word("refund", other, "succeeded");
    expect(play.status).toBe("waiting");
    play.cancel();
    expect(play.status).toBe("cancelled");
  });
});

describe("edited arguments", () => {
  function exhausted(options: object = {}): Play {
    const play = sent({ onExhausted: "review", retry: { attempts: 1 }, effect: "keyed", ...options });
    play.answer("refund", notApplied());
    return play;
  }

  test("under the same intent the old claim is given up first", () => {
    const play = exhausted();
    play.verb(retry({ cents: 1 }));
    expect(play.row("refund").intent).toMatchObject({ state: "stale", claim: 1 });
    expect(play.last?.publishes).toMatchObject([{ became: { state: "withdrawn" } }]);
    play.published("refund");
    expect(play.last?.claims).toMatchObject([{ owner: "r1#1.2" }]);
    play.claimed("refund", mine);
    expect(play.ordered).toEqual(["refund", "refund"]);
  });

  test("another intent is another effect, which this row does not make", () => {
    const play = exhausted({ intent: ({ input }: { input: { cents?: number } }) => ["refund", input.cents ?? 0] });
    play.verb(retry({ cents: 1 }));
    expect(play.review?.message).toContain("another intent");
    const broken = exhausted({
      intent: ({ input }: { input: { cents?: number } }) => {
        if (input.cents === 1) throw new Error("no");
        return 1;
      },
    });
    broken.verb(retry({ cents: 1 }));
    expect(broken.review?.message).toContain("another intent");
  });
});

test("a row without an intent has no owner to speak of", () => {
  const play = new Play(line([call("a")]));
  expect(intentOwner({ id: "r1" }, play.row("a"))).toBe("r1#1.0");
});

describe("what may be done about a row with an intent, in words", () => {
  const judged = (play: Play) => {
    const { record, rows } = play.run;
    return verdictOf({ namespace: "ns", record, rows, machine: play.machine, now: play.now });
  };

  test("one that asks, one that waits, one in conflict, and one that has reused", () => {
    const play = refunding();
    expect(judged(play).calls[0]).toMatchObject({
      course: "call",
      reason: expect.stringContaining("asks for its intent"),
    });
    play.claimed("refund", busy());
    expect(judged(play).calls[0]).toMatchObject({ course: "wait", reason: expect.stringContaining(other) });
    play.word("refund", other, "not_applied");
    play.claimed("refund", conflict);
    expect(judged(play)).toMatchObject({ verdict: "HUMAN_REQUIRED", calls: [{ course: "human" }] });
    play.verb(retry());
    play.claimed("refund", done({ id: "re-9" }));
    expect(judged(play).calls[0]).toMatchObject({ course: "reuse", reason: expect.stringContaining(other) });
    const told = explain({
      namespace: "ns",
      record: play.run.record,
      rows: play.run.rows,
      machine: play.machine,
      now: 0,
    });
    expect(told.attempted.map(({ step }) => step)).toEqual(["mail"]);
  });

  test("one whose outcome a person has told names nobody", () => {
    const play = refunding();
    play.claimed("refund", conflict);
    const rows = play.run.rows.map((row) => ({
      ...row,
      call: { ...row.call, state: "reused" as const },
      intent: null,
    }));
    const { calls } = verdictOf({ namespace: "ns", record: play.run.record, rows, machine: play.machine, now: 0 });
    expect(calls[0]?.reason).toContain("another call");
  });
});

describe("late words", () => {
  test("that a call had happened after all, on a row that asks anew, are its outcome", () => {
    const play = sent({ onExhausted: "review", retry: { attempts: 1 } });
    play.answer("refund", notApplied());
    play.verb(retry({ cents: 1 }));
    play.published("refund");
    expect(play.row("refund").call).toMatchObject({ state: "claiming", send: 1 });
    play.late("refund", 1, ok("re-late"));
    expect(play.row("refund")).toMatchObject({
      call: { state: "succeeded", proof: "late" },
      output: { id: "re-late" },
    });
  });

  test("that its own call had happened, on a row that went by another run's, are put to a person", () => {
    const play = sent({ onExhausted: "review", retry: { attempts: 1 } });
    play.answer("refund", notApplied());
    play.verb(retry({ cents: 1 }));
    play.published("refund");
    play.claimed("refund", done({ id: "re-9" }));
    play.late("refund", 1, ok("re-late"));
    expect(play.review).toMatchObject({ reason: "late_result", seq: 1 });
  });
});

test("a run that goes back forgets that what it went by was undone", () => {
  const machine = {
    initial: "both",
    states: {
      both: {
        type: "parallel",
        onDone: "end",
        states: {
          one: {
            initial: "refund",
            states: { refund: { invoke: { src: "refund", onDone: "end" } }, end: { type: "final" } },
          },
          two: {
            initial: "mail",
            states: { mail: { invoke: { src: "mail", onDone: "end" } }, end: { type: "final" } },
          },
        },
      },
      end: { type: "final" },
    },
  };
  const play = new Play(played(machine, [call("refund", refund), call("mail")]));
  play.claimed("refund", done({ id: "re-9" }));
  play.word("refund", other, "undone");
  expect(play.review?.reason).toBe("intent_undone");
  play.cancel();
  play.answer("mail", ok());
  play.answer("undo mail", { kind: "succeeded", output: null });
  expect(play).toMatchObject({ status: "cancelled", rollback: "complete" });
});

describe("words and answers that cross on their way", () => {
  test("a worker that is told to stop before it could publish leaves that to the next one, at once", () => {
    const play = sent();
    play.stop();
    play.answer("refund", ok());
    expect(play.next).toMatchObject({ does: "released", due: play.now });
    play.acquire();
    expect(play.last?.publishes).toMatchObject([{ became: { state: "succeeded" } }]);
  });

  test("undone while the answer to the claim, its outcome, was on its way: the run is parked all the same", () => {
    const play = refunding();
    play.word("refund", other, "undone");
    play.claimed("refund", done({ id: "re-9" }));
    expect(play.review?.reason).toBe("intent_undone");
    expect(play.ordered).toEqual([]);
    expect(play.run.inbox).toEqual([]);
  });

  test("told while the answer that it is busy was on its way, it asks again at once", () => {
    const play = refunding();
    play.word("refund", other, "succeeded");
    play.claimed("refund", busy());
    expect(play.last?.claims).toHaveLength(1);
    expect(play.run.inbox).toEqual([]);
  });

  test("a word about an owner that the answer does not name is forgotten, and so is one for a driver that is gone", () => {
    const play = refunding();
    play.word("refund", "r8#1.1", "undone");
    play.claimed("refund", mine);
    expect(play.ordered).toEqual(["refund"]);
    expect(play.run.inbox).toEqual([]);
    const next = refunding();
    next.word("refund", other, "undone");
    next.takeOver();
    next.claimed("refund", mine);
    expect(next.ordered).toEqual(["refund"]);
    expect(next.run.inbox).toEqual([]);
  });
});

test("what did not happen and was left by the machine frees its intent", () => {
  const config = {
    initial: "one",
    states: {
      one: { invoke: { src: "refund", onDone: "two" }, on: { GO: "two" } },
      two: { invoke: { src: "mail", onDone: "end" } },
      end: { type: "final" },
    },
  };
  const play = new Play(played(config, [call("refund", refund), call("mail")], { events: ["GO"] }));
  play.claimed("refund", mine);
  play.event("GO");
  play.answer("refund", refused());
  expect(play.last?.publishes).toMatchObject([{ became: { state: "not_applied" } }]);
});

test("an effect that turns up after its intent was freed is put to a person, and not published as if it still had it", () => {
  const play = sent({ effect: "once", retry: { attempts: 1 } });
  play.answer("refund", notApplied());
  play.published("refund");
  expect(play.status).toBe("failed");
  play.late("refund", 1, ok("re-1"));
  expect(play.row("refund").call.state).toBe("succeeded");
  expect(play).toMatchObject({ status: "needs_review", review: { reason: "late_result" } });
  expect(play.registry.size).toBe(0);
  expect(play.row("refund").intent?.said).toBe("not_applied");
  play.verb(retry());
  play.answer("undo refund", { kind: "succeeded", output: null });
  expect(play.status).toBe("failed");
});
