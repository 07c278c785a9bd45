/**
 * A loan, from the application to the check that comes weeks later. Documents arrive in any order and whenever they like; the
 * bureau is asked for a score; a manager approves, who may lower the amount, ask back, and let somebody else decide; after two
 * days a director is asked as well. Then the loan is booked and paid out. A check that is rejected claws it back: the
 * money first, then the account, and nothing that was not there. For days at a time the run only waits, without a worker.
 */
import { absent, approval, happened, type ProbeContext, saga } from "reprise";
import { assign, setup } from "xstate";
import { z } from "zod";
import { known, refusalsAreFinal, type Services, step } from "./services.ts";

const leastScore = 400;
const dayMs = 86_400_000;

export const Application = z.object({
  id: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "must be 1 to 64 letters, digits, _ . or -"),
  applicant: z.string().min(1),
  cents: z.int().positive(),
  /** Id of the person who handed it in, and so may not approve it. */
  adviser: z.string().min(1),
});

/** What may arrive from outside; what comes early is kept until the loan is so far. */
const events = {
  IDENTITY: z.object({ ref: z.string() }),
  PAYSLIP: z.object({ ref: z.string() }),
  /** Of a loan that is paid out. */
  CHECKED: z.object({ passed: z.boolean(), by: z.string() }),
};

// ---- what is done outside

const Reference = z.object({ ref: z.string() });
/** The core bank knows what it did by our operation id, and can be asked about it. */
const bank = (services: Services, direction: "do" | "undo" = "do") =>
  services.op("bank", { effect: "keyed", query: true, direction });

async function foundAs(action: string, { operationId, services, ...call }: ProbeContext<unknown, Services>) {
  const found = await bank(services).find(action, operationId, call);
  return known(found === undefined ? undefined : Reference.parse(found));
}

/** `idempotent`: an enquiry is kept by the bureau; asking again under the same name is the same enquiry. */
export const score = step("score", {
  input: z.object({ loanId: z.string(), applicant: z.string(), identity: z.string(), payslip: z.string() }),
  output: z.object({ points: z.int() }),
  effect: "idempotent",
  action: async ({ input, services, ...call }) => {
    await services.op("bureau", { effect: "idempotent" }).call("enquire", input, call).catch(refusalsAreFinal);
    return { points: input.payslip.startsWith("low") ? 320 : 640 };
  },
  noCompensation: "an enquiry stays in the bureau's books",
  timeout: "10s",
});

/** What the manager fills in. */
const Terms = z.object({ ratePercent: z.number().min(0).max(25), security: z.string().min(3) });

export const manager = approval("manager", {
  input: z.object({
    loanId: z.string(),
    applicant: z.string(),
    cents: z.int().positive(),
    points: z.int(),
    adviser: z.string(),
  }),
  form: Terms,
  question: ({ input }) => `Lend ${euros(input.cents)} to ${input.applicant} (score ${input.points})?`,
  rule: "every loan is approved by a manager",
  by: "manager",
  requester: ({ input }) => input.adviser,
  allow: ["approve", "edit", "reject", "ask_back"],
  edits: ({ input }) => z.object({ cents: z.int().positive().max(input.cents) }),
  escalate: [{ after: "2d", to: "director" }],
  expires: "7d",
});

/** The account that the loan is kept in. */
export const bookLoan = step("bookLoan", {
  input: z.object({ loanId: z.string(), cents: z.int().positive(), ...Terms.shape }),
  output: Reference,
  effect: "keyed",
  action: ({ input, services, ...call }) =>
    bank(services).call("book", input, call).then(Reference.parse).catch(refusalsAreFinal),
  probe: (context) => foundAs("book", context),
  compensate: async ({ output, services, ...call }) => {
    await bank(services, "undo").call("close", output, call);
  },
  timeout: "10s",
});

