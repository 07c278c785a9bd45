import { describe, expect, test } from "vitest";
import { z } from "zod";
import { editableIn, explain, foldLog, fork, momentBefore, verdictOf } from "../../src/core/index.ts";
import { approval, type Json, type Step } from "../../src/saga/index.ts";
import {
  close,
  compensate,
  notApplied,
  ok,
  Play,
  refused,
  resolveAbsent,
  resolveHappened,
  retry,
} from "../support/play.ts";
import { ann, approve, bob, cfo, person, reject, says, wordsOn } from "../support/play-approvals.ts";
import { call, line, played } from "../support/play-sagas.ts";

const gate = { by: "finance", question: "Pay?", expires: "1h" } as const;
const hourMs = 3_600_000;

/** `reserve`, then `pay` behind a gate, then `ship`. */
function gated(approve: unknown = gate, options: Parameters<typeof call>[1] = {}): Play {
  const saga = line([call("reserve"), call("pay", { approve, ...options }), call("ship")]);
  const play = new Play(saga, { input: { cents: 900 } });
  play.answer("reserve", ok());
  return play;
}

function refusal(play: Play): string {
  const said = play
    .taken()
    .flatMap((taken) => (taken.what === "approval" && taken.state === "refused" ? [taken.note] : []));
  return said.at(-1) ?? "nothing was refused";
}

const Ask = z.object({ cents: z.number() });
type Options = Partial<Parameters<typeof approval>[1]>;

/** The approval `manager`, then `pay`. */
function asked(options: Options = {}, input: Json = { cents: 900 }): Play {
  const manager = approval("manager", { question: "Pay?", input: Ask, ...options } as never) as unknown as Step;
  return new Play(line([manager, call("pay")]), { input });
}

describe("a gate", () => {
  test("asks, with the rule, and holds neither worker nor lease", () => {
    const play = gated({ ...gate, rule: "more than 5 EUR", when: () => true });
    expect(play.flying()).toEqual([]);
    expect(play.run.record).toMatchObject({ status: "waiting", waitingFor: "approval", asks: [2] });
    expect(play.held).toBe(false);
    expect(play.row("pay").approval).toMatchObject({
      state: "asking",
      n: 1,
      question: "Pay?",
      rule: "more than 5 EUR",
      roles: ["finance"],
      allowed: ["approve", "reject", "ask_back"],
      expiresAt: play.now + hourMs,
    });
    expect(play.due).toBe(play.now + hourMs);
    const { run, machine, now } = play;
    const judged = { namespace: "ns", record: run.record, rows: run.rows, machine, now };
    expect(verdictOf(judged).reasons).toEqual(["pay (row 2): people are asked: Pay?"]);
    expect(explain(judged).text).toContain("waits for approval");
  });

  test("that lets it go says by which rule, and asks nobody", () => {
    const play = gated({ ...gate, rule: "more than 5 EUR", when: () => false });
    expect(play.flying()).toEqual(["pay"]);
    expect(play.row("pay").approval).toMatchObject({ state: "not_needed", rule: "not: more than 5 EUR" });
  });

  test("that is let go has its step carried out with exactly what was shown", () => {
    const play = gated();
    says(play, "pay", ann, approve());
    expect(play.flying()).toEqual(["pay"]);
    expect(play.row("pay").approval).toMatchObject({ state: "approved", votes: [{ by: "ann", decision: "approve" }] });
    expect(wordsOn(play)).toEqual(["asking", "approve ann", "approved"]);
    play.answer("pay", ok());
    play.answer("ship", ok());
    expect(play.status).toBe("completed");
    expect(play.ordered).toEqual(["reserve", "pay", "ship"]);
  });

  test("that is refused has nothing sent, and what came before is undone", () => {
    const play = gated();
    says(play, "pay", ann, reject);
    expect(play.row("pay").call).toMatchObject({
      state: "not_applied",
      proof: "person",
      error: { kind: "rejected", code: "REJECTED", message: "ann has rejected pay: too much" },
    });
    expect(play.run.record.cause).toMatchObject({ kind: "rejected", step: "pay" });
    play.answer("undo reserve", ok());
    expect([play.status, play.rollback]).toEqual(["failed", "complete"]);
    expect(play.ordered).toEqual(["reserve", "undo reserve"]);
  });

  test("on a step that wants a person to look is refused all the same, not put to a person again", () => {
    const play = gated(gate, { onExhausted: "review" });
    says(play, "pay", ann, reject);
    expect(play.status).toBe("unwinding");
  });

  test("is asked before its intent is claimed, and its queue offered", () => {
    const intent = () => ["pay"];
    const play = gated(gate, { intent });
    expect(play.registry.size).toBe(0);
    says(play, "pay", ann, approve());
    expect([...play.registry.keys()]).toEqual(["claim:2"]);
    const queued = gated(gate, { queue: "bank" });
    expect(queued.offered).toEqual([]);
    says(queued, "pay", ann, approve());
    expect(queued.offered).toEqual(["pay"]);
  });

  test("whose rule cannot be read stops there, and is asked once it can be", () => {
    let isBroken = true;
    const play = gated(() => {
      if (isBroken) throw new Error("no such field");
      return gate;
    });
    expect(play.review).toMatchObject({ reason: "defect", seq: 2 });
    expect(play.review?.message).toContain("what people are asked cannot be said: Error: no such field");
    play.verb(retry());
    expect(play.review?.n).toBe(2);
    isBroken = false;
    play.verb(retry());
    expect(play.run.record).toMatchObject({ status: "waiting", waitingFor: "approval" });
    expect(play.flying()).toEqual([]);
  });

  test("a run that is paused meanwhile hears the word, and goes on when it is resumed", () => {
    const play = gated();
    play.pause();
    says(play, "pay", ann, approve());
    expect([play.status, play.flying()]).toEqual(["paused", []]);
    play.resume();
    expect(play.flying()).toEqual(["pay"]);
  });
});

