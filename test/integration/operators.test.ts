/**
 * What operators get wrong, two of them or one: every command is a compare-and-set on what was looked at, attributed, and idempotent by
 * its id; of two one wins and the other is told who. (Replays: `replay.test.ts`. Approvals: `scenarios-approvals`. An older Redis:
 * `store-rollback`.)
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type RepriseError, type RunHandle, saga, stepsFor } from "../../src/index.ts";
import type { WorldClient } from "../../src/testing/index.ts";
import { effectsOf, type Top, top, until } from "./top.ts";

const { step } = stepsFor<WorldClient>();
const Id = z.object({ id: z.string() });
const Order = Id.extend({ refuse: z.boolean() });
const bounds = { timeout: "20s", lateness: "0s", retry: { attempts: 3, initial: "50ms" } } as const;

const charge = step("charge", {
  input: Id,
  output: z.object({ chargeId: z.string() }),
  effect: "keyed",
  action: ({ input, operationId, services }) =>
    services.payments.charge({ orderId: input.id, cents: 7 }, { operationId }),
  compensate: ({ output, operationId, services }) => services.payments.refund(output, { operationId }),
  ...bounds,
});
/** Nobody can be asked whether it went out. */
const letter = step("letter", {
  input: Id,
  output: z.object({ messageId: z.string() }),
  effect: "once",
  action: ({ input, operationId, services }) => services.mail.send({ to: input.id, subject: "hi" }, { operationId }),
  noCompensation: "it is read",
  ...bounds,
});
const check = step("check", {
  input: Order,
  effect: "none",
  action: ({ input }) => {
    if (input.refuse) throw new Error("refused");
  },
  ...bounds,
  retry: { attempts: 1 },
});
const toId = ({ input }: { readonly input: { readonly id: string } }) => ({ id: input.id });
const order = saga("order", { version: 1, input: Order, events: { GO: z.object({}) } })
  .step(charge, toId)
  .step(letter, toId)
  .waitFor("GO")
  .step(check, ({ input }) => input)
  .build();
const plain = saga("plain", { version: 1, input: Order, events: { GO: z.object({}) } })
  .step(charge, toId)
  .waitFor("GO")
  .step(check, ({ input }) => input)
  .build();

/** What operators have of a run. */
type Asked = Pick<RunHandle, "id" | "get" | "log" | "operator">;

/** How often two race. */
const pairs = process.env["REPRISE_SIZE"] === "full" ? 100 : 15;
const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => null,
    (error: RepriseError) => error,
  );
const statusOf = async (run: Asked) => (await run.get()).status;

/** Runs of `order` whose letter went out, or not: nobody can tell. */
async function parked({ client, world, worker }: Top, count: number): Promise<readonly Asked[]> {
  world.fault({ service: "mail", action: "send", kind: "reset-after-apply", times: count });
  await worker({ allowForgetfulStore: true });
  const ids = Array.from({ length: count }, (_, at) => `r${at}`);
  const started = await Promise.all(ids.map((id) => client.start(order, { id, refuse: false }, { id })));
  for (const run of started) await until(async () => (await statusOf(run)) === "needs_review", 20_000);
  return started;
}
const verbsOf = async (run: Asked) =>
  (await run.log()).flatMap(({ taken }) =>
    taken.flatMap((each) => (each.what === "verb" ? [[each.verb, each.by]] : [])),
  );

describe("of two who decide on one run at once", () => {
  test("one says that it happened and one that it did not: one of them counts, and the other is told whose", async () => {
    const scene = top([order]);
    const runs = await parked(scene, pairs);
    const other = scene.replica();
    for (const run of runs) {
      const mine = run.operator.resolve(
        { as: "happened", output: { messageId: "m-1" }, evidence: "the log" },
        { by: "ann", review: 1 },
      );
      const theirs = other.run(run.id).operator.resolve({ as: "absent", evidence: "no log" }, { by: "bob", review: 1 });
      const [first, second] = await Promise.all([codeOf(mine), codeOf(theirs)]);
      const [winner, loser] = first === null ? ["ann", second] : ["bob", first];
      expect([first, second].filter((error) => error === null)).toHaveLength(1);
      expect(loser).toMatchObject({ code: "REVIEW_TAKEN", details: { by: winner } });
      await until(async () => (await verbsOf(run)).length > 0);
      expect(await verbsOf(run)).toEqual([["resolve", winner]]);
    }
    // It is sent again only where the word that counts says that it was not.
    const absent = (await Promise.all(runs.map(verbsOf))).filter(([verb]) => verb?.[1] === "bob").length;
    await until(() => effectsOf(scene.world).filter((effect) => effect === "mail.send").length === pairs + absent);
  });

  test("a command that is sent again is the same one, and says so to nobody", async () => {
    const scene = top([order]);
    const [run] = await parked(scene, 1);
    const close = () => run?.operator.close({ reason: "enough", by: "ann", review: 1, commandId: "c-1" });
    await close();
    await close();
    await until(async () => run !== undefined && (await statusOf(run)) === "failed");
    await close();
    expect(run === undefined ? [] : await verbsOf(run)).toEqual([["close", "ann"]]);
    await expect(run?.operator.close({ reason: "me too", by: "bob", review: 1 })).rejects.toMatchObject({
      code: "REVIEW_TAKEN",
      details: { by: "ann" },
    });
  });
});

