/** What may be written about how people are asked: judged when a step is declared, and for each input what follows from it. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { approval, type GateOptions, step } from "../../src/saga/index.ts";

type Of = { readonly cents: number };
const input = z.object({ cents: z.number() });

/** A step behind a gate that a compiler might not let through. */
function gated(approve: unknown) {
  const options = { input, effect: "none", action: () => null, approve };
  return step("pay", options as never).spec;
}

const termsOf = (approve: unknown, cents = 1) => gated(approve).approval?.terms({ input: { cents } });

describe("a gate is refused where it is declared", () => {
  test.each([
    ["is no gate", 7, "neither options nor a function"],
    ["has a threshold that is none", { when: 500 }, "when is no function"],
    ["asks nothing", { question: " " }, "question is no text"],
    ["has an empty rule", { rule: "" }, "rule is no text"],
    ["names no role", { by: [] }, "by is no role"],
    ["wants nobody", { quorum: 0 }, "quorum is a whole number"],
    ["wants half a person", { quorum: 1.5 }, "quorum is a whole number"],
    ["has an empty requester", { requester: "" }, "requester is no text"],
    ["can only be rejected", { allow: ["reject"] }, "allow names approve and reject"],
    ["says what may be edited, and lets nobody edit", { edits: z.object({}) }, "allow names no edit"],
    ["edits a number", { allow: ["approve", "edit", "reject"], edits: z.number() }, "edits is no z.object"],
    ["gives no time", { expires: 0 }, "expires is no time at all"],
    ["gives a time that is none", { expires: "soon" }, "expires"],
    ["ends as nobody knows", { onExpire: "approve" }, 'onExpire is "reject" or "review"'],
    ["adds roles where anybody decides", { escalate: [{ after: "1d", to: "board" }] }, "without by anybody may decide"],
    ["adds nobody", { by: "finance", escalate: [{ after: "1d", to: "" }] }, "escalate.to is no role"],
  ])("that %s", (_, approve, why) => {
    expect(() => gated(approve)).toThrow(why);
  });

  test("with everything that is wrong with it at once", () => {
    expect(() => gated({ quorum: -1, question: "", onExpire: "never" })).toThrow(
      /question is no text[\s\S]*quorum[\s\S]*onExpire/,
    );
  });
});

describe("for each input", () => {
  const tiers: GateOptions<Of> = {
    when: (view) => view.input.cents > 10,
    rule: (view) => `${view.input.cents} cents`,
    question: (view) => `Pay ${view.input.cents}?`,
    by: (view) => (view.input.cents > 100 ? ["board"] : "finance"),
    quorum: (view) => (view.input.cents > 100 ? 2 : 1),
    requester: (view) => (view.input.cents > 1_000 ? "eve" : null),
    allow: ["approve", "edit", "reject"],
    edits: (view) => z.object({ cents: z.int().max(view.input.cents) }),
  };

  test("rule, question, roles, number, requester and what may be edited follow from it", () => {
    expect(termsOf(tiers, 5)).toMatchObject({ asks: false, rule: "5 cents" });
    expect(termsOf(tiers, 50)).toMatchObject({
      asks: true,
      question: "Pay 50?",
      roles: ["finance"],
      quorum: 1,
      requester: null,
    });
    const large = termsOf(tiers, 5_000);
    expect(large).toMatchObject({ asks: true, rule: "5000 cents", roles: ["board"], quorum: 2, requester: "eve" });
    expect(large?.edits?.safeParse({ cents: 5_001 }).success).toBe(false);
  });

  test("a text is said of every input, with a not where nobody is asked", () => {
    const gate = { when: (view: { input: Of }) => view.input.cents > 10, rule: "more than 10" };
    expect([termsOf(gate, 5)?.rule, termsOf(gate, 50)?.rule]).toEqual(["not: more than 10", "more than 10"]);
    expect(termsOf(() => false)).toMatchObject({ asks: false, rule: null, question: "May pay be carried out?" });
    expect(termsOf(() => ({ rule: (view: { input: Of }) => `it is ${view.input.cents}` }), 3)?.rule).toBe("it is 3");
  });

  test.each([
    ["a threshold that says neither yes nor no", { when: () => "yes" }, "when gives yes"],
    ["a role that is none", { by: () => [] }, "by is no role"],
    ["a number that is none", { quorum: () => "two" }, "quorum is a whole number"],
    ["a question that is none", { question: () => null }, "question is no text"],
    ["a gate that gives a number", () => 500, "neither false nor"],
    ["a function where a function gave one", { by: () => () => "finance" }, "by is no role"],
    [
      "a schema of something else",
      { allow: ["approve", "edit", "reject"], edits: () => z.string() },
      "edits is no z.object",
    ],
  ])("%s is no yes: it throws", (_, approve, why) => {
    expect(() => termsOf(approve)).toThrow(why);
  });
});

test("an approval is a step of its own kind, whose code nobody calls", () => {
  const { spec } = approval("board", { input, question: "Sure?", form: z.object({ note: z.string() }) });
  expect(spec).toMatchObject({ kind: "approval", effect: "none" });
  expect(() => spec.action({} as never)).toThrow("carried out by people");
  expect(spec.approval?.terms({ input: { cents: 1 } })).toMatchObject({ asks: true, question: "Sure?", quorum: 1 });
});