describe("an approval", () => {
  test("is carried out by people, and gives the steps after it who and what", () => {
    const form = z.object({ note: z.string() });
    const play = asked({ form } as Options);
    says(play, "manager", ann, approve({ reason: "fine", form: { note: "n" } }));
    expect(play.row("manager")).toMatchObject({
      told: "outcome",
      output: { approved: true, by: ["ann"], reason: "fine", input: { cents: 900 }, form: { note: "n" } },
      call: { state: "succeeded", send: 0, firstSentAt: null },
    });
    expect(play.ordered).toEqual(["pay"]);
    const folded = foldLog(play.machine, play.run, play.log);
    expect(folded.every(({ problem }) => problem === null)).toBe(true);
  });

  test("that nobody needs to give is given at once", () => {
    const play = asked({ when: () => false, rule: "more than 5 EUR" });
    expect(play.row("manager").output).toEqual({
      approved: true,
      by: [],
      reason: "not: more than 5 EUR",
      input: { cents: 900 },
      form: null,
    });
    expect(play.flying()).toEqual(["pay"]);
  });

  test("that is refused is a failure, which an onError may take", () => {
    const manager = approval("manager", { question: "Pay?", input: z.json() }) as unknown as Step;
    const play = new Play(
      played(
        {
          initial: "ask",
          states: {
            ask: { invoke: { src: "manager", onDone: "end", onError: { target: "small", actions: "keep" } } },
            small: { invoke: { src: "pay", onDone: "end" } },
            end: { type: "final" },
          },
        },
        [manager, call("pay")],
        { keep: true },
      ),
    );
    says(play, "manager", ann, reject);
    expect(play.flying()).toEqual(["pay"]);
    expect(play.run.record.snapshot?.context).toMatchObject({ seen: { kind: "rejected", code: "REJECTED" } });
  });

  test("after a point of no return parks when it is refused; nobody can say that it was given, only ask anew", () => {
    const manager = approval("manager", { question: "Pay?", input: z.json() }) as unknown as Step;
    const play = new Play(line([call("book", { pivot: true }), manager, call("pay")]));
    play.answer("book", ok());
    says(play, "manager", ann, reject);
    expect(play.review).toMatchObject({ reason: "after_pivot", seq: 2 });
    play.verb(resolveHappened({ approved: true }));
    expect(play.review?.message).toContain("only who may decide on it approves it");
    play.verb(retry());
    expect(play.row("manager").approval).toMatchObject({ state: "asking", n: 2, votes: [] });
    says(play, "manager", ann, approve());
    expect(play.flying()).toEqual(["pay"]);
  });
});

