/**
 * The sagas of the fault tests. `whole` holds every effect class, with and without a probe, each with a compensation of
 * the same class (and one of class `none`); it fails at its end where its input says so, so that all of them run. `timed`
 * and `signalled` wait in the middle. A step and the world's service that it calls have one name.
 */
import { z } from "zod";
import { absent, fail, happened, saga, stepsFor } from "../../src/index.ts";
import { type CallOptions, type ServiceProfile, worldClient } from "../../src/testing/index.ts";

interface Made {
  readonly ref: string;
}

/** The outside as the steps see it: an effect is made, undone, or asked for. */
export interface FaultServices {
  make(step: string, args: { readonly id: string }, options: CallOptions): Promise<Made>;
  undo(step: string, args: Made, options: CallOptions): Promise<unknown>;
  find(step: string, side: "make" | "undo", options: CallOptions): Promise<Made | undefined>;
}

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
};

/** The services of the world at this address. */
export function faultServices(world: string): FaultServices {
  const client = worldClient(world);
  const service = (step: string, side: "make" | "undo") => client.op(side === "make" ? step : `undo-${step}`);
  const made = (body: Readonly<Record<string, unknown>>): Made => ({ ref: String(body["ref"] ?? "") });
  return {
    make: async (step, args, options) => made(await service(step, "make").call("do", args, options)),
    undo: (step, args, options) => service(step, "undo").call("do", { ...args }, options),
    find: async (step, side, options) => {
      const found = await service(step, side).find("do", options.operationId, options);
      return found === undefined ? undefined : made(found);
    },
  };
}

const { step } = stepsFor<FaultServices>();
const Order = z.object({ id: z.string(), refuse: z.boolean() });
const Id = z.object({ id: z.string() });
const Ref = z.object({ ref: z.string() });
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

function known(found: Made | undefined) {
  return found === undefined ? absent() : happened(found);
}

function isKnown(found: Made | undefined) {
  return found === undefined ? absent() : happened();
}

/** `tag` stands before `letter`: a commit that records one call also says that the next one is sent. */
const whole = saga("whole", { version: 1, input: Order })
  .step(look, ({ input }) => ({ id: input.id }))
  .step(reserve, ({ input }) => ({ id: input.id }))
  .step(charge, ({ input }) => ({ id: input.id }))
  .step(fee, ({ input }) => ({ id: input.id }))
  .step(pick, ({ input }) => ({ id: input.id }))
  .step(tag, ({ input }) => ({ id: input.id }))
  .step(letter, ({ input }) => ({ id: input.id }))
  .step(approve)
  .build();

/** Longer than `inlineWaitMs`: the run is given back and comes again by its wake-up. */
export const timedWaitMs = 3_000;

const timed = saga("timed", { version: 1, input: Order })
  .step(charge, ({ input }) => ({ id: input.id }))
  .wait(timedWaitMs)
  .step(letter, ({ input }) => ({ id: input.id }))
  .build();

const signalled = saga("signalled", { version: 1, input: Order, events: { GO: z.object({}) } })
  .step(charge, ({ input }) => ({ id: input.id }))
  .waitFor("GO")
  .step(letter, ({ input }) => ({ id: input.id }))
  .build();

export const sagas = { whole, timed, signalled } as const;
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
