/**
 * The sagas of the simulation: every effect class, probes and none, compensations of every kind, parallel regions, timers,
 * signals. Their services are the fake world, reached through the process that runs them.
 */
import { assign, setup } from "xstate";
import { z } from "zod";
import { absent, child, fail, happened, saga, stepsFor } from "../../src/saga/index.ts";
import type { CallOptions } from "../../src/testing/index.ts";

/** The outside as one process reaches it: an operation is made, undone, or asked for. */
export interface SimServices {
  call(service: Service, args: { readonly id: string }, options: CallOptions): Promise<{ readonly ref: string }>;
  undo(service: Service, args: { readonly ref: string }, options: CallOptions): Promise<unknown>;
  find(service: Service, options: CallOptions): Promise<{ readonly ref: string } | undefined>;
}
export type Service = "reserve" | "charge" | "pick" | "letter";

const { step } = stepsFor<SimServices>();
const Order = z.object({ id: z.string(), refuse: z.boolean() });
const Ref = z.object({ ref: z.string() });
const quick = { timeout: "2s", lateness: "3s", retry: { attempts: 4, initial: "100ms", max: "2s" } } as const;

export const reserveStock = step("reserveStock", {
  input: z.object({ id: z.string() }),
  output: Ref,
  effect: "idempotent",
  action: (c) => c.services.call("reserve", c.input, c),
  compensate: async (c) => void (await c.services.undo("reserve", c.output, c)),
  ...quick,
});

export const chargeCard = step("chargeCard", {
  input: z.object({ id: z.string() }),
  output: Ref,
  effect: "keyed",
  action: (c) => c.services.call("charge", c.input, c),
  probe: async (c) => {
    const found = await c.services.find("charge", c);
    return found === undefined ? absent() : happened(found);
  },
  compensate: async (c) => void (await c.services.undo("charge", c.output, c)),
  ...quick,
});

/** `once`, but it can be asked. */
export const pickParcel = step("pickParcel", {
  input: z.object({ id: z.string() }),
  output: Ref,
  effect: "once",
  action: (c) => c.services.call("pick", c.input, c),
  probe: async (c) => {
    const found = await c.services.find("pick", c);
    return found === undefined ? absent() : happened(found);
  },
  compensate: {
    run: async (c) => void (await c.services.undo("pick", c.output, c)),
    effect: "keyed",
  },
  ...quick,
});

/** Says no where the order says so; reads only. */
export const approveOrder = step("approveOrder", {
  input: z.object({ refuse: z.boolean() }),
  effect: "none",
  action: (c) => {
    if (c.input.refuse) throw fail("refused", { code: "refused" });
  },
  ...quick,
});

/** `once` and blind: its outcome can only be told by a person. */
export const sendMail = step("sendMail", {
  input: z.object({ id: z.string() }),
  output: Ref,
  effect: "once",
  action: (c) => c.services.call("letter", c.input, c),
  noCompensation: "a mail cannot be taken back",
  ...quick,
});

export const orderSaga = saga("order", { version: 1, input: Order })
  .step(reserveStock, ({ input }) => ({ id: input.id }))
  .step(chargeCard, ({ input }) => ({ id: input.id }))
  .step(pickParcel, ({ input }) => ({ id: input.id }))
  .step(approveOrder, ({ input }) => ({ refuse: input.refuse }))
  .step(sendMail, ({ input }) => ({ id: input.id }))
  .build();

export const fanSaga = saga("fan", { version: 1, input: Order })
  .parallel({
    left: (branch) => branch.step(chargeCard, ({ input }) => ({ id: input.id })),
    right: (branch) =>
      branch
        .step(reserveStock, ({ input }) => ({ id: input.id }))
        .step(approveOrder, ({ input }) => ({ refuse: input.refuse })),
  })
  .step(pickParcel, ({ input }) => ({ id: input.id }))
  .build();

/** Waits for a signal or a timer, in a machine of the user's own, which has a bug in how it takes another signal. */
export const waitSaga = saga("wait", {
  version: 1,
  input: Order,
  events: { GO: z.object({}), BAD: z.object({}) },
}).machine(
  setup({
    types: {} as { context: { id: string }; events: { type: "GO" } | { type: "BAD" }; input: z.infer<typeof Order> },
    actors: { chargeCard, sendMail },
    guards: {
      isBroken: () => {
        throw new Error("a bug");
      },
    },
  }).createMachine({
    context: ({ input }) => ({ id: input.id }),
    initial: "charging",
    states: {
      charging: {
        tags: ["savepoint"],
        invoke: { src: "chargeCard", input: ({ context }) => ({ id: context.id }), onDone: "waiting" },
      },
      waiting: {
        tags: ["savepoint"],
        on: { GO: "mailing", BAD: { target: "late", guard: "isBroken" } },
        after: { 20000: "late" },
      },
      mailing: {
        invoke: { src: "sendMail", input: ({ context }) => ({ id: context.id }), onDone: "done", onError: "late" },
      },
      done: { type: "final" },
      late: { type: "final", tags: ["unwind"] },
    },
  }),
);