describe("a word is void, and logged as refused,", () => {
  test.each([
    ["of an agent", { ...ann, kind: "agent" as const }, "ann is an agent: only a person decides"],
    ["of a service", { ...ann, kind: "service" as const }, "ann is a service: only a person decides"],
    ["of whoever asked for it", person("eve", "finance"), "eve has asked for it, and may not decide on it"],
    ["of somebody without the role", cfo, "cfo has none of the roles that may decide (finance)"],
  ])("%s; and others can decide on", (_, as, message) => {
    const play = gated({ ...gate, requester: "eve" });
    says(play, "pay", as, approve());
    expect(refusal(play)).toBe(message);
    expect(play.flying()).toEqual([]);
    expect(play.row("pay").approval).toMatchObject({ state: "asking", n: 2, votes: [] });
    says(play, "pay", bob, approve());
    expect(play.flying()).toEqual(["pay"]);
  });

  test("when something else was shown", () => {
    const play = gated();
    says(play, "pay", ann, approve(), { shown: "other" });
    expect(refusal(play)).toContain("other arguments");
    expect(play.flying()).toEqual([]);
  });

  test("when it is about an earlier asking, a row that asks nobody, or none", () => {
    const play = gated();
    says(play, "pay", ann, approve(), { n: 7 });
    says(play, "reserve", ann, approve());
    play.send("approval:9.1", { type: "decide", seq: 9, n: 1, shown: "", as: ann, decision: reject });
    expect(wordsOn(play)).toEqual(["asking", "refused ann", "refused ann", "refused ann"]);
    expect(play.row("pay").approval?.n).toBe(1);
  });

  test("when the edit or the form does not fit, or is not asked for", () => {
    const play = gated({ ...gate, allow: ["approve", "edit", "reject"] }, { input: Ask });
    says(play, "pay", ann, approve({ input: { cents: "no" } }));
    expect(refusal(play)).toContain("the input does not fit");
    says(play, "pay", ann, approve({ form: { note: "n" } }));
    expect(refusal(play)).toBe("nothing is to be filled in");
    const formed = asked({ form: z.object({ note: z.string() }) } as Options);
    says(formed, "manager", ann, approve());
    expect(refusal(formed)).toContain("what was filled in does not fit");
    expect([play.status, formed.status]).toEqual(["waiting", "waiting"]);
  });

  test("when that answer is not allowed", () => {
    const play = gated();
    says(play, "pay", ann, approve({ input: { cents: 1 } }));
    expect(refusal(play)).toBe("edit is not allowed here, but approve, reject, ask_back");
    says(play, "pay", ann, { is: "answer", text: "42" });
    expect(refusal(play)).toBe("nobody has asked a question");
  });

  test("when the run is cancelled at the same time: the cancel is taken first, and nothing is sent", () => {
    const play = gated();
    const { approval: open } = play.row("pay");
    const body = { type: "decide", seq: 2, n: 1, shown: open?.shown ?? "", as: ann, decision: approve() } as const;
    const at = play.now;
    play.run = {
      ...play.run,
      inbox: [
        { slot: "approval:2.1", position: 91, commandId: "a", at, by: "ann", body },
        {
          slot: "cancel",
          position: 92,
          commandId: "b",
          at,
          by: "bob",
          body: { type: "cancel", mode: "compensate", reason: "no" },
        },
      ],
    };
    play.acquire();
    expect(refusal(play)).toBe("it is not asked any more");
    expect(play.row("pay").call.state).toBe("withdrawn");
    play.answer("undo reserve", ok());
    expect(play.status).toBe("cancelled");
    expect(play.ordered).toEqual(["reserve", "undo reserve"]);
  });
});

describe("an edit", () => {
  const editable = { ...gate, allow: ["approve", "edit", "reject"] };

  test("is what was approved: checked, carried out, with the intent it stands for", () => {
    const play = gated(editable, {
      input: Ask,
      intent: ({ input }: { input: unknown }) => ["pay", (input as { cents: number }).cents],
    });
    says(play, "pay", ann, approve({ input: { cents: 500 } }));
    expect(play.row("pay")).toMatchObject({
      input: { cents: 500 },
      intent: { key: ["pay", 500] },
      approval: { state: "approved", votes: [{ by: "ann", decision: "edit", input: { cents: 500 } }] },
    });
    expect(wordsOn(play)).toEqual(["asking", "edit ann", "approved"]);
  });

  test("that changes nothing is a plain approval", () => {
    const play = gated();
    says(play, "pay", ann, approve({ input: { cents: 900 }, reason: "as is" }));
    expect(play.row("pay").approval?.votes).toEqual([
      { by: "ann", at: play.now, decision: "approve", reason: "as is" },
    ]);
  });

  test("where several must approve is put to the others anew", () => {
    const play = gated({ ...editable, quorum: 2 });
    says(play, "pay", ann, approve(), { slot: ":by:ann" });
    says(play, "pay", bob, approve({ input: { cents: 1 } }), { slot: ":by:bob" });
    expect(play.row("pay").approval).toMatchObject({ state: "asking", n: 2, votes: [{ by: "bob", decision: "edit" }] });
    expect(play.flying()).toEqual([]);
    says(play, "pay", bob, approve(), { slot: ":by:bob" });
    expect(play.flying()).toEqual([]);
    says(play, "pay", ann, approve(), { slot: ":by:ann" });
    expect(play.flying()).toEqual(["pay"]);
    expect(play.row("pay").input).toEqual({ cents: 1 });
  });

  test("of an effect that has claimed its intent may not make it another one", () => {
    const intent = ({ input }: { input: unknown }) => ["pay", (input as { cents: number }).cents];
    const play = gated(editable, { input: Ask, intent, retry: { attempts: 1 } });
    says(play, "pay", ann, approve());
    play.claimed("pay", { answer: "CONFLICT", owner: "r9#1.1", argsHash: "a", asked: "b" });
    play.verb({ verb: "retry", input: { cents: 1 }, reason: "less" });
    expect(play.review?.message).toContain("it would be another effect");
  });
});

