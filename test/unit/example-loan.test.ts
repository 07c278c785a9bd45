/** `sagas/loan.ts`: documents that come when they like, a manager's approval, and a loan that is clawed back. */
import { describe, expect, test } from "vitest";
import { loan } from "../../sagas/index.ts";
import type { DecisionWord } from "../../src/index.ts";
import { askedBy, dayMs, effectsFor, peopleTop, person } from "../support/people.ts";

const mia = person("mia", "manager");
const dora = person("dora", "director");
const adam = person("adam", "manager");
const terms = { ratePercent: 4.5, security: "a house" };
const yes: DecisionWord = { is: "approve", form: terms };

async function applied() {
  const top = await peopleTop([loan]);
  const application = { id: "l1", applicant: "Ada", cents: 2_000_000, adviser: "adam" };
  const handle = await top.start(loan, application);
  const run = top.client.run("l1", { saga: loan });
  const sends = async (event: "IDENTITY" | "PAYSLIP", ref: string) => {
    await run.signal(event, { ref });
    await top.work();
  };
  const checked = async (passed: boolean) => {
    await run.signal("CHECKED", { passed, by: "carl" });
    await top.work();
  };
  const seen = () => effectsFor(top.world, handle);
  return { ...top, run, sends, checked, seen };
}

/** Both documents are there, and a manager is asked. */
async function asked(payslip = "slip-1") {
  const top = await applied();
  await top.sends("IDENTITY", "id-1");
  await top.sends("PAYSLIP", payslip);
  return top;
}

/** It is paid out. */
async function lent() {
  const top = await asked();
  expect(await top.says(top.run, mia, yes)).toBe("accepted");
  expect(top.seen()).toEqual(["bureau.enquire", "bank.book", "bank.disburse"]);
  return top;
}

describe("documents", () => {
  test.each([
    ["IDENTITY", "PAYSLIP"],
    ["PAYSLIP", "IDENTITY"],
  ] as const)("%s and then %s: the bureau is asked when both are there, not before", async (first, second) => {
    const { sends, seen, run, pass } = await applied();
    await sends(first, "doc-1");
    await pass(3 * dayMs);
    expect(seen()).toEqual([]);
    expect(await run.get()).toMatchObject({ status: "waiting", waitingFor: "event" });
    await sends(second, "doc-2");
    expect(seen()).toEqual(["bureau.enquire"]);
    expect(await run.get()).toMatchObject({ status: "waiting", waitingFor: "approval" });
  });

  test("that do not come in thirty days: it ends, and nothing was done", async () => {
    const { sends, seen, run, pass } = await applied();
    await sends("IDENTITY", "id-1");
    await pass(30 * dayMs);
    expect(await run.result()).toEqual({ end: "abandoned", cents: 0 });
    expect(seen()).toEqual([]);
  });
});

