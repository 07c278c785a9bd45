/** Which requests to a run are somebody's act, and what is kept of one. */
import { expect, test } from "vitest";
import { actOf, type InboxBody, unnamed, type VerbCommand } from "../../src/core/index.ts";

const run = { tenant: "acme", id: "r-1" };
const told = (body: InboxBody, by = "ann") => {
  const act = actOf(run, by, body);
  return act === null ? null : [act.act, act.reason, act.about];
};
const verb = (command: VerbCommand, plan?: string) =>
  told({ type: "verb", verb: command, ...(plan === undefined ? {} : { plan }) });
const decide = (decision: Extract<InboxBody, { type: "decide" }>["decision"]) =>
  told({ type: "decide", seq: 1, n: 1, shown: "d", as: { kind: "person", id: "ann", roles: [] }, decision });

test("an act names its run and who did it", () => {
  const act = actOf(run, "ann", { type: "cancel", mode: "kill", reason: "stuck" });
  expect(act).toEqual({ act: "kill", by: "ann", reason: "stuck", run, about: null });
});

test("a signal is an act where somebody is named, and traffic where nobody is", () => {
  const body = { type: "event", event: "PAID", payload: { card: "secret" } } as const;
  expect(told(body)).toEqual(["signal", null, "PAID"]);
  expect(told(body, unnamed)).toBeNull();
});

test("cancels, pauses, undoing and moving are told by their words", () => {
  expect(told({ type: "cancel", mode: "compensate", reason: "why" })).toEqual(["cancel", "why", null]);
  expect(told({ type: "cancel", mode: "stop", reason: "why" })).toEqual(["stop", "why", null]);
  expect(told({ type: "control", control: "pause", reason: "why" })).toEqual(["pause", "why", null]);
  expect(told({ type: "undo", reason: "why", despitePivot: false })).toEqual(["undo", "why", null]);
  expect(told({ type: "undo", reason: "why", despitePivot: false, plan: "p" })).toEqual(["undo", "why", "plan p"]);
  expect(told({ type: "migrate", to: 3, hash: "h", reason: "why" })).toEqual(["migrate", "why", "version 3"]);
});

test("verbs are told with what they are about, and never with a value", () => {
  const resolve = {
    verb: "resolve",
    as: "happened",
    output: { secret: 1 },
    reference: null,
    evidence: "seen",
  } as const;
  expect(verb(resolve)).toEqual(["resolve", "seen", "happened"]);
  expect(verb({ verb: "probe" })).toEqual(["probe", null, null]);
  expect(verb({ verb: "retry", input: { secret: 1 }, reason: "why" })).toEqual(["retry", "why", null]);
  expect(verb({ verb: "retry", input: undefined, reason: "why" }, "p")).toEqual(["retry", "why", "plan p"]);
  for (const word of ["skip", "discard", "compensate", "close"] as const) {
    expect(verb({ verb: word, reason: "why" })).toEqual([word, "why", null]);
  }
  expect(verb({ verb: "rewind", to: "paid", reason: "why", despite: false })).toEqual(["rewind", "why", "paid"]);
  expect(verb({ verb: "raise", budget: "cents", to: 900, reason: "why" })).toEqual(["raise", "why", "cents to 900"]);
});

test("decisions are told, what is asked and answered is not repeated", () => {
  expect(decide({ is: "approve", reason: null, input: { secret: 1 } })).toEqual(["approve", null, null]);
  expect(decide({ is: "reject", reason: "no" })).toEqual(["reject", "no", null]);
  expect(decide({ is: "delegate", to: "bob", reason: "away" })).toEqual(["delegate", "away", "bob"]);
  expect(decide({ is: "ask_back", text: "secret?" })).toEqual(["ask_back", null, null]);
  expect(decide({ is: "answer", text: "secret!" })).toEqual(["answer", null, null]);
});

test("what engines tell each other is nobody's act", () => {
  const result = { kind: "not_called", reason: "x" } as const;
  const bodies: readonly InboxBody[] = [
    { type: "settle", seq: 1, send: 1, side: "action", result },
    { type: "late", seq: 1, send: 1, side: "action", result },
    { type: "child", seq: 1, run: "c" },
    { type: "share", shares: null },
    { type: "turn" },
    { type: "intent", seq: 1, owner: "o", became: "done" as never }, // which word does not matter
  ];
  expect(bodies.map((body) => told(body))).toEqual(bodies.map(() => null));
});