describe("what an edit may make of it", () => {
  const Pay = z.object({ cents: z.int().positive(), to: z.string(), note: z.string().optional() });
  type Of = { readonly input: z.infer<typeof Pay> };
  /** More than 500 wants two people, more than 5,000 the board, what is for eve is asked for by eve; up to 100 wants nobody. */
  const tiers = {
    when: ({ input }: Of) => input.cents > 100,
    rule: ({ input }: Of) => `${input.cents} cents`,
    quorum: ({ input }: Of) => (input.cents > 500 ? 2 : 1),
    by: ({ input }: Of) => (input.cents > 5_000 ? "board" : ["finance", "board"]),
    requester: ({ input }: Of) => (input.to === "ann" ? "ann" : "eve"),
    allow: ["approve", "edit", "reject"],
  };
  const start = (cents: number, more: object = {}) => {
    const play = new Play(line([call("pay", { approve: { ...tiers, ...more }, input: Pay })]), {
      input: { cents, to: "shop" },
    });
    return play;
  };
  const edited = (play: Play, input: object, as = ann) => says(play, "pay", as, approve({ input: input as Json }));

  test("the rule, the roles and the number of people follow from what is asked about", () => {
    expect(start(90).row("pay").approval).toMatchObject({ state: "not_needed", rule: "90 cents" });
    expect(start(400).row("pay").approval).toMatchObject({ quorum: 1, roles: ["finance", "board"], rule: "400 cents" });
    expect(start(6_000).row("pay").approval).toMatchObject({ quorum: 2, roles: ["board"], requester: "eve" });
  });

  test.each([
    ["more people", 400, { cents: 600, to: "shop" }, "with these arguments 2 must approve (600 cents)"],
    ["the editor's own", 400, { cents: 300, to: "ann" }, "ann asks for it with these arguments"],
    ["no input of the step", 400, { cents: -1, to: "shop" }, "the input does not fit: cents"],
  ])("an edit that wants %s is void", (_, cents, input, why) => {
    const play = start(cents);
    edited(play, input);
    expect(refusal(play)).toContain(why);
    expect(play.flying()).toEqual([]);
    expect(play.row("pay")).toMatchObject({ input: { cents }, approval: { state: "asking", n: 2, votes: [] } });
  });

  test("an edit that wants other roles is void, also those to whom it is only escalated", () => {
    const play = start(600);
    edited(play, { cents: 6_000, to: "shop" }, cfo);
    expect(refusal(play)).toBe("with these arguments others decide (board) (6000 cents)");
    const open = start(400, { by: ({ input }: Of) => (input.cents > 400 ? "board" : []), rule: undefined });
    expect(open.review?.message).toContain("by is no role");
    const anybody = start(400, {
      quorum: 1,
      by: undefined,
      escalate: undefined,
      rule: undefined,
      edits: undefined,
    });
    edited(anybody, { cents: 600, to: "shop" });
    expect(anybody.flying()).toEqual(["pay"]);
    const later = start(400, { by: "finance", escalate: [{ after: "1h", to: "board" }] });
    later.advance(hourMs);
    expect(later.row("pay").approval?.roles).toEqual(["finance", "board"]);
    edited(later, { cents: 300, to: "shop" }, cfo);
    expect(later.flying()).toEqual(["pay"]);
  });

  test("where anybody may decide, an edit that wants a role is void", () => {
    const gate = ({ input }: Of) => ({ allow: tiers.allow, ...(input.cents > 500 ? { by: "board" } : {}) });
    const play = new Play(line([call("pay", { approve: gate, input: Pay })]), { input: { cents: 400, to: "shop" } });
    edited(play, { cents: 600, to: "shop" });
    expect(refusal(play)).toBe("with these arguments others decide (board)");
  });

  test("less than people are asked about at all still takes those who were asked", () => {
    const play = start(600);
    edited(play, { cents: 50, to: "shop" });
    expect(play.row("pay").approval).toMatchObject({ state: "asking", n: 2, quorum: 2, votes: [{ by: "ann" }] });
    says(play, "pay", bob, approve(), { slot: ":by:bob" });
    expect(play.flying()).toEqual(["pay"]);
    expect(play.row("pay").input).toEqual({ cents: 50, to: "shop" });
  });

  test("a rule that cannot be read for the new arguments is no yes", () => {
    const odd = ({ input }: Of) => {
      if (input.cents === 7) throw input.to;
      return { ...tiers, by: "finance", allow: tiers.allow as never };
    };
    const play = new Play(line([call("pay", { approve: odd, input: Pay })]), { input: { cents: 400, to: "shop" } });
    edited(play, { cents: 7, to: "shop" });
    expect(refusal(play)).toBe("shop");
    const step = play.machine.saga.steps["pay"];
    if (step === undefined) throw new Error("there is no such step");
    expect([editableIn(step, { cents: 7, to: "shop" }), editableIn(step, { cents: 8, to: "shop" })]).toEqual([
      null,
      null,
    ]);
  });

  test("only the fields that may be edited, as their schema wants them", () => {
    const less = ({ input }: Of) => z.object({ cents: z.int().max(input.cents), note: z.string().optional() });
    const play = start(400, { edits: less });
    edited(play, { cents: 300, to: "home" });
    expect(refusal(play)).toBe("to may not be edited, only cents, note");
    edited(play, { cents: 450, to: "shop" });
    expect(refusal(play)).toContain("it may not be edited so: cents");
    edited(play, { cents: 300, to: "shop", more: 1 });
    expect(refusal(play)).toBe("more may not be edited, only cents, note");
    const noted = new Play(
      line([call("pay", { approve: { ...tiers, edits: z.object({ cents: z.int() }) }, input: Pay })]),
      { input: { cents: 400, to: "shop", note: "urgent" } },
    );
    edited(noted, { cents: 300, to: "shop" });
    expect(refusal(noted)).toBe("note may not be edited, only cents");
    edited(play, { cents: 300, to: "shop", note: "less" });
    expect(play.row("pay").input).toEqual({ cents: 300, to: "shop", note: "less" });
    expect(play.flying()).toEqual(["pay"]);
  });
});

