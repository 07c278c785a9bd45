/** A saga is proven against crashes by one call, and one whose declarations do not hold is told which of them. */
import { expect, test } from "vitest";
import { z } from "zod";
import { order } from "../../sagas/order.ts";
import {
  type ActionContext,
  absent,
  step as anyStep,
  approval,
  type EffectClass,
  fail,
  happened,
  type ProbeAnswer,
  type SagaInput,
  type Step,
  saga,
  stepsFor,
} from "../../src/index.ts";
import { crashSweep, type ServiceProfile, type WorldClient, worldClient } from "../../src/testing/index.ts";

const services = worldClient;
const { step } = stepsFor<WorldClient>();
const input: SagaInput<typeof order> = { id: "o-1", sku: "chair", cents: 4_200, email: "ada@example.org" };

test("a saga that is declared as it is survives every crash, and a mail in doubt is put to a person", async () => {
  const report = await crashSweep(order, { input, services });
  expect(report.failures, report.text).toEqual([]);
  expect(report.missed).toEqual([]);
  expect(report.points).toEqual(
    expect.arrayContaining(["job 1", "store.commit 1", "payments.charge 1", "mail.send 1"]),
  );
  expect(report.cases).toBeGreaterThan(80);
  expect(Object.keys(report.ended).toSorted()).toEqual(["completed", "needs_review"]);
  expect(new Set(report.parked.map(({ message }) => message.split(" ")[0]))).toEqual(new Set(["sendMail"]));
  expect(report.text).toContain("nothing was lost, doubled or left");
});

test("one that goes back is undone completely, wherever it is interrupted", async () => {
  const report = await crashSweep(order, { input, services, outcomes: { ship: [fail("no parcels today")] } });
  expect(report.failures, report.text).toEqual([]);
  expect(report.ended).toEqual({ failed: report.cases });
  expect(report.points).toContain("payments.refund 1");
});

test("one whose worker dies as its day of waiting is over goes on soon, whoever finds it", async () => {
  const rest = step("rest", { input: z.object({}), effect: "none", action: () => null });
  const slow = saga("slow", { version: 1, input: z.object({}) })
    .step(rest, () => ({}))
    .wait("24h")
    .build();
  const report = await crashSweep(slow, { input: {}, services, drive: async (run) => void (await run.advance("24h")) });
  expect(report.failures, report.text).toEqual([]);
  expect(report.ended).toEqual({ completed: report.cases });
});

const Charge = z.object({ cents: z.number() });
const keyed = { effect: "keyed", query: true } as const;
const once = { effect: "once" } as const;

type Act = (context: ActionContext<z.infer<typeof Charge>, WorldClient>) => Promise<unknown>;
type Declared = { readonly effect: EffectClass; readonly probe?: () => ProbeAnswer<string> };

/** Charges, then does something else, so that there is something to be lost in between. */
function charging({ effect, probe }: Declared, act: Act) {
  const options = {
    input: Charge,
    output: z.string(),
    effect,
    action: async (context: ActionContext<z.infer<typeof Charge>, WorldClient>) => JSON.stringify(await act(context)),
    lateness: "0s",
    ...(probe === undefined ? {} : { probe }),
    ...(effect === "none" ? {} : { noCompensation: "kept" }),
  };
  // What is declared wrongly here is so on purpose, and differs from test to test.
  const charge: Step<"charge", z.infer<typeof Charge>, string> = anyStep("charge", options as never) as never;
  const note = step("note", { input: z.json(), effect: "none", action: () => null });
  return saga("charging", { version: 1, input: Charge })
    .step(charge, ({ input }) => input)
    .step(note, () => null)
    .build();
}

const chargeBy =
  (profile: ServiceProfile): Act =>
  ({ input, services: { op }, ...call }) =>
    op("bank", profile).call("charge", input, call);

