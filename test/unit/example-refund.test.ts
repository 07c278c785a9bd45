/** `sagas/refund.ts`: what the agent does alone, what it asks people for, and what comes of each answer. */
import { describe, expect, test } from "vitest";
import { refund } from "../../sagas/index.ts";
import type { DecisionWord, Principal } from "../../src/index.ts";
import { askedBy, dayMs, effectsFor, hourMs, peopleTop, person } from "../support/people.ts";

const [ann, bob, eve] = [person("ann", "support-lead"), person("bob", "finance"), person("eve", "support-lead")];
const robot: Principal = { id: "robot", kind: "agent", roles: ["support-lead", "finance"] };
const yes: DecisionWord = { is: "approve" };

const aCase = (id: string, cents: number, orderId = `order-${id}`) => ({
  id,
  orderId,
  cents,
  email: "ada@example.com",
  openedBy: "eve",
});

async function started(cents: number) {
  const top = await peopleTop([refund]);
  const run = await top.start(refund, aCase("c1", cents));
  const seen = () => effectsFor(top.world, run);
  /** What the customer was told. */
  const mails = () =>
    top.world
      .service("mail")
      .entries()
      .filter(({ kind }) => kind === "effect")
      .map(({ args }) => args?.["subject"]);
  const refundRow = async () => (await run.ledger()).find(({ step }) => step === "refundOrder");
  return { ...top, run, seen, mails, refundRow };
}

describe("below the threshold", () => {
  test("nobody is asked, and the rule by which that was so is recorded", async () => {
    const { run, seen, mails, refundRow, client } = await started(5_000);
    expect(await run.get()).toMatchObject({ status: "completed" });
    expect((await client.approvals()).approvals).toEqual([]);
    expect(seen()).toEqual(["bank.refund", "mail.send"]);
    expect(mails()).toEqual(["Your refund of 50.00 EUR (bank_1)"]);
    expect((await refundRow())?.approval).toMatchObject({
      state: "not_needed",
      rule: "up to 50.00 EUR the agent refunds alone",
      votes: [],
    });
  });

  test("however the model goes about it, each order is refunded once, and once for ever", async () => {
    const { world, start } = await peopleTop([refund]);
    for (let n = 1; n <= 8; n += 1) await start(refund, aCase(`c${n}`, 4_000));
    await start(refund, aCase("again", 4_000, "order-c1"));
    expect(world.service("bank").counts()).toEqual({ arrivals: 8, effects: 8 });
    expect(world.service("mail").counts().effects).toBe(9);
  });
});