describe("several must approve", () => {
  const both = { ...gate, quorum: 2 };

  test("different people", () => {
    const play = gated(both);
    says(play, "pay", ann, approve(), { slot: ":by:ann" });
    says(play, "pay", ann, approve(), { slot: ":by:ann2" });
    expect(play.row("pay").approval).toMatchObject({ state: "asking", n: 1, votes: [{ by: "ann" }] });
    says(play, "pay", bob, approve(), { slot: ":by:bob" });
    expect(play.flying()).toEqual(["pay"]);
    expect(wordsOn(play)).toEqual(["asking", "approve ann", "refused ann", "approve bob", "approved"]);
  });

  test("and one rejection rejects", () => {
    const play = gated(both);
    says(play, "pay", ann, approve(), { slot: ":by:ann" });
    says(play, "pay", bob, reject, { slot: ":by:bob" });
    expect(play.row("pay").call.error?.code).toBe("REJECTED");
  });
});

describe("talk", () => {
  test("a question back keeps it waiting, and its answer is recorded; the agent that asked may answer", () => {
    const play = gated({ ...gate, requester: "bot" });
    says(play, "pay", ann, { is: "ask_back", text: "why?" });
    says(play, "pay", { id: "bot", kind: "agent", roles: [] }, { is: "answer", text: "a refund" });
    expect(play.row("pay").approval?.talk).toMatchObject([
      { is: "question", by: "ann", text: "why?" },
      { is: "answer", by: "bot", text: "a refund" },
    ]);
    expect(play.status).toBe("waiting");
    expect(wordsOn(play)).toEqual(["asking", "ask_back ann", "answer bot"]);
  });

  test("somebody who may decide lets another one decide, but not whoever asked for it", () => {
    const play = gated({ ...gate, requester: "eve" });
    says(play, "pay", ann, { is: "delegate", to: "eve", reason: null });
    says(play, "pay", ann, { is: "delegate", to: "dan", reason: null });
    expect(play.row("pay").approval?.delegates).toEqual(["dan"]);
    says(play, "pay", person("dan"), approve());
    expect(play.flying()).toEqual(["pay"]);
    expect(wordsOn(play)).toEqual(["asking", "refused ann", "delegate ann", "approve dan", "approved"]);
  });

  test("has an end", () => {
    const play = gated();
    for (let at = 0; at < 100; at += 1) says(play, "pay", ann, { is: "ask_back", text: `${at}?` });
    says(play, "pay", ann, { is: "ask_back", text: "one more?" });
    expect(play.row("pay").approval?.talk).toHaveLength(100);
    for (let at = 0; at < 51; at += 1) says(play, "pay", ann, { is: "delegate", to: `p${at}`, reason: null });
    expect(play.row("pay").approval?.delegates).toHaveLength(50);
  });
});

