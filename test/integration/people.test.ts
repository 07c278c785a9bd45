/** Runs that wait for people over a real Redis: what they cost meanwhile, and that they outlive every worker. */
import { expect, inject, test } from "vitest";
import { loan, refund } from "../../sagas/index.ts";
import type { DecisionWord, PendingApproval, Principal } from "../../src/index.ts";
import { agreedAt } from "../support/agreed.ts";
import { effectsOf, type Top, top, until } from "./top.ts";

const person = (id: string, ...roles: string[]): Principal => ({ id, kind: "person", roles });
const [ann, bob] = [person("ann", "finance", "manager"), person("bob", "finance")];
const yes: DecisionWord = { is: "approve" };
const aCase = (id: string, cents: number) => ({
  ...{ id, orderId: `order-${id}`, cents },
  ...{ email: "ada@example.com", openedBy: "eve" },
});
const forgetful = { allowForgetfulStore: true } as const;

/** What the runs ask, by the run, once all of them do. */
async function asked({ client }: Top, count: number): Promise<ReadonlyMap<string, PendingApproval>> {
  return await until(async () => {
    const { approvals } = await client.approvals();
    return approvals.length === count ? new Map(approvals.map((pending) => [pending.run, pending])) : null;
  });
}

function decides({ client }: Top, pending: PendingApproval | undefined, as: Principal, word: DecisionWord) {
  if (pending === undefined) throw new Error("it asks nobody");
  return client.run(pending.run).decide(pending, word, { as });
}

async function agreed(here: Top, sagas: Parameters<typeof agreedAt>[2], runs: readonly string[]): Promise<void> {
  await agreedAt({ redis: inject("redisUrl"), shards: inject("shards") }, here, sagas, runs);
}

test("refunds that wait hold no worker, and go on with another one when they are decided on", async () => {
  const here = top([refund]);
  const { client, world } = here;
  const first = await here.worker({ concurrency: 1, ...forgetful });
  const ids = ["r1", "r2", "r3"];
  for (const id of ids) await client.start(refund, aCase(id, id === "r3" ? 80_000 : 30_000), { id });
  const pending = await asked(here, 3);
  // The one slot is free: what needs nobody passes through it.
  await (await client.start(refund, aCase("small", 100), { id: "small" })).result({ timeout: "20s" });
  await first.stop();
  const say = (id: string, as: Principal, word: DecisionWord) => decides(here, pending.get(id), as, word);
  await say("r1", ann, yes);
  await say("r2", ann, { is: "reject", reason: "too late" });
  await say("r3", ann, yes);
  await say("r3", bob, yes);
  await expect(say("r1", bob, { is: "reject", reason: "no" })).rejects.toMatchObject({ code: "APPROVAL_TAKEN" });
  expect(effectsOf(world)).toEqual(["bank.refund", "mail.send"]);
  await here.worker(forgetful);
  const results = await Promise.all(ids.map((id) => client.run(id, { saga: refund }).result({ timeout: "20s" })));
  expect(results.map(({ cents }) => cents)).toEqual([30_000, 0, 80_000]);
  expect(world.service("bank").counts()).toEqual({ arrivals: 3, effects: 3 });
  expect(world.service("mail").counts()).toEqual({ arrivals: 4, effects: 4 });
  await agreed(here, [refund], [...ids, "small"]);
});

test("a loan whose papers were there before any worker is lent, and clawed back when its check fails", async () => {
  const here = top([loan]);
  const { client, world } = here;
  const application = { id: "l1", applicant: "Ada", cents: 2_000_000, adviser: "adam" };
  const run = await client.start(loan, application, { id: "l1" });
  await run.signal("PAYSLIP", { ref: "slip-1" });
  await run.signal("IDENTITY", { ref: "id-1" });
  const worker = await here.worker(forgetful);
  const pending = (await asked(here, 1)).get("l1");
  await worker.stop();
  const deputy = person("dee");
  const form = { ratePercent: 4, security: "a house" };
  const say = (as: Principal, word: DecisionWord) => decides(here, pending, as, word);
  await expect(say(deputy, { is: "approve", form })).rejects.toMatchObject({ code: "APPROVAL_FORBIDDEN" });
  await say(ann, { is: "delegate", to: "dee" });
  await here.worker(forgetful);
  await until(async () => (await run.approvals())[0]?.delegates.includes("dee"));
  await say(deputy, { is: "approve", form });
  await until(async () => (await run.get()).waitingFor === "event");
  await run.signal("CHECKED", { passed: false, by: "carl" });
  await expect(run.result({ timeout: "20s" })).rejects.toMatchObject({ code: "RUN_FAILED", rollback: "complete" });
  expect(effectsOf(world)).toEqual(["bureau.enquire", "bank.book", "bank.disburse", "bank.claw-back", "bank.close"]);
  await agreed(here, [loan], ["l1"]);
});