describe("above it", () => {
  test("a person is asked: who, for what exactly, by which rule, until when", async () => {
    const { run, seen, pass } = await started(5_001);
    expect(await run.get()).toMatchObject({ status: "waiting", waitingFor: "approval" });
    expect(await askedBy(run)).toMatchObject({
      step: "refundOrder",
      kind: "gate",
      question: "Refund 50.01 EUR for order-c1?",
      rule: "more than 50.00 EUR: a person decides",
      input: { orderId: "order-c1", cents: 5_001, openedBy: "eve" },
      roles: ["support-lead", "finance"],
      quorum: 1,
      requester: "eve",
      otherwise: "it is rejected",
      edits: { type: "object", required: ["cents"], properties: { cents: { maximum: 5_001 } } },
    });
    const { since, expiresAt } = await askedBy(run);
    expect((expiresAt ?? 0) - since).toBe(2 * dayMs);
    await pass(dayMs);
    expect(seen()).toEqual([]);
    expect(await run.get()).toMatchObject({ status: "waiting" });
  });

  test("approved, it is paid back and the customer told, once", async () => {
    const { run, says, seen, mails } = await started(30_000);
    expect(await says(run, ann, yes)).toBe("accepted");
    expect(await run.get()).toMatchObject({ status: "completed" });
    expect(seen()).toEqual(["bank.refund", "mail.send"]);
    expect(mails()).toEqual(["Your refund of 300.00 EUR (bank_1)"]);
  });

  test("rejected, nothing is paid, and the customer hears that", async () => {
    const { run, says, seen, mails } = await started(30_000);
    expect(await says(run, bob, { is: "reject", reason: "it was worn" })).toBe("accepted");
    expect(seen()).toEqual(["mail.send"]);
    expect(mails()).toEqual(["We cannot refund order-c1"]);
    expect(await run.result()).toMatchObject({ ref: null, cents: 0, declined: expect.stringContaining("it was worn") });
  });

  test("decided on by nobody for two days, it is rejected", async () => {
    const { run, seen, pass, says } = await started(30_000);
    await pass(2 * dayMs - hourMs);
    expect(seen()).toEqual([]);
    await pass(hourMs);
    expect(seen()).toEqual(["mail.send"]);
    expect(await run.result()).toMatchObject({ declined: expect.stringContaining("nobody has decided") });
    expect(await says(run, ann, yes)).toBe("nobody is asked");
  });

  test("lowered, the lower amount is paid; the amount cannot be raised, nor the order be another", async () => {
    const { run, says, work, seen, mails, world, refundRow } = await started(30_000);
    const input = { orderId: "order-c1", cents: 30_000, openedBy: "eve" };
    const edited = (change: object): DecisionWord => ({ is: "approve", input: { ...input, ...change } });
    expect(await says(run, ann, edited({ cents: 30_001 }))).toContain("INPUT_INVALID");
    expect(await says(run, ann, edited({ orderId: "order-9" }))).toContain("orderId may not be edited, only cents");
    expect(await says(run, ann, edited({ cents: -1 }))).toContain("cents");
    const { changes } = await run.decide(await askedBy(run), edited({ cents: 12_000 }), { as: ann });
    expect(changes).toEqual([{ path: "cents", before: 30_000, after: 12_000 }]);
    await work();
    expect(seen()).toEqual(["bank.refund", "mail.send"]);
    expect(world.service("bank").entries().at(-1)?.args).toEqual({ orderId: "order-c1", cents: 12_000 });
    expect(mails()).toEqual(["Your refund of 120.00 EUR (bank_1)"]);
    expect((await refundRow())?.approval?.votes).toMatchObject([{ by: "ann", decision: "edit" }]);
  });

  test("whoever opened the case may not decide on it, nor anybody without the role, nor an agent", async () => {
    const { run, says, seen } = await started(30_000);
    expect(await says(run, eve, yes)).toContain("APPROVAL_FORBIDDEN");
    expect(await says(run, person("zoe", "sales"), yes)).toContain("APPROVAL_FORBIDDEN");
    expect(await says(run, robot, yes)).toContain("robot is an agent: only a person decides");
    expect(seen()).toEqual([]);
  });

  test("a question is asked and answered, and it goes on waiting", async () => {
    const { run, says } = await started(30_000);
    await says(run, ann, { is: "ask_back", text: "was it worn?" });
    expect(await says(run, robot, { is: "answer", text: "no" })).toBe("accepted");
    expect((await askedBy(run)).talk).toMatchObject([{ by: "ann" }, { by: "robot", text: "no" }]);
    expect(await says(run, ann, yes)).toBe("accepted");
  });
});

describe("far above it", () => {
  test("two different people must agree", async () => {
    const { run, says, seen } = await started(80_000);
    expect(await askedBy(run)).toMatchObject({ quorum: 2, rule: "more than 500.00 EUR: two people decide" });
    expect(await says(run, ann, yes)).toBe("accepted");
    expect(seen()).toEqual([]);
    expect(await says(run, ann, yes)).toContain("APPROVAL_TAKEN");
    expect(await says(run, eve, yes)).toContain("APPROVAL_FORBIDDEN");
    expect(seen()).toEqual([]);
    expect(await says(run, bob, yes)).toBe("accepted");
    expect(seen()).toEqual(["bank.refund", "mail.send"]);
  });

  test("one rejection is enough", async () => {
    const { run, says, seen } = await started(80_000);
    await says(run, ann, yes);
    await says(run, bob, { is: "reject", reason: "too much" });
    expect(seen()).toEqual(["mail.send"]);
  });
});
