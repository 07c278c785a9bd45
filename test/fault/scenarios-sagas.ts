/**
 * The sagas of the scenarios with processes. A step and the world's service that it calls have one name; what its input
 * says about `mischief` is what its action does to the process it runs in.
 */
import { existsSync } from "node:fs";
import { z } from "zod";
import { saga, stepsFor } from "../../src/index.ts";
import type { ServiceProfile } from "../../src/testing/index.ts";
import { settings } from "../support/fault-plan.ts";
import { type FaultServices, faultServices, Id, known, Ref, toId } from "../support/fault-services.ts";
import type { Orders } from "./scenarios-words.ts";

/** The outside as the steps see it. */
interface Outside extends FaultServices {
  /** Blocks the event loop for 1.5 leases, and until the harness says that it was long enough. */
  spin(): void;
}

/** How many branches the fan has (R016). */
export const branches = 15;
/** How long the reminder waits (R059). */
export const waitMs = 3_000;
/** How long a vigil waits: longer than any test. */
const vigilMs = 60 * 60_000;
/** How long a spinning action blocks its process (R004): 1.5 leases at least. */
const spinMs = { least: 1.5 * settings.leaseMs, most: 40_000 };

const branchNames = Array.from({ length: branches }, (_, at) => `branch${at + 1}`);
const keyed = ["errand", "parcel", "poll", "risky", "charge", ...branchNames];

/** All are deduplicated by key and can be asked, but for the reminder: every request is one more. */
export const profiles: Readonly<Record<string, ServiceProfile>> = {
  ...Object.fromEntries(keyed.map((name) => [name, { effect: "keyed", query: true } as const])),
  ...Object.fromEntries(keyed.map((name) => [`undo-${name}`, { effect: "keyed", direction: "undo" } as const])),
  remind: { effect: "once" },
};

/** The services of the world at an address. */
export function outsideAt({ world, spinEnds }: Pick<Orders, "world" | "spinEnds">): Outside {
  const spin = () => {
    const began = performance.now();
    const isOver = () => performance.now() - began > spinMs.least && existsSync(spinEnds);
    while (!isOver() && performance.now() - began < spinMs.most);
  };
  return { ...faultServices(world), spin };
}

const { step } = stepsFor<Outside>();
const Job = z.object({ id: z.string(), mischief: z.enum(["none", "abort", "spin"]) });
const bounds = { timeout: "60s", lateness: "1s" } as const;
/** Short, and never used up: a poller that goes on until somebody answers. */
const poll = { attempts: 1_000, backoff: "fixed", initial: "200ms", max: "200ms", jitter: false } as const;

function errandNamed<const Name extends string>(name: Name) {
  return step(name, {
    input: Id,
    output: Ref,
    effect: "keyed",
    action: (c) => c.services.make(name, c.input, c),
    compensate: (c) => c.services.undo(name, c.output, c),
    retry: poll,
    ...bounds,
  });
}

/** Takes its process down with it, before it calls anybody. */
const risky = step("risky", {
  input: Job,
  output: Ref,
  effect: "keyed",
  action: ({ input, ...c }) => {
    if (input.mischief === "abort") process.abort();
    return c.services.make("risky", { id: input.id }, c);
  },
  compensate: (c) => c.services.undo("risky", c.output, c),
  ...bounds,
});

/** Charges, and then blocks the event loop of its process, so that its answer comes too late. */
const charge = step("charge", {
  input: Job,
  output: Ref,
  effect: "keyed",
  action: async ({ input, ...c }) => {
    const made = await c.services.make("charge", { id: input.id }, c);
    if (input.mischief === "spin") c.services.spin();
    return made;
  },
  probe: async (c) => known(await c.services.find("charge", "make", c)),
  compensate: (c) => c.services.undo("charge", c.output, c),
  ...bounds,
});

const remind = step("remind", {
  input: Id,
  output: Ref,
  effect: "once",
  action: (c) => c.services.make("remind", c.input, c),
  noCompensation: "who was reminded stays reminded",
  ...bounds,
});

const errand = saga("errand", { version: 1, input: Job }).step(errandNamed("errand"), toId).build();
const parcel = saga("parcel", { version: 1, input: Job }).step(errandNamed("parcel"), toId).build();
const poller = saga("poller", { version: 1, input: Job }).step(errandNamed("poll"), toId).build();
const gamble = saga("gamble", { version: 1, input: Job }).step(risky).build();
const payment = saga("payment", { version: 1, input: Job }).step(charge).step(errandNamed("errand"), toId).build();
const reminder = saga("reminder", { version: 1, input: Job }).step(charge).wait(waitMs).step(remind, toId).build();
const vigil = saga("vigil", { version: 1, input: Job }).wait(vigilMs).step(errandNamed("errand"), toId).build();
const fan = saga("fan", { version: 1, input: Job })
  .parallel({
    b1: (branch) => branch.step(errandNamed("branch1"), toId),
    b2: (branch) => branch.step(errandNamed("branch2"), toId),
    b3: (branch) => branch.step(errandNamed("branch3"), toId),
    b4: (branch) => branch.step(errandNamed("branch4"), toId),
    b5: (branch) => branch.step(errandNamed("branch5"), toId),
    b6: (branch) => branch.step(errandNamed("branch6"), toId),
    b7: (branch) => branch.step(errandNamed("branch7"), toId),
    b8: (branch) => branch.step(errandNamed("branch8"), toId),
    b9: (branch) => branch.step(errandNamed("branch9"), toId),
    b10: (branch) => branch.step(errandNamed("branch10"), toId),
    b11: (branch) => branch.step(errandNamed("branch11"), toId),
    b12: (branch) => branch.step(errandNamed("branch12"), toId),
    b13: (branch) => branch.step(errandNamed("branch13"), toId),
    b14: (branch) => branch.step(errandNamed("branch14"), toId),
    b15: (branch) => branch.step(errandNamed("branch15"), toId),
  })
  .build();

export const sagas = { errand, parcel, poller, gamble, payment, reminder, vigil, fan } as const;
export type SagaName = keyof typeof sagas;
export type Mischief = z.infer<typeof Job>["mischief"];