describe("the manager", () => {
  test("is asked about exactly what would be lent, and by whom it was asked for", async () => {
    const { run } = await asked();
    expect(await askedBy(run)).toMatchObject({
      kind: "approval",
      question: "Lend 20000.00 EUR to Ada (score 640)?",
      input: { loanId: "l1", applicant: "Ada", cents: 2_000_000, points: 640, adviser: "adam" },
      roles: ["manager"],
      requester: "adam",
      otherwise: "it is rejected",
      form: { type: "object", required: ["ratePercent", "security"] },
    });
  });

  test("is not asked where the score is too low", async () => {
    const { run, seen } = await asked("low-1");
    expect(await run.result()).toEqual({ end: "declined", cents: 0 });
    expect(seen()).toEqual(["bureau.enquire"]);
  });

  test("fills in the terms, which must fit; with them the loan is booked and paid out", async () => {
    const { run, says, seen, world } = await asked();
    expect(await says(run, mia, { is: "approve" })).toContain("INPUT_INVALID");
    const dear = { ...terms, ratePercent: 80 };
    expect(await says(run, mia, { is: "approve", form: dear })).toContain("ratePercent");
    expect(seen()).toEqual(["bureau.enquire"]);
    expect(await says(run, mia, yes)).toBe("accepted");
    const [book, disburse] = world.effects().filter(({ service }) => service === "bank");
    expect(book?.args).toEqual({ loanId: "l1", cents: 2_000_000, ...terms });
    expect(disburse?.args).toMatchObject({ applicant: "Ada", cents: 2_000_000 });
  });

  test("may lower the amount and not raise it", async () => {
    const { run, says, world } = await asked();
    const { input } = await askedBy(run);
    const edited = (cents: number): DecisionWord => ({ ...yes, is: "approve", input: { ...(input as object), cents } });
    expect(await says(run, mia, edited(3_000_000))).toContain("it may not be edited so: cents");
    expect(await says(run, mia, edited(1_500_000))).toBe("accepted");
    expect(world.effects().at(-1)).toMatchObject({ action: "disburse", args: { cents: 1_500_000 } });
  });

  test("is not the adviser, and may let somebody else decide", async () => {
    const { run, says, seen } = await asked();
    expect(await says(run, adam, yes)).toContain("APPROVAL_FORBIDDEN");
    expect(await says(run, person("zoe"), yes)).toContain("APPROVAL_FORBIDDEN");
    expect(await says(run, mia, { is: "delegate", to: "adam" })).toContain("APPROVAL_FORBIDDEN");
    expect(await says(run, mia, { is: "delegate", to: "zoe", reason: "on holiday" })).toBe("accepted");
    expect(seen()).toEqual(["bureau.enquire"]);
    expect(await says(run, person("zoe"), yes)).toBe("accepted");
    expect(seen()).toEqual(["bureau.enquire", "bank.book", "bank.disburse"]);
  });

  test("who says nothing for two days is not the only one any more: a director may decide as well", async () => {
    const { run, says, pass } = await asked();
    expect(await says(run, dora, yes)).toContain("APPROVAL_FORBIDDEN");
    await pass(2 * dayMs);
    expect(await askedBy(run)).toMatchObject({ roles: ["manager", "director"], escalations: [] });
    expect(await says(run, dora, yes)).toBe("accepted");
  });

  test("asks back, and is answered by the adviser", async () => {
    const { run, says } = await asked();
    await says(run, mia, { is: "ask_back", text: "whose house?" });
    expect(await says(run, adam, { is: "answer", text: "her own" })).toBe("accepted");
    expect((await askedBy(run)).talk.map(({ text }) => text)).toEqual(["whose house?", "her own"]);
    expect(await says(run, mia, yes)).toBe("accepted");
  });

  test.each([
    [
      "rejects",
      async ({ run, says }: Awaited<ReturnType<typeof asked>>) => await says(run, mia, { is: "reject", reason: "no" }),
    ],
    ["says nothing for seven days", async ({ pass }: Awaited<ReturnType<typeof asked>>) => await pass(7 * dayMs)],
  ])("who %s: no loan, and nothing to undo", async (_, happens) => {
    const top = await asked();
    await happens(top);
    expect(await top.run.result()).toEqual({ end: "declined", cents: 0 });
    expect(top.seen()).toEqual(["bureau.enquire"]);
  });
});

describe("a loan that is paid out", () => {
  test("and passes its check is over", async () => {
    const { run, checked, seen, pass } = await lent();
    await pass(40 * dayMs);
    await checked(true);
    expect(await run.result()).toEqual({ end: "granted", cents: 2_000_000 });
    expect(seen()).toEqual(["bureau.enquire", "bank.book", "bank.disburse"]);
  });

  test("and fails its check is clawed back: the money first, then the account, and nothing else", async () => {
    const { run, checked, seen, pass, world } = await lent();
    await pass(40 * dayMs);
    await checked(false);
    expect(await run.get()).toMatchObject({ status: "failed", rollback: "complete" });
    expect(seen().slice(3)).toEqual(["bank.claw-back", "bank.close"]);
    const [booked, paid, clawedBack, closed] = world.effects().filter(({ service }) => service === "bank");
    expect([clawedBack?.args, closed?.args]).toEqual([{ ref: paid?.ref }, { ref: booked?.ref }]);
    expect(world.service("bank").counts()).toEqual({ arrivals: 4, effects: 4 });
  });

  test("is clawed back once although the answer was lost: the bank is asked, not told twice", async () => {
    const { run, checked, seen, world, work } = await lent();
    world.fault({ service: "bank", action: "claw-back", kind: "reset-after-apply" });
    await checked(false);
    for (let n = 0; n < 5; n += 1) await work();
    expect(await run.get()).toMatchObject({ status: "failed", rollback: "complete" });
    expect(seen().slice(3)).toEqual(["bank.claw-back", "bank.close"]);
  });

  test("a check that comes early is kept until it is", async () => {
    const { run, checked, says, seen } = await asked();
    await checked(false);
    expect(await run.get()).toMatchObject({ status: "waiting", waitingFor: "approval" });
    await says(run, mia, yes);
    expect(await run.get()).toMatchObject({ status: "failed", rollback: "complete" });
    expect(seen()).toEqual(["bureau.enquire", "bank.book", "bank.disburse", "bank.claw-back", "bank.close"]);
  });
});

test("a loan that the bank does not pay out has its account closed, and no money to claw back", async () => {
  const { run, says, seen, world } = await asked();
  world.fault({ service: "bank", action: "disburse", kind: "refuse", code: "no_such_account", times: "always" });
  await says(run, mia, yes);
  expect(await run.get()).toMatchObject({ status: "failed", rollback: "complete" });
  expect(seen()).toEqual(["bureau.enquire", "bank.book", "bank.close"]);
});