/** Does not wait for an answer: leaves the state and enters it again, so that answers to earlier turns come late. */
export const impatientSaga = saga("impatient", { version: 1, input: Order }).machine(
  setup({
    types: {} as { context: { id: string; turns: number }; input: z.infer<typeof Order> },
    actors: { pickParcel, chargeCard },
    guards: { hasPatience: ({ context }) => context.turns < 3 },
  }).createMachine({
    context: ({ input }) => ({ id: input.id, turns: 1 }),
    initial: "picking",
    states: {
      picking: {
        invoke: { src: "pickParcel", input: ({ context }) => ({ id: context.id }), onDone: "charging" },
        after: {
          900: [
            {
              guard: "hasPatience",
              target: "picking",
              reenter: true,
              actions: assign({ turns: ({ context }) => context.turns + 1 }),
            },
            { target: "late" },
          ],
        },
      },
      charging: { invoke: { src: "chargeCard", input: ({ context }) => ({ id: context.id }), onDone: "done" } },
      done: { type: "final" },
      late: { type: "final", tags: ["unwind"] },
    },
  }),
);

/** All runs of a simulation have the same bill to pay. */
const payBill = step("payBill", {
  input: z.object({ id: z.string() }),
  output: Ref,
  effect: "keyed",
  intent: ({ input }) => ["bill", input.id],
  action: (c) => c.services.call("charge", c.input, c),
  probe: async (c) => {
    const found = await c.services.find("charge", c);
    return found === undefined ? absent() : happened(found);
  },
  compensate: async (c) => void (await c.services.undo("charge", c.output, c)),
  ...quick,
});

export const billedSaga = saga("billed", { version: 1, input: Order })
  .step(reserveStock, ({ input }) => ({ id: input.id }))
  .step(payBill, () => ({ id: "the bill" }))
  .step(approveOrder, ({ input }) => ({ refuse: input.refuse }))
  .build();

/** Asks for its tools, for one of them twice, and goes on with what they gave. */
const assist = step("assist", {
  input: z.object({ id: z.string() }),
  effect: "none",
  uses: { reserveStock, payBill, pickParcel },
  action: async ({ input, tools }) => {
    const reserve = () => tools.reserveStock(input, { key: 0 });
    await Promise.all([reserve(), tools.payBill({ id: "the bill" }), reserve()]);
    await tools.pickParcel(input, { key: "parcel" });
  },
  ...quick,
  timeout: "60s",
});

export const assistedSaga = saga("assisted", { version: 1, input: Order })
  .step(assist, ({ input }) => ({ id: input.id }))
  .step(approveOrder, ({ input }) => ({ refuse: input.refuse }))
  .build();

/** An order as a child, then a word of its own. */
export const familySaga = saga("family", { version: 1, input: Order })
  .step(child(orderSaga), ({ input }) => ({ id: input.id, refuse: false }))
  .step(approveOrder, ({ input }) => ({ refuse: input.refuse }))
  .build();

/** Orders side by side, one of which may be refused, then a word of its own. */
export const crowdSaga = saga("crowd", { version: 1, input: Order })
  .each(
    ({ input }) => [0, 1, 2, 3].map((n) => ({ id: `${input.id}-${n}`, refuse: input.refuse && n === 2 })),
    child(fanSaga),
    { concurrency: 2 },
  )
  .step(pickParcel, ({ input }) => ({ id: input.id }))
  .step(approveOrder, ({ input }) => ({ refuse: input.id.endsWith("1") }))
  .build();

/** Leaves its child alone when that takes too long, and goes on without one that fails. */
export const hastySaga = saga("hasty", { version: 1, input: Order }).machine(
  setup({
    types: {} as { context: z.infer<typeof Order>; input: z.infer<typeof Order> },
    actors: { wait: child(waitSaga), chargeCard },
  }).createMachine({
    context: ({ input }) => input,
    initial: "waiting",
    states: {
      waiting: {
        invoke: { src: "wait", input: ({ context }) => context, onDone: "charging", onError: "charging" },
        after: { 9000: "charging" },
      },
      charging: { invoke: { src: "chargeCard", input: ({ context }) => ({ id: context.id }), onDone: "done" } },
      done: { type: "final" },
    },
  }),
);

/** A child that has a child, and one that goes its own way. */
export const clanSaga = saga("clan", { version: 1, input: Order })
  .step(child(fanSaga, { name: "aside", detached: true }), ({ input }) => ({ id: `${input.id}-aside`, refuse: false }))
  .step(child(familySaga), ({ input }) => ({ id: input.id, refuse: input.refuse }))
  .step(approveOrder, ({ input }) => ({ refuse: input.id.endsWith("0") }))
  .build();

export const simSagas = [orderSaga, fanSaga, waitSaga, impatientSaga];
export const sharedSagas = [billedSaga, assistedSaga];
export const parentSagas = [familySaga, crowdSaga, hastySaga, clanSaga];
