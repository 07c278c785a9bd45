/**
 * The sagas of the fault tests. `whole` holds every effect class, with and without a probe, each with a compensation of
 * the same class (and one of class `none`); it fails at its end where its input says so, so that all of them run. `timed`
 * and `signalled` wait in the middle. A step and the world's service that it calls have one name.
 */
import { z } from "zod";
import { child, fail, saga, stepsFor } from "../../src/index.ts";
import type { ServiceProfile } from "../../src/testing/index.ts";
import { type FaultServices, Id, isKnown, known, Ref, toId } from "./fault-services.ts";

const probed = { query: true } as const;
const undoing = { direction: "undo" } as const;

/** How the world treats each step's service, and each step's compensation (`undo-<step>`). */
export const profiles: Readonly<Record<string, ServiceProfile>> = {
  look: { effect: "none" },
  reserve: { effect: "idempotent" },
  "undo-reserve": { effect: "idempotent", ...undoing },
  charge: { effect: "keyed", ...probed },
  "undo-charge": { effect: "keyed", ...probed, ...undoing },
  fee: { effect: "keyed" },
  "undo-fee": { effect: "keyed", ...undoing },
  tag: { effect: "keyed" },
  "undo-tag": { effect: "keyed", ...undoing },
  pick: { effect: "once", ...probed },
  "undo-pick": { effect: "once", ...probed, ...undoing },
  letter: { effect: "once" },
  "undo-letter": { effect: "once", ...undoing },
  approve: { effect: "none" },
  seal: { effect: "keyed" },
  bill: { effect: "keyed", ...probed },
  "undo-bill": { effect: "keyed", ...undoing },
};

const { step } = stepsFor<FaultServices>();
const Order = z.object({ id: z.string(), refuse: z.boolean() });
/** A time-out is no subject here: it is long enough for a busy machine. */
const bounds = { timeout: "10s", lateness: "1s", retry: { attempts: 5, initial: "50ms", max: "500ms" } } as const;
const undoBounds = { retry: { attempts: 3, initial: "50ms", max: "200ms" } } as const;
/** Where the deadline is waited for, a takeover and a late twin must fit in before it: 1.5 + 3 + 0.3 + 4 s. */
const awaited = { timeout: "3s", lateness: "4s" } as const;

const look = step("look", {
  input: Id,
  effect: "none",
  action: (c) => c.services.make("look", c.input, c),
  ...bounds,
});

const reserve = step("reserve", {
  input: Id,
  output: Ref,
  effect: "idempotent",
  action: (c) => c.services.make("reserve", c.input, c),
  compensate: { run: (c) => c.services.undo("reserve", c.output, c), ...undoBounds },
  ...bounds,
});

const charge = step("charge", {
  input: Id,
  output: Ref,
  effect: "keyed",
  action: (c) => c.services.make("charge", c.input, c),
  probe: async (c) => known(await c.services.find("charge", "make", c)),
  compensate: {
    run: (c) => c.services.undo("charge", c.output, c),
    probe: async (c) => isKnown(await c.services.find("charge", "undo", c)),
    ...undoBounds,
  },
  ...bounds,
});

const fee = step("fee", {
  input: Id,
  output: Ref,
  effect: "keyed",
  action: (c) => c.services.make("fee", c.input, c),
  compensate: { run: (c) => c.services.undo("fee", c.output, c), ...undoBounds },
  ...bounds,
});

/** Its compensation is said to change nothing, so it is repeated without a thought. */
const tag = step("tag", {
  input: Id,
  output: Ref,
  effect: "keyed",
  action: (c) => c.services.make("tag", c.input, c),
  compensate: { run: (c) => c.services.undo("tag", c.output, c), effect: "none", ...undoBounds },
  ...bounds,
});

const pick = step("pick", {
  input: Id,
  output: Ref,
  effect: "once",
  action: (c) => c.services.make("pick", c.input, c),
  probe: async (c) => known(await c.services.find("pick", "make", c)),
  compensate: {
    run: (c) => c.services.undo("pick", c.output, c),
    probe: async (c) => isKnown(await c.services.find("pick", "undo", c)),
    ...undoBounds,
  },
  ...bounds,
  ...awaited,
});

/** Blind: nobody can be asked whether it went out, nor whether it was taken back. */
const letter = step("letter", {
  input: Id,
  output: Ref,
  effect: "once",
  action: (c) => c.services.make("letter", c.input, c),
  compensate: { run: (c) => c.services.undo("letter", c.output, c), ...undoBounds },
  ...bounds,
});

/** Says no where the order says so. */
const approve = step("approve", {
  input: Order,
  effect: "none",
  action: async (c) => {
    await c.services.make("approve", c.input, c);
    if (c.input.refuse) throw fail("refused", { code: "refused" });
  },
  ...bounds,
});