describe("time", () => {
  test("over, nobody having decided, it is refused", () => {
    const play = gated();
    play.advance(hourMs - 1);
    expect(play.status).toBe("waiting");
    play.advance(1);
    expect(play.row("pay")).toMatchObject({
      approval: { state: "expired" },
      call: { state: "not_applied", proof: "take_back", error: { kind: "rejected", code: "EXPIRED" } },
    });
    expect(play.ordered).toEqual(["reserve", "undo reserve"]);
  });

  test("the write that says so counts only where no decision was sent in time", () => {
    const play = gated();
    play.advance(hourMs - 1);
    play.now += 1;
    expect(play.acquire().commit?.mustSee).toBe(true);
  });

  test("a word that was sent in time counts, and one that was not does not, whenever they are read", () => {
    const late = gated();
    const shown = late.row("pay").approval?.shown ?? "";
    const body = { type: "decide", seq: 2, n: 1, shown, as: ann, decision: approve() } as const;
    const readAt = (play: Play, at: number) => {
      play.run = { ...play.run, inbox: [{ slot: "approval:2.1", position: 9, commandId: "c", at, by: "ann", body }] };
      play.now += 2 * hourMs;
      play.acquire();
    };
    const intime = gated();
    readAt(intime, intime.now + hourMs - 1);
    expect(intime.flying()).toEqual(["pay"]);
    readAt(late, late.now + hourMs);
    expect(late.row("pay").call.error?.code).toBe("EXPIRED");
    expect(wordsOn(late)).toEqual(["asking", "refused ann", "expired"]);
  });

  test("over, a person may be asked what then: ask anew, or leave it", () => {
    const play = gated({ ...gate, onExpire: "review" });
    play.advance(hourMs);
    expect(play.review).toMatchObject({ reason: "approval_expired", seq: 2 });
    expect(play.review?.verbs).toEqual(["retry", "resolve", "compensate", "close"]);
    play.verb(retry());
    expect(play.row("pay").approval).toMatchObject({ state: "asking", n: 2, expiresAt: play.now + hourMs });
    expect(play.flying()).toEqual([]);
    play.advance(hourMs);
    play.verb(resolveAbsent);
    expect(play.row("pay").call.error).toMatchObject({ kind: "rejected", code: "EXPIRED" });
    expect(play.flying()).toEqual(["undo reserve"]);
  });

  test("over, what people did by hand can be said of a step, and a run given up", () => {
    const play = gated({ ...gate, onExpire: "review" });
    play.advance(hourMs);
    play.verb(resolveHappened({ id: "by hand" }));
    expect(play.flying()).toEqual(["ship"]);
    const left = gated({ ...gate, onExpire: "review" });
    left.advance(hourMs);
    left.verb(close);
    expect(left.status).toBe("failed");
    const back = gated({ ...gate, onExpire: "review" });
    back.advance(hourMs);
    back.verb(compensate);
    expect(back.flying()).toEqual(["undo reserve"]);
  });

  test("others may decide when nobody has, from their time on", () => {
    const play = gated({ ...gate, escalate: [{ after: "30m", to: "board" }] });
    says(play, "pay", cfo, approve());
    expect(play.flying()).toEqual([]);
    expect(play.due).toBe(play.now + hourMs / 2);
    play.advance(hourMs / 2);
    expect(play.row("pay").approval).toMatchObject({ roles: ["finance", "board"], escalations: [] });
    says(play, "pay", cfo, approve());
    expect(play.flying()).toEqual(["pay"]);
    expect(wordsOn(play)).toEqual(["asking", "refused cfo", "asking", "escalated", "approve cfo", "approved"]);
  });

  test("others may decide from their time on, before anybody has looked at the run", () => {
    const play = gated({ ...gate, escalate: [{ after: "30m", to: "board" }] });
    play.now += hourMs / 2;
    says(play, "pay", cfo, approve());
    expect(play.flying()).toEqual(["pay"]);
  });

  test("of an escalation that comes after the end never comes, and what asks first is seen to first", () => {
    const play = gated({ ...gate, escalate: [{ after: "2h", to: "board" }] });
    play.advance(3 * hourMs);
    expect(wordsOn(play)).toEqual(["asking", "expired"]);
    const waits = (name: string, expires: string) =>
      approval(name, { question: "?", input: z.json(), expires } as never);
    const both = new Play(
      played(
        {
          type: "parallel",
          states: {
            a: {
              initial: "x",
              states: { x: { invoke: { src: "late", onDone: "y", onError: "y" } }, y: { type: "final" } },
            },
            b: {
              initial: "x",
              states: { x: { invoke: { src: "early", onDone: "y", onError: "y" } }, y: { type: "final" } },
            },
          },
        },
        [waits("late", "2h"), waits("early", "1h")] as unknown as Step[],
      ),
    );
    both.now += 3 * hourMs;
    both.acquire();
    expect(both.taken().flatMap((taken) => (taken.what === "approval" ? [`${taken.seq} ${taken.state}`] : []))).toEqual(
      ["1 asking", "2 asking", "2 expired", "1 expired"],
    );
  });

  test("without an end others may decide from theirs on, for ever", () => {
    const play = gated({ by: "finance", escalate: [{ after: "1h", to: ["board"] }] });
    play.advance(hourMs);
    expect(play.due).toBeNull();
    says(play, "pay", cfo, approve());
    expect(play.flying()).toEqual(["pay"]);
  });

  test("without an end it waits for ever, and is due for nothing", () => {
    const play = gated({ by: "finance" });
    expect(play.due).toBeNull();
    says(play, "pay", ann, approve());
    expect(play.flying()).toEqual(["pay"]);
  });
});