/** The money. Undone, it is clawed back, and asked about before that is tried again. */
export const disburse = step("disburse", {
  input: z.object({ account: z.string(), applicant: z.string(), cents: z.int().positive() }),
  output: Reference,
  effect: "keyed",
  action: ({ input, services, ...call }) =>
    bank(services).call("disburse", input, call).then(Reference.parse).catch(refusalsAreFinal),
  probe: (context) => foundAs("disburse", context),
  compensate: {
    run: async ({ output, services, ...call }) => {
      await bank(services, "undo").call("claw-back", output, call);
    },
    probe: async ({ operationId, services, ...call }) => {
      const found = await bank(services, "undo").find("claw-back", operationId, call);
      return found === undefined ? absent() : happened();
    },
  },
  timeout: "10s",
});

// ---- what follows on what

interface Loan {
  readonly application: z.infer<typeof Application>;
  readonly identity: string;
  readonly payslip: string;
  readonly points: number;
  /** As the manager has approved them. */
  readonly cents: number;
  readonly terms: z.infer<typeof Terms>;
  readonly account: string;
  /** How it has ended. */
  readonly end: "declined" | "abandoned" | "granted";
}
type Arrived = {
  [Name in keyof typeof events]: { readonly type: Name } & z.infer<(typeof events)[Name]>;
}[keyof typeof events];

const nothingYet: Omit<Loan, "application"> = {
  ...{ identity: "", payslip: "", points: 0, cents: 0, account: "" },
  terms: { ratePercent: 0, security: "" },
  end: "declined",
};

const machine = setup({
  types: {} as {
    context: Loan;
    input: z.infer<typeof Application>;
    events: Arrived;
    output: Pick<Loan, "end" | "cents">;
  },
  actors: { score, manager, bookLoan, disburse },
}).createMachine({
  id: "loan",
  context: ({ input }) => ({ application: input, ...nothingYet }),
  initial: "collecting",
  output: ({ context: { end, cents } }) => ({ end, cents: end === "granted" ? cents : 0 }),
  states: {
    collecting: {
      on: {
        IDENTITY: { actions: assign(({ event }) => ({ identity: event.ref })) },
        PAYSLIP: { actions: assign(({ event }) => ({ payslip: event.ref })) },
      },
      always: { guard: ({ context }) => context.identity !== "" && context.payslip !== "", target: "scoring" },
      after: { [30 * dayMs]: { target: "done", actions: assign({ end: "abandoned" }) } },
    },
    scoring: {
      invoke: {
        src: "score",
        input: ({ context: { application, identity, payslip } }) => ({
          ...{ loanId: application.id, applicant: application.applicant },
          ...{ identity, payslip },
        }),
        onDone: { target: "scored", actions: assign(({ event }) => ({ points: event.output.points })) },
      },
    },
    scored: {
      always: [{ guard: ({ context }) => context.points >= leastScore, target: "deciding" }, { target: "done" }],
    },
    deciding: {
      invoke: {
        src: "manager",
        input: ({ context: { application, points } }) => ({
          ...{ loanId: application.id, applicant: application.applicant, cents: application.cents },
          ...{ points, adviser: application.adviser },
        }),
        onDone: {
          target: "booking",
          // A manager is always asked, so the form is filled in.
          actions: assign(({ event: { output } }) => ({
            cents: output.input.cents,
            terms: output.form as Loan["terms"],
          })),
        },
        onError: "done",
      },
    },
    booking: {
      invoke: {
        src: "bookLoan",
        input: ({ context: { application, cents, terms } }) => ({ loanId: application.id, cents, ...terms }),
        onDone: { target: "paying", actions: assign(({ event }) => ({ account: event.output.ref })) },
      },
    },
    paying: {
      invoke: {
        src: "disburse",
        input: ({ context: { application, account, cents } }) => ({ account, applicant: application.applicant, cents }),
        onDone: { target: "lent", actions: assign({ end: "granted" }) },
      },
    },
    lent: { on: { CHECKED: [{ guard: ({ event }) => event.passed, target: "done" }, { target: "clawedBack" }] } },
    done: { type: "final" },
    clawedBack: { type: "final", tags: "unwind" },
  },
});

export const loan = saga("loan", { version: 1, input: Application, events }).machine(machine);

function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}