describe("a verb on a run that asks nobody", () => {
  /** Each of them, as an operator sends it. */
  const verbs = ({ operator }: Asked) => [
    operator.probe({ by: "ann" }),
    operator.resolve({ as: "absent", evidence: "seen" }, { by: "ann" }),
    operator.retry({ reason: "again", by: "ann" }),
    operator.skip({ reason: "by hand", by: "ann" }),
    operator.discard({ reason: "faulty", by: "ann" }),
    operator.compensate({ reason: "no use", by: "ann" }),
    operator.raise({ budget: "steps", to: 9, reason: "more", by: "ann" }),
    operator.close({ reason: "enough", by: "ann" }),
  ];
  async function refused(run: Asked): Promise<void> {
    const before = (await run.get()).revision;
    for (const asked of verbs(run)) await expect(asked).rejects.toMatchObject({ code: "REVIEW_GONE" });
    expect((await run.get()).revision).toBe(before);
  }

  test("is refused while it runs, waits, goes back, and once it has ended, and changes nothing", async () => {
    const { client, world, worker } = top([plain]);
    world.fault({ service: "payments", action: "charge", kind: "apply-then-hang", times: 1 });
    await worker();
    const run = await client.start(plain, { id: "o-1", refuse: true }, { id: "r1" });
    const charging = await world.nextHeld({ service: "payments" });
    await refused(run);
    charging.release();
    await until(async () => (await run.get()).waitingFor === "event");
    await refused(run);
    world.fault({ service: "payments", action: "refund", kind: "apply-then-hang", times: 1 });
    await run.signal("GO", {});
    const refunding = await world.nextHeld({ service: "payments", action: "refund" });
    expect(await statusOf(run)).toBe("unwinding");
    await refused(run);
    refunding.release();
    await until(async () => (await statusOf(run)) === "failed");
    await refused(run);
    expect(effectsOf(world)).toEqual(["payments.charge", "payments.refund"]);
  });
});

describe("a pause while a run goes back", () => {
  /** Its refund is out. */
  async function refunding({ client, world, worker }: Top) {
    world.fault({ service: "payments", action: "refund", kind: "apply-then-hang", times: 1 });
    const first = await worker();
    const run = await client.start(plain, { id: "o-1", refuse: true }, { id: "r1" });
    await until(async () => (await run.get()).waitingFor === "event");
    await run.signal("GO", {});
    return { run, first, held: await world.nextHeld({ service: "payments", action: "refund" }) };
  }
  const why = { by: "ann", reason: "look" };

  test("of the run stops nothing of that", async () => {
    const scene = top([plain]);
    const { run, held } = await refunding(scene);
    await run.pause(why);
    held.release();
    await until(async () => (await statusOf(run)) === "failed");
    expect(effectsOf(scene.world)).toEqual(["payments.charge", "payments.refund"]);
  });

  test("of its saga lets what is out end, and the rest is done once it is over", async () => {
    const scene = top([plain]);
    const { run, first, held } = await refunding(scene);
    await scene.client.pauseSaga("plain", why);
    const stopped = first.stop();
    held.release();
    await stopped;
    await scene.worker();
    await scene.client.resumeSaga("plain", why);
    await until(async () => (await statusOf(run)) === "failed");
    expect(await run.get()).toMatchObject({ rollback: "complete" });
    expect(effectsOf(scene.world)).toEqual(["payments.charge", "payments.refund"]);
  });
});

test("a cancel and a raise at once, of a run that is parked for a budget: it goes back once, whoever came first", async () => {
  const bounded = saga("bounded", { version: 1, input: Order, budget: { steps: { hard: 1 } } })
    .step(charge, toId)
    .step(check, ({ input }) => input)
    .build();
  const { client, world, worker, replica } = top([bounded]);
  await worker();
  const other = replica();
  for (let at = 0; at < 5; at += 1) {
    const run = await client.start(bounded, { id: `o-${at}`, refuse: true }, { id: `r${at}` });
    await until(async () => (await statusOf(run)) === "needs_review");
    const raising = codeOf(run.operator.raise({ budget: "steps", to: 9, reason: "more", by: "ann", review: 1 }));
    const cancelling = codeOf(other.run(run.id).cancel({ reason: "not wanted", by: "bob" }));
    await Promise.all([raising, cancelling]);
    await until(async () => ["failed", "cancelled"].includes(await statusOf(run)));
    expect(await run.get()).toMatchObject({ rollback: "complete" });
  }
  const effects = effectsOf(world);
  expect(effects.filter((effect) => effect === "payments.refund")).toHaveLength(5);
});