describe("other arguments", () => {
  test("of a person who tries again are asked about anew, and older words are void", () => {
    const threshold = { ...gate, when: ({ input }: { input: unknown }) => (input as { cents: number }).cents > 500 };
    const play = gated(threshold, { onExhausted: "review", retry: { attempts: 1 }, input: Ask });
    says(play, "pay", ann, approve());
    play.answer("pay", notApplied());
    expect(play.review?.reason).toBe("exhausted");
    play.verb({ verb: "retry", input: { cents: 700 }, reason: "less" });
    expect(play.flying()).toEqual([]);
    expect(play.row("pay").approval).toMatchObject({ state: "asking", n: 2, votes: [] });
    const { run, machine, now } = play;
    const judged = { namespace: "ns", record: run.record, rows: run.rows, machine, now };
    expect(explain(judged).attempted).toMatchObject([
      { known: "happened" },
      { known: "did not happen", course: "wait" },
    ]);
    says(play, "pay", bob, approve());
    play.answer("pay", notApplied());
    play.verb(retry());
    expect(play.flying()).toEqual(["pay"]);
    play.answer("pay", notApplied());
    play.verb({ verb: "retry", input: { cents: 100 }, reason: "less" });
    expect(play.row("pay").approval).toMatchObject({ state: "not_needed", n: 3 });
    expect(play.flying()).toEqual(["pay"]);
  });

  test("about which nobody can be asked are not carried out, however often it is tried", () => {
    const fussy = ({ input }: { input: unknown }) => {
      if ((input as { cents: number }).cents === 1) throw new Error("odd");
      return gate;
    };
    const play = gated(fussy, { onExhausted: "review", retry: { attempts: 1 }, input: Ask });
    says(play, "pay", ann, approve());
    play.answer("pay", notApplied());
    play.verb({ verb: "retry", input: { cents: 1 }, reason: "try" });
    expect(play.review?.message).toContain("what people are asked cannot be said");
    play.verb(retry());
    expect(play.review?.message).toContain("what people are asked cannot be said");
    expect(play.ordered.filter((step) => step === "pay")).toEqual(["pay"]);
  });
});

test("an asking whose input fits its schema no more, since other code serves it, is a defect", () => {
  let isStrict = false;
  const input = z.json().refine(() => !isStrict, "too old");
  const play = gated(gate, { onExhausted: "review", retry: { attempts: 1 }, input });
  says(play, "pay", ann, reject);
  expect(play.status).toBe("unwinding");
  const parked = gated({ ...gate, onExpire: "review" }, { input });
  parked.advance(hourMs);
  isStrict = true;
  parked.verb(retry());
  expect(parked.review?.message).toContain("the input does not fit: too old");
});

