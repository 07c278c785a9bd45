/** Deciding through the client, in virtual time: links that are for one person, one answer, one time; lists by role; repeats. */
import { describe, expect, test } from "vitest";
import { refund } from "../../sagas/index.ts";
import type { DecisionWord, Principal } from "../../src/index.ts";
import { askedBy, dayMs, effectsFor, hourMs, peopleTop, person } from "../support/people.ts";

const [ann, bob] = [person("ann", "finance"), person("bob", "support-lead")];
const yes: DecisionWord = { is: "approve" };
const no: DecisionWord = { is: "reject", reason: "too much" };
const machines: readonly Principal[] = [
  { id: "robot", kind: "agent", roles: ["finance"] },
  { id: "cron", kind: "service", roles: ["finance"] },
];

async function asking(cents = 30_000) {
  const top = await peopleTop([refund]);
  const input = { id: "c1", orderId: "order-1", cents, email: "ada@example.com", openedBy: "eve" };
  const run = await top.start(refund, input);
  const pending = await askedBy(run);
  const link = (who: Principal, expires = "1d") => run.decisionToken(pending, { for: who, expires: expires as "1d" });
  return { ...top, run, pending, link, seen: () => effectsFor(top.world, run) };
}

describe("a link", () => {
  test("shows what is asked and changes nothing; decided by, it is used, and the same answer is the same decision", async () => {
    const { client, run, link, seen, work } = await asking();
    const token = await link(ann);
    const { revision } = await run.get();
    for (let n = 0; n < 3; n += 1) {
      expect(await client.readDecisionToken(token)).toMatchObject({
        for: ann,
        isUsed: false,
        run: "c1",
        approval: { question: "Refund 300.00 EUR for order-1?" },
        decided: null,
      });
    }
    expect((await run.get()).revision).toBe(revision);
    expect(await client.decideByToken(token, yes)).toMatchObject({ is: "accepted" });
    await work();
    expect(await client.decideByToken(token, yes)).toMatchObject({ is: "duplicate" });
    await expect(client.decideByToken(token, no)).rejects.toMatchObject({ code: "TOKEN_USED" });
    const after = await client.readDecisionToken(token);
    expect(after).toMatchObject({ isUsed: true, approval: null, decided: { by: "ann", decision: "approve" } });
    expect(seen()).toEqual(["bank.refund", "mail.send"]);
  });

  test("is good for as long as it was made for, and no longer than it is asked", async () => {
    const { client, link, pass, pending } = await asking();
    const [short, long] = [await link(ann, "2h"), await link(ann, "30d")];
    expect((await client.readDecisionToken(long)).expiresAt).toBe(pending.expiresAt);
    await pass(2 * hourMs);
    await expect(client.decideByToken(short, yes)).rejects.toMatchObject({ code: "TOKEN_GONE" });
    expect(await client.readDecisionToken(long)).toMatchObject({ isUsed: false });
    await pass(2 * dayMs);
    await expect(client.decideByToken(long, yes)).rejects.toMatchObject({ code: "TOKEN_GONE" });
  });

  test("is not made for whoever may not decide, nor for longer than thirty days, nor for no time", async () => {
    const { link } = await asking();
    for (const who of [...machines, person("eve", "finance"), person("zoe", "sales")]) {
      await expect(link(who)).rejects.toMatchObject({ code: "APPROVAL_FORBIDDEN" });
    }
    for (const expires of ["31d", "0s"])
      await expect(link(ann, expires)).rejects.toMatchObject({ code: "INPUT_INVALID" });
  });

  test("is about what was shown: once somebody has edited that, it decides nothing", async () => {
    const { client, run, pending, link, work, seen } = await asking(80_000);
    const token = await link(bob);
    const input = { orderId: "order-1", cents: 60_000, openedBy: "eve" };
    await run.decide(pending, { is: "approve", input }, { as: ann });
    await work();
    expect(await askedBy(run)).toMatchObject({ n: 2, input, votes: [{ by: "ann", decision: "edit" }] });
    expect(await client.readDecisionToken(token)).toMatchObject({ approval: null });
    await expect(client.decideByToken(token, yes)).rejects.toMatchObject({ code: "APPROVAL_STALE" });
    expect(seen()).toEqual([]);
    const next = await run.decisionToken(await askedBy(run), { for: bob, expires: "1h" });
    await client.decideByToken(next, yes);
    await work();
    expect(seen()).toEqual(["bank.refund", "mail.send"]);
  });

  test("that nobody made is not known", async () => {
    const { client } = await asking();
    for (const token of ["", "x".repeat(44), "../../etc", "a b"]) {
      await expect(client.readDecisionToken(token)).rejects.toMatchObject({ code: "TOKEN_GONE" });
    }
  });
});

describe("deciding", () => {
  test("again under the same command id changes nothing, also when the run has ended meanwhile", async () => {
    const { run, pending, work, seen } = await asking();
    const say = () => run.decide(pending, yes, { as: ann, commandId: "click-1" });
    expect((await say()).is).toBe("accepted");
    expect((await say()).is).toBe("duplicate");
    await work();
    expect((await run.get()).status).toBe("completed");
    expect((await say()).is).toBe("duplicate");
    expect(seen()).toEqual(["bank.refund", "mail.send"]);
  });

  test("by a machine is refused, whatever its roles", async () => {
    const { run, pending, seen } = await asking();
    for (const as of machines) {
      for (const word of [yes, no, { is: "delegate", to: "robot" }, { is: "ask_back", text: "?" }] as const) {
        await expect(run.decide(pending, word, { as })).rejects.toMatchObject({ code: "APPROVAL_FORBIDDEN" });
      }
    }
    expect((await askedBy(run)).votes).toEqual([]);
    expect(seen()).toEqual([]);
  });

  test("on what was cancelled is told that it is not asked any more", async () => {
    const { run, pending, work, seen } = await asking();
    await run.cancel({ reason: "the customer has changed her mind", by: "bob" });
    await work();
    await expect(run.decide(pending, yes, { as: ann })).rejects.toMatchObject({ code: "APPROVAL_GONE" });
    expect((await run.get()).status).toBe("cancelled");
    expect(seen()).toEqual([]);
  });
});

test("the list shows each role what it may decide, and stands in the inbox", async () => {
  const { client, run, pending } = await asking();
  const listed = async (role?: string) =>
    (await client.approvals(role === undefined ? {} : { role })).approvals.map(({ run: id }) => id);
  expect([await listed(), await listed("finance"), await listed("sales")]).toEqual([["c1"], ["c1"], []]);
  expect((await client.inbox()).items).toMatchObject([
    {
      kind: "approval",
      id: run.id,
      message: pending.question,
      step: "refundOrder",
      approval: { seq: pending.seq },
      verbs: [],
    },
  ]);
});
