/**
 * A batch: some hundred orders, each a run of its own, ten at a time, and a report at the end. While orders are on their way
 * the batch holds no worker. One that cannot be carried out ends the batch: the orders under way are let end, those that were
 * carried out are undone, the last one first, and no other is begun.
 */
import { child, saga } from "reprise";
import { z } from "zod";
import { Order, order } from "./order.ts";
import { refusalsAreFinal, type Services, step } from "./services.ts";

export const Batch = z.object({
  id: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "must be 1 to 64 letters, digits, _ . or -"),
  orders: z.array(Order).min(1).max(1_000),
  /** Who is told. */
  email: z.email(),
});

const outbox = (services: Services, direction: "do" | "undo" = "do") =>
  services.op("outbox", { effect: "keyed", query: true, direction });

/** `keyed`: the outbox knows a report by our operation id, and takes it back until it is sent. */
export const sendReport = step("sendReport", {
  input: z.object({ batchId: z.string(), to: z.email(), shipments: z.array(z.string()) }),
  output: z.object({ ref: z.string() }),
  effect: "keyed",
  action: async ({ input, services, ...call }) => {
    const sent = await outbox(services).call("queue", input, call).catch(refusalsAreFinal);
    return { ref: String(sent["ref"]) };
  },
  compensate: async ({ output, services, ...call }) => {
    await outbox(services, "undo").call("withdraw", output, call);
  },
  timeout: "10s",
});

export const batch = saga("batch", { version: 1, input: Batch })
  .each(({ input }) => input.orders, child(order), { size: 50, concurrency: 10 })
  .step(sendReport, ({ input, results }) => ({
    batchId: input.id,
    to: input.email,
    shipments: results.orderEach.map(({ shipmentId }) => shipmentId),
  }))
  .build({ output: ({ results }) => ({ report: results.sendReport.ref, orders: results.orderEach.length }) });