/** `tag` stands before `letter`: a commit that records one call also says that the next one is sent. */
const whole = saga("whole", { version: 1, input: Order })
  .step(look, toId)
  .step(reserve, toId)
  .step(charge, toId)
  .step(fee, toId)
  .step(pick, toId)
  .step(tag, toId)
  .step(letter, toId)
  .step(approve)
  .build();

/** Longer than `inlineWaitMs`: the run is given back and comes again by its wake-up. */
export const timedWaitMs = 3_000;

const timed = saga("timed", { version: 1, input: Order })
  .step(charge, toId)
  .wait(timedWaitMs)
  .step(letter, toId)
  .build();

const signalled = saga("signalled", { version: 1, input: Order, events: { GO: z.object({}) } })
  .step(charge, toId)
  .waitFor("GO")
  .step(letter, toId)
  .build();

/** All runs of a namespace have the same bill to pay. */
const bill = step("bill", {
  input: Id,
  output: Ref,
  effect: "keyed",
  intent: ({ input }) => ["bill", input.id],
  action: (c) => c.services.make("bill", c.input, c),
  probe: async (c) => known(await c.services.find("bill", "make", c)),
  compensate: { run: (c) => c.services.undo("bill", c.output, c), ...undoBounds },
  ...bounds,
});

/** Pays the bill, and holds before the end. */
const billed = saga("billed", { version: 1, input: Order, events: { GO: z.object({}) } })
  .step(bill, () => ({ id: "b-1" }))
  .waitFor("GO")
  .step(approve)
  .build();

/** Uses tools of every class, one after the other, and asks for the last one once more, to be sure. */
const agent = step("agent", {
  input: Id,
  output: z.object({ refs: z.array(z.string()) }),
  effect: "none",
  uses: { reserve, charge, pick },
  action: async ({ input, tools }) => {
    const made = [
      await tools.reserve(input, { key: "seat" }),
      await tools.charge(input, { key: "card" }),
      await tools.pick(input, { key: "shelf" }),
      await tools.pick(input, { key: "shelf" }),
    ];
    return { refs: made.map(({ ref }) => ref) };
  },
  ...bounds,
});

const assisted = saga("assisted", { version: 1, input: Order }).step(agent, toId).step(approve).build();

/** One at a time, whatever they are about. */
const turns = saga("turns", { version: 1, input: Order, concurrency: { key: () => "all" } })
  .step(charge, toId)
  .step(approve)
  .build();

/** What a parent has done by a run of its own. */
const errand = saga("errand", { version: 1, input: Order }).step(reserve, toId).step(pick, toId).build();

const parenting = saga("parenting", { version: 1, input: Order })
  .step(child(errand), ({ input }) => ({ id: input.id, refuse: false }))
  .step(approve)
  .build();

/** Holds in the middle; its second version has one more step there, and an order that says so. */
const moving = saga("moving", { version: 1, input: Order, events: { GO: z.object({}) } })
  .step(charge, toId)
  .waitFor("GO")
  .step(letter, toId)
  .build();
const Moved = Order.extend({ moved: z.boolean() });
const moved = saga("moving", {
  version: 2,
  input: Moved,
  events: { GO: z.object({}) },
  migrate: { 1: (run) => ({ ...run, input: { ...Object(run.input), moved: true } }) },
})
  .step(charge, toId)
  .waitFor("GO")
  .step(tag, toId)
  .step(letter, toId)
  .build();

/** Two runs of its own at once, each of which charges and holds. */
const brood = saga("brood", { version: 1, input: Order })
  .each(({ input }) => [input, input], child(signalled), { concurrency: 2, as: "children" })
  .build();

/** Nothing is undone by itself once it is sealed. */
const seal = step("seal", {
  input: Id,
  output: Ref,
  effect: "keyed",
  pivot: true,
  noCompensation: "what is sealed stays sealed",
  action: (c) => c.services.make("seal", c.input, c),
  ...bounds,
});

const sealed = saga("sealed", { version: 1, input: Order, events: { GO: z.object({}) } })
  .step(charge, toId)
  .step(seal, toId)
  .waitFor("GO")
  .step(approve)
  .build();

export const sagas = {
  whole,
  timed,
  signalled,
  billed,
  assisted,
  turns,
  errand,
  parenting,
  brood,
  sealed,
  moving,
  moved,
} as const;
export type SagaName = keyof typeof sagas;

export interface Seen {
  readonly arrivals: number;
  readonly effects: number;
}

const once: Seen = { arrivals: 1, effects: 1 };
const onceUnseen: Seen = { arrivals: 1, effects: 0 };

/** What the world sees of a run of `whole` in which everything was called once; `undone` of one that was undone too. */
export const done: Readonly<Record<string, Seen>> = {
  look: onceUnseen,
  reserve: once,
  charge: once,
  fee: once,
  pick: once,
  tag: once,
  letter: once,
  approve: onceUnseen,
};

export const undone: Readonly<Record<string, Seen>> = {
  ...done,
  "undo-letter": once,
  "undo-tag": once,
  "undo-pick": once,
  "undo-fee": once,
  "undo-charge": once,
  "undo-reserve": once,
};
