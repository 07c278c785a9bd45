/**
 * An agent that may refund an order and tell the customer. The model is free to take any way, to ask twice "to be sure" and
 * to put the same thing in other words; what it does outside it does through tools, and each of them is a ledger row that is
 * known again by its intent. (The model is made up here: what it would decide is written down.)
 */
import { saga } from "reprise";
import { z } from "zod";
import { known, refusalsAreFinal, type Services, step } from "./services.ts";

export const Complaint = z.object({
  id: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "must be 1 to 64 letters, digits, _ . or -"),
  orderId: z.string().min(1),
  cents: z.int().positive(),
  email: z.email(),
});

const Reference = z.object({ ref: z.string() });

/** The bank knows a refund by our operation id, and can be asked about it. */
const bank = (services: Services, direction: "do" | "undo" = "do") =>
  services.op("bank", { effect: "keyed", query: true, direction });

export const refundOrder = step("refundOrder", {
  input: z.object({ orderId: z.string(), cents: z.int().positive() }),
  output: Reference,
  effect: "keyed",
  action: ({ input, services, ...call }) =>
    bank(services).call("refund", input, call).then(Reference.parse).catch(refusalsAreFinal),
  probe: async ({ operationId, services, ...call }) => {
    const found = await bank(services).find("refund", operationId, call);
    return known(found === undefined ? undefined : Reference.parse(found));
  },
  compensate: async ({ output, services, ...call }) => {
    await bank(services, "undo").call("recall", output, call);
  },
  timeout: "10s",
});

export const tellCustomer = step("tellCustomer", {
  input: z.object({ to: z.email(), subject: z.string() }),
  output: z.object({ messageId: z.string() }),
  effect: "once",
  action: ({ input, services, ...call }) => services.mail.send(input, call).catch(refusalsAreFinal),
  noCompensation: "a mail that was read cannot be unread",
  timeout: "5s",
});

export const handleComplaint = step("handleComplaint", {
  input: Complaint,
  output: z.object({ refund: z.string(), refused: z.string() }),
  effect: "none",
  uses: { refundOrder, tellCustomer },
  action: async ({ input, tools, services, ...call }) => {
    const { orderId, cents, email } = input;
    await services.op("model", { effect: "none" }).call("decide", input, call);
    const intent = ["refund", orderId];
    const refund = await tools.refundOrder({ orderId, cents }, { intent });
    await tools.refundOrder({ orderId, cents }, { intent }); // to be sure
    const refused = await tools.refundOrder({ orderId, cents: cents + 1 }, { intent }).then(
      () => "nobody minded",
      (error: unknown) => String(error),
    );
    await tools.tellCustomer({ to: email, subject: `Your refund ${refund.ref}` }, { intent: ["refund told", orderId] });
    return { refund: refund.ref, refused };
  },
  timeout: "2m",
});

export const agent = saga("agent", { version: 1, input: Complaint })
  .step(handleComplaint)
  .build({ output: ({ results }) => results.handleComplaint });