test("a keyed step that never passes its key is told to", async () => {
  let requests = 0;
  const forgetful = charging({ effect: "keyed" }, ({ input, services: { op }, signal }) => {
    requests += 1;
    return op("bank", keyed).call("charge", input, { operationId: `request-${requests}`, signal });
  });
  const report = await crashSweep(forgetful, { input: { cents: 5 }, services });
  expect(report.failures.length).toBeGreaterThan(0);
  expect(new Set(report.failures.map(({ blame }) => blame?.replace(/request-\d+/, "request-n")))).toEqual(
    new Set(['charge is declared `keyed`, but asked for bank.charge as "request-n": pass its operationId']),
  );
  const [first] = report.failures;
  expect(first?.message).toMatch(/^charge \(row 1\) happened 2 times/);
  expect(first?.timeline.join("\n")).toMatch(/worker-1 is killed[\s\S]*the world: bank\.charge happens/);
  expect(report.text).toContain(`REPRISE_SWEEP="${first?.case}"`);
});

test("a step that is called keyed where the other side does not know keys is told to be `once`", async () => {
  const wishful = charging({ effect: "keyed" }, chargeBy(once));
  const report = await crashSweep(wishful, { input: { cents: 5 }, services });
  expect(new Set(report.failures.map(({ blame }) => blame))).toEqual(
    new Set(["charge is declared `keyed`, but the other side applies one operation id twice: declare it `once`"]),
  );
});

test("a probe that says absent of what happened is told so", async () => {
  const lying = charging({ effect: "once", probe: absent }, chargeBy(once));
  const report = await crashSweep(lying, { input: { cents: 5 }, services });
  expect(new Set(report.failures.map(({ blame }) => blame))).toEqual(
    new Set(["the probe of charge answers absent although it happened"]),
  );
});

test("a probe that says happened of what did not is told so", async () => {
  const lying = charging({ effect: "once", probe: () => happened("r") }, chargeBy(once));
  const report = await crashSweep(lying, { input: { cents: 5 }, services });
  expect(new Set(report.failures.map(({ blame }) => blame))).toEqual(
    new Set(["the probe of charge answers happened although nothing did"]),
  );
});

test("a step that is called none and changes the world is told so, without any crash", async () => {
  const quiet = charging({ effect: "none" }, chargeBy(keyed));
  const report = await crashSweep(quiet, { input: { cents: 5 }, services, only: "job 1: kill before" });
  expect(report.failures[0]?.blame).toContain("is declared `none`, but changes the world");
});

test("a compensation that may not be repeated and is, is told so", async () => {
  const spending = saga("spending", { version: 1, input: Charge })
    .step(
      step("charge", {
        input: Charge,
        effect: "keyed",
        action: ({ input, services: { op }, ...call }) => op("bank", keyed).call("charge", input, call),
        compensate: async ({ input, services: { op }, ...call }) => {
          await op("shop", { effect: "once" }).call("voucher", input, call);
        },
      }),
      ({ input }) => input,
    )
    .step(step("never", { input: z.json(), effect: "none", action: () => Promise.reject(fail("no")) }), () => null)
    .build();
  const report = await crashSweep(spending, { input: { cents: 5 }, services });
  expect(new Set(report.failures.map(({ blame }) => blame))).toEqual(
    new Set([
      "the compensation of charge is declared `keyed`, but the other side applies one operation id twice: declare it `once`",
    ]),
  );
});

test("people take part by `drive`, and one case alone is run by its name", async () => {
  const asking = saga("asking", { version: 1, input: Charge })
    .step(approval("manager", { input: Charge, question: "Charge?", by: "finance" }), ({ input }) => input)
    .build();
  const as = { id: "ann", kind: "person", roles: ["finance"] } as const;
  const report = await crashSweep(asking, { input: { cents: 5 }, drive: (run) => run.approve({ as }) });
  expect(report.failures, report.text).toEqual([]);
  expect(report.ended).toEqual({ completed: report.cases });
  const one = await crashSweep(asking, {
    input: { cents: 5 },
    only: "store.commit 1: kill after",
    drive: (run) => run.approve({ as }),
  });
  expect([one.cases, one.missed]).toEqual([1, []]);
});