test("a run that does something else meanwhile is among those that ask people, and not any more", () => {
  const asks = { initial: "x", states: { x: { invoke: { src: "pay", onDone: "y" } }, y: { type: "final" } } };
  const works = { initial: "x", states: { x: { invoke: { src: "book", onDone: "y" } }, y: { type: "final" } } };
  const saga = played({ type: "parallel", states: { a: asks, b: works } }, [
    call("pay", { approve: gate }),
    call("book"),
  ]);
  const play = new Play(saga);
  expect(play.last?.commit).toMatchObject({ join: ["asking"], openSlots: ["approval:1.1"] });
  expect(play.run.record).toMatchObject({ status: "running", waitingFor: null, asks: [1] });
  says(play, "pay", ann, approve());
  expect(play.last?.commit).toMatchObject({ leave: ["asking"], openSlots: [] });
});

describe("a tool behind a gate", () => {
  const mail = call("mail", { effect: "once", approve: { ...gate, allow: ["approve", "edit", "reject"] } });
  const withAgent = () => new Play(line([call("agent", { effect: "none", uses: { mail } }), call("ship")]));
  const to = { key: ["mail", "ann"], input: { to: "ann" } };
  const suspended = { kind: "suspended", reason: "people are asked" } as const;

  test("suspends its action, which is made again once they have decided", () => {
    const play = withAgent();
    const ask = play.ask("agent", "mail", to);
    expect(play.toolAnswer(ask)).toEqual({ is: "suspended", why: "people are asked first: Pay?" });
    play.answer("agent", suspended);
    expect(play.run.record).toMatchObject({ status: "waiting", waitingFor: "approval" });
    expect([play.flying(), play.held]).toEqual([[], false]);
    says(play, "mail", ann, approve({ input: { to: "bob" } }));
    expect(play.flying().toSorted()).toEqual(["agent", "mail"]);
    play.answer("mail", ok("m-1"));
    expect(play.toolAnswer(play.ask("agent", "mail", to))).toEqual({ is: "output", output: { id: "m-1" } });
    expect(play.row("mail").input).toEqual({ to: "bob" });
  });

  test("stays the effect that its own intent names; one that its caller names stays whatever is edited", () => {
    const intent = ({ input }: { input: unknown }) => ["mail", (input as { to: string }).to];
    const own = call("mail", { effect: "once", intent, approve: { ...gate, allow: ["approve", "edit", "reject"] } });
    const play = new Play(line([call("agent", { effect: "none", uses: { mail: own } })]));
    play.ask("agent", "mail", { input: { to: "ann", text: "hello" } });
    play.answer("agent", suspended);
    says(play, "mail", ann, approve({ input: { to: "bob", text: "hello" } }));
    expect(refusal(play)).toContain("it would be another effect");
    says(play, "mail", ann, approve({ input: { to: "ann", text: "good day" } }));
    expect(play.row("mail")).toMatchObject({ intent: { key: ["mail", "ann"] }, approval: { state: "approved" } });
  });

  test("that is refused is answered as not applied, and the action may do without", () => {
    const play = withAgent();
    play.ask("agent", "mail", to);
    play.answer("agent", suspended);
    says(play, "mail", ann, reject);
    expect(play.toolAnswer(play.ask("agent", "mail", to))).toMatchObject({
      is: "failed",
      failure: { code: "REJECTED" },
    });
    play.answer("agent", ok());
    expect(play.flying()).toEqual(["ship"]);
    expect(play.ordered).not.toContain("mail");
  });

  test("is withdrawn with its action", () => {
    const play = withAgent();
    play.ask("agent", "mail", to);
    play.cancel();
    expect(play.status).toBe("cancelled");
    expect(play.row("mail").call.state).toBe("withdrawn");
  });
});

test("a fork asks its own people, whoever let the other run go", () => {
  const play = gated();
  says(play, "pay", ann, approve());
  play.answer("pay", refused());
  play.answer("undo reserve", ok());
  const { run, machine, now, log } = play;
  const judged = { namespace: "ns", record: run.record, rows: run.rows, machine, now, log };
  const moment = momentBefore(judged, machine, 2);
  if (!moment.ok) throw new Error(moment.problem);
  const { record, rows } = fork({ judged, machine, moment, id: "f", now, plan: "p", by: "ops", reason: "again" });
  const forked = new Play(line([call("reserve"), call("pay", { approve: gate }), call("ship")]), {
    machine,
    idle: true,
  });
  forked.run = { record, rows, inbox: [] };
  expect(rows[1]?.approval).toBeNull();
});

test("an undone run that had asked is asked nothing more", () => {
  const play = gated();
  play.cancel();
  expect(play.last?.commit?.openSlots).toEqual([]);
  expect(play.run.record.asks).toEqual([]);
});
