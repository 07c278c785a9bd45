/**
 * An order: stock is reserved, the card charged, the parcel shipped, a mail sent. One step of each kind of effect, so
 * that one saga shows what each of them means when a worker dies in the middle of it.
 */
import { absent, happened, saga } from "reprise";
import { z } from "zod";
import { known, refusalsAreFinal, step } from "./services.ts";

export const Order = z.object({
  /** Becomes the id of the run, and so part of every operation id. */
  id: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "must be 1 to 64 letters, digits, _ . or -"),
  sku: z.string().min(1),
  cents: z.int().positive(),
  email: z.email(),
});

/** `idempotent`: the shop knows a reservation by order and article; asking again gives the one that is there. */
export const reserveStock = step("reserveStock", {
  input: z.object({ orderId: z.string(), sku: z.string() }),
  output: z.object({ reservationId: z.string() }),
  effect: "idempotent",
  action: ({ input, services, ...call }) => services.stock.reserve(input, call).catch(refusalsAreFinal),
  compensate: ({ output, services, ...call }) => services.stock.release(output, call),
  timeout: "5s",
});

/** `keyed`: the bank knows a charge by our operation id. After a crash it is asked, and only then charged. */
export const chargeCard = step("chargeCard", {
  input: z.object({ orderId: z.string(), cents: z.int().positive() }),
  output: z.object({ chargeId: z.string() }),
  effect: "keyed",
  action: ({ input, services, ...call }) => services.payments.charge(input, call).catch(refusalsAreFinal),
  probe: async ({ operationId, services, ...call }) => known(await services.payments.findByKey(operationId, call)),
  compensate: {
    run: ({ output, services, ...call }) => services.payments.refund(output, call),
    probe: async ({ operationId, services, ...call }) => {
      const refund = await services.payments.findRefundByKey(operationId, call);
      return refund === undefined ? absent() : happened();
    },
  },
  retry: { attempts: 5, backoff: "exponential", initial: "200ms", max: "5s" },
  timeout: "10s",
});

/** `keyed`, and the carrier may refuse: then the card is refunded and the stock released, in that order. */
export const ship = step("ship", {
  input: z.object({ orderId: z.string(), reservationId: z.string() }),
  output: z.object({ shipmentId: z.string() }),
  effect: "keyed",
  action: ({ input, services, ...call }) => services.shipping.ship(input, call).catch(refusalsAreFinal),
  probe: async ({ operationId, services, ...call }) => known(await services.shipping.findByKey(operationId, call)),
  compensate: ({ output, services, ...call }) => services.shipping.recall(output, call),
  timeout: "10s",
});

/**
 * `once`: every request is one more mail, and the mail server cannot be asked. So it is sent once, and if nobody can know
 * whether it went out, a person is asked.
 */
export const sendMail = step("sendMail", {
  input: z.object({ orderId: z.string(), to: z.email(), subject: z.string() }),
  output: z.object({ messageId: z.string() }),
  effect: "once",
  action: ({ input, services, ...call }) => services.mail.send(input, call).catch(refusalsAreFinal),
  noCompensation: "a mail that was read cannot be unread",
  timeout: "10s",
});

export const order = saga("order", {
  version: 1,
  input: Order,
  slo: {
    completion: 0.99,
    latency: { within: "1m", for: 0.95 },
    unknownAge: { within: "5m", for: 0.99 },
    unwind: 0.99,
  },
})
  .step(reserveStock, ({ input }) => ({ orderId: input.id, sku: input.sku }))
  .step(chargeCard, ({ input }) => ({ orderId: input.id, cents: input.cents }))
  .step(ship, ({ input, results }) => ({ orderId: input.id, reservationId: results.reserveStock.reservationId }))
  .step(sendMail, ({ input, results }) => ({
    orderId: input.id,
    to: input.email,
    subject: `Your order ${input.id} is on its way (${results.ship.shipmentId})`,
  }))
  .build({
    output: ({ results }) => ({ chargeId: results.chargeCard.chargeId, shipmentId: results.ship.shipmentId }),
  });
