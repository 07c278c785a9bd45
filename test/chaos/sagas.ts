/**
 * What is played in a round of chaos: an order, a loan, a fan-out, a timer, a batch of errands and an agent with tools that takes
 * turns, of cheap steps of every effect class. A step and the world's service that it calls have one name. A second version of the order has one step more.
 */
import { z } from "zod";
import { child, fail, type Saga, saga, stepsFor } from "../../src/index.ts";
import type { ServiceProfile } from "../../src/testing/index.ts";
import { type FaultServices, Id, isKnown, known, Ref, toId } from "../support/fault-services.ts";

const { step } = stepsFor<FaultServices>();
const Job = z.object({ id: z.string(), refuse: z.boolean() });

const probed = { query: true } as const;
const undoing = { direction: "undo" } as const;

/** How the world treats each step's service, and its compensation (`undo-<step>`). */
export const profiles: Readonly<Record<string, ServiceProfile>> = {
  reserve: { effect: "idempotent" },
  "undo-reserve": { effect: "idempotent", ...undoing },
  charge: { effect: "keyed", ...probed },
  "undo-charge": { effect: "keyed", ...probed, ...undoing },
  ship: { effect: "keyed" },
  "undo-ship": { effect: "keyed", ...undoing },
  gift: { effect: "keyed" },
  "undo-gift": { effect: "keyed", ...undoing },
  present: { effect: "keyed" },
  "undo-present": { effect: "keyed", ...undoing },
  disburse: { effect: "once", ...probed },
  "undo-disburse": { effect: "once", ...probed, ...undoing },
  email: { effect: "once" },
  check: { effect: "none" },
};

/** Short, so that what waits for a deadline waits seconds; a busy machine still answers in time. */
const bounds = { timeout: "2s", lateness: "2s", retry: { attempts: 6, initial: "50ms", max: "500ms" } } as const;
const undoBounds = { retry: { attempts: 6, initial: "50ms", max: "500ms" } } as const;

/** Says no where the job says so. */
const check = step("check", {
  input: Job,
  effect: "none",
  action: async ({ input, services, ...call }) => {
    await services.make("check", { id: input.id }, call);
    if (input.refuse) throw fail("refused", { code: "refused" });
  },
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

/** `keyed`, and nobody can be asked: after a doubt it is sent again under its key. */
function keyed<Name extends "ship" | "gift">(name: Name) {
  return step(name, {
    input: Id,
    output: Ref,
    effect: "keyed",
    action: (c) => c.services.make(name, c.input, c),
    compensate: { run: (c) => c.services.undo(name, c.output, c), ...undoBounds },
    ...bounds,
  });
}

/** `once`, and can be asked about: after a crash it is asked past its deadline, and only then sent again. */
const disburse = step("disburse", {
  input: Id,
  output: Ref,
  effect: "once",
  action: (c) => c.services.make("disburse", c.input, c),
  probe: async (c) => known(await c.services.find("disburse", "make", c)),
  compensate: {
    run: (c) => c.services.undo("disburse", c.output, c),
    probe: async (c) => isKnown(await c.services.find("disburse", "undo", c)),
    ...undoBounds,
  },
  ...bounds,
});

/** Blind: whoever dies in the middle of it leaves a question for a person. */
const email = step("email", {
  input: Id,
  output: Ref,
  effect: "once",
  action: (c) => c.services.make("email", c.input, c),
  noCompensation: "a mail that was read cannot be unread",
  ...bounds,
});

const order = saga("order", { version: 1, input: Job })
  .step(reserve, toId)
  .step(charge, toId)
  .step(keyed("ship"), toId)
  .step(check)
  .step(email, toId)
  .build();

const nextOrder = saga("order", { version: 2, input: Job, migrate: { 1: (run) => run } })
  .step(reserve, toId)
  .step(charge, toId)
  .step(keyed("ship"), toId)
  .step(keyed("gift"), toId)
  .step(check)
  .step(email, toId)
  .build();

const loan = saga("loan", { version: 1, input: Job })
  .step(charge, toId)
  .approval("manager", { question: "Shall it be lent?", input: Id }, toId)
  .step(disburse, toId)
  .step(check)
  .build();

const fan = saga("fan", { version: 1, input: Job })
  .parallel({
    x: (branch) => branch.step(charge, toId),
    y: (branch) => branch.step(keyed("ship"), toId),
    z: (branch) => branch.step(reserve, toId),
  })
  .step(check)
  .build();

/** Longer than a worker waits with the run in its hands. */
export const timerMs = 2_500;

const timer = saga("timer", { version: 1, input: Job })
  .step(charge, toId)
  .wait(timerMs)
  .step(keyed("ship"), toId)
  .step(check)
  .build();

const errand = saga("errand", { version: 1, input: Job }).step(reserve, toId).step(disburse, toId).build();

/** So many errands, two at a time. */
const batchSize = 3;
const batch = saga("batch", { version: 1, input: Job })
  .each(
    ({ input }) => Array.from({ length: batchSize }, (_, at) => ({ id: `${input.id}-${at}`, refuse: false })),
    child(errand),
    { concurrency: 2 },
  )
  .step(check)
  .build();

/** Known by its business key to every run: each has one of its own, or what one undoes would be another's doubt. */
const present = step("present", {
  input: Id,
  output: Ref,
  effect: "keyed",
  intent: ({ input }) => ({ present: input.id }),
  action: (c) => c.services.make("present", c.input, c),
  compensate: { run: (c) => c.services.undo("present", c.output, c), ...undoBounds },
  ...bounds,
});

/** Asks for one of its tools once more, to be sure. */
const assistant = step("assistant", {
  input: Id,
  output: z.object({ refs: z.array(z.string()) }),
  effect: "none",
  uses: { reserve, charge, present },
  action: async ({ input, tools }) => {
    const made = [
      await tools.reserve(input, { key: "seat" }),
      await tools.charge(input, { key: "card" }),
      await tools.present(input),
      await tools.charge(input, { key: "card" }),
    ];
    return { refs: made.map(({ ref }) => ref) };
  },
  ...bounds,
  // Its tools have bounds of their own, and a doubt about one of them takes its time.
  timeout: "30s",
});

/** One at a time of all whose number ends alike. */
const agent = saga("agent", { version: 1, input: Job, concurrency: { key: ({ input }) => input.id.slice(-1) } })
  .step(assistant, toId)
  .step(check)
  .build();

export const sagas = { order, nextOrder, loan, fan, timer, errand, batch, agent } as const;
export const everything: readonly Saga[] = Object.values(sagas);
export const beforeDeploy: readonly Saga[] = everything.filter((each) => each !== nextOrder);

export type Kind = "order" | "loan" | "fan" | "timer" | "batch" | "agent";

/** What each kind does outside, in no order; of an order, in both versions. */
export const servicesOf: Readonly<Record<Kind, readonly string[]>> = {
  order: ["reserve", "charge", "ship", "email"],
  loan: ["charge", "disburse"],
  fan: ["charge", "ship", "reserve"],
  timer: ["charge", "ship"],
  batch: [],
  agent: ["reserve", "charge", "present"],
};
