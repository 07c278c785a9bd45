/**
 * An agent that refunds. It reads the case, has a model decide, and pays back through a tool. Up to 50 EUR it does so alone;
 * above that the tool's gate asks a person, above 500 EUR two of them, while the run waits without a worker. Whoever opened the
 * case may not decide on it, an amount can be lowered and never raised, and what nobody has decided on in two days is refused.
 * Then the customer is told, once. (The model is made up here: what it does is drawn by lot, so that no two tries are alike.)
 */
import { RepriseError, saga } from "reprise";
import { z } from "zod";
import { known, refusalsAreFinal, type Services, step } from "./services.ts";

/** The most that the agent may refund alone, and the most for which one person is enough. */
const aloneCents = 5_000;
const onePersonCents = 50_000;

export const Case = z.object({
  id: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "must be 1 to 64 letters, digits, _ . or -"),
  orderId: z.string().min(1),
  /** What the customer wants back. */
  cents: z.int().positive(),
  email: z.email(),
  /** Id of the person who opened the case. */
  openedBy: z.string().min(1),
});

/** The bank knows a refund by our operation id, and can be asked about it. */
const bank = (services: Services, direction: "do" | "undo" = "do") =>
  services.op("bank", { effect: "keyed", query: true, direction });
const Paid = z.object({ ref: z.string() });

export const refundOrder = step("refundOrder", {
  input: z.object({ orderId: z.string(), cents: z.int().positive(), openedBy: z.string() }),
  output: z.object({ ref: z.string(), cents: z.int() }),
  effect: "keyed",
  intent: ({ input }) => ["refund", input.orderId],
  approve: {
    when: ({ input }) => input.cents > aloneCents,
    rule: ({ input }) => ruleFor(input.cents),
    question: ({ input }) => `Refund ${euros(input.cents)} for ${input.orderId}?`,
    by: ["support-lead", "finance"],
    quorum: ({ input }) => (input.cents > onePersonCents ? 2 : 1),
    requester: ({ input }) => input.openedBy,
    allow: ["approve", "edit", "reject", "ask_back"],
    edits: ({ input }) => z.object({ cents: z.int().positive().max(input.cents) }),
    expires: "2d",
  },
  action: async ({ input: { orderId, cents }, services, ...call }) => {
    const paid = await bank(services).call("refund", { orderId, cents }, call).catch(refusalsAreFinal);
    return { ref: Paid.parse(paid).ref, cents };
  },
  probe: async ({ input: { cents }, operationId, services, ...call }) => {
    const found = await bank(services).find("refund", operationId, call);
    return known(found === undefined ? undefined : { ref: Paid.parse(found).ref, cents });
  },
  compensate: async ({ output: { ref }, services, ...call }) => {
    await bank(services, "undo").call("recall", { ref }, call);
  },
  timeout: "10s",
});

/** It is recorded with the refund, whether somebody was asked or not. */
function ruleFor(cents: number): string {
  if (cents <= aloneCents) return `up to ${euros(aloneCents)} the agent refunds alone`;
  if (cents <= onePersonCents) return `more than ${euros(aloneCents)}: a person decides`;
  return `more than ${euros(onePersonCents)}: two people decide`;
}

export const readCase = step("readCase", {
  input: z.object({ caseId: z.string() }),
  effect: "none",
  action: async ({ input, services, ...call }) => {
    await services.op("cases", { effect: "none" }).call("read", input, call);
  },
  timeout: "5s",
});

/** What the agent came to. `declined`: why nothing was refunded. */
const Verdict = z.object({ ref: z.string().nullable(), cents: z.int(), declined: z.string().nullable() });

/** The agent. While people are asked it is not running; once they have decided it is made anew, and finds what it asked for. */
export const settleCase = step("settleCase", {
  input: Case,
  output: Verdict,
  effect: "none",
  uses: { refund: refundOrder },
  action: async ({ input, tools, services, ...call }) => {
    const { orderId, cents, openedBy } = input;
    await services.op("model", { effect: "none" }).call("decide", input, call);
    const pay = () =>
      tools.refund({ orderId, cents, openedBy }).then((paid) => ({ ...paid, declined: null }), declined);
    const verdict = await pay();
    const isSure = Math.random() < 0.5;
    return isSure ? verdict : await pay();
  },
  timeout: "2m",
});

/** A person (or the bank) has said no: the agent does without. Whatever else it is, is not the agent's to judge. */
function declined(error: unknown): z.infer<typeof Verdict> {
  if (!(error instanceof RepriseError) || error.code !== "TOOL_FAILED") throw error;
  return { ref: null, cents: 0, declined: error.message };
}

export const tellCustomer = step("tellCustomer", {
  input: z.object({ to: z.email(), subject: z.string() }),
  effect: "once",
  action: async ({ input, services, ...call }) => {
    await services.mail.send(input, call).catch(refusalsAreFinal);
  },
  noCompensation: "a mail that was read cannot be unread",
  timeout: "5s",
});

export const refund = saga("refund", { version: 1, input: Case })
  .step(readCase, ({ input }) => ({ caseId: input.id }))
  .step(settleCase, ({ input }) => input)
  .step(tellCustomer, ({ input, results: { settleCase } }) => ({
    to: input.email,
    subject:
      settleCase.ref === null
        ? `We cannot refund ${input.orderId}`
        : `Your refund of ${euros(settleCase.cents)} (${settleCase.ref})`,
  }))
  .build({ output: ({ results }) => results.settleCase });

function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}
