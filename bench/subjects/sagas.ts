/**
 * The sagas that are measured, written as a user would: `keyed` steps with input and output schemas, each with its
 * compensation. What the steps do is `work.ts`'s; a step that holds is one that never answers.
 */
import { fail, type Saga, type Step, saga, stepsFor } from "reprise";
import { setup } from "xstate";
import { z } from "zod";
import type { SagaName } from "./contestant.ts";
import { longSteps, perform, stepNames } from "./work.ts";

export interface Services {
  /** Told when a step of a `held` run is entered. */
  readonly entered: (run: string) => void;
  /** Steps of `held` runs do not answer here. */
  readonly hold: boolean;
}

const { step } = stepsFor<Services>();

const Order = z.object({ id: z.string().min(1), sku: z.string(), cents: z.int().positive() });
const Input = z.object({ orderId: z.string().min(1), cents: z.int().positive() });
const Result = z.object({
  reference: z.string(),
  at: z.int(),
  lines: z.array(z.object({ sku: z.string(), count: z.int().positive() })),
  note: z.string(),
});

function working<const Name extends string>(name: Name) {
  return step(name, {
    input: Input,
    output: Result,
    effect: "keyed",
    action: ({ input }) => perform(name, input),
    compensate: ({ input }) => perform(name, input),
  });
}

const refusing = step("refuse", {
  input: Input,
  output: Result,
  effect: "keyed",
  action: () => {
    throw fail("refused");
  },
  compensate: ({ input }) => perform("refuse", input),
});

const holding = step("hold", {
  input: Input,
  output: Result,
  effect: "keyed",
  action: async ({ input, run, services, signal }) => {
    services.entered(run.id);
    if (services.hold) await new Promise((_, reject) => signal.addEventListener("abort", reject));
    return await perform("hold", input);
  },
  compensate: ({ input }) => perform("hold", input),
});

const toStep = ({ input }: { readonly input: z.input<typeof Order> }) => ({ orderId: input.id, cents: input.cents });
const [reserve, charge, pack, ship, mail] = stepNames;

const order = saga("order", { version: 1, input: Order })
  .step(working(reserve), toStep)
  .step(working(charge), toStep)
  .step(working(pack), toStep)
  .step(working(ship), toStep)
  .step(working(mail), toStep)
  .build({ output: ({ results }) => results.mail });

const failing = saga("failing", { version: 1, input: Order })
  .step(working(reserve), toStep)
  .step(working(charge), toStep)
  .step(working(pack), toStep)
  .step(working(ship), toStep)
  .step(refusing, toStep)
  .build({ output: ({ results }) => results.refuse });

const waiting = saga("waiting", { version: 1, input: Order, events: { GO: z.object({}) } })
  .waitFor("GO")
  .build({ output: ({ input }) => input.id });

const held = saga("held", { version: 1, input: Order })
  .step(holding, toStep)
  .build({ output: ({ results }) => results.hold });

const Timed = Order.extend({ waitMs: z.int().nonnegative().optional() });
type Timed = z.output<typeof Timed>;

const timed = saga("timed", { version: 1, input: Timed }).machine(
  setup({
    types: {} as { context: Timed; input: Timed },
    actors: { hold: holding },
    delays: { due: ({ context }) => context.waitMs ?? 0 },
  }).createMachine({
    id: "timed",
    context: ({ input }) => input,
    initial: "waiting",
    states: {
      waiting: { after: { due: "holding" } },
      holding: {
        invoke: {
          src: "hold",
          input: ({ context }) => ({ orderId: context.id, cents: context.cents }),
          onDone: "done",
        },
      },
      done: { type: "final" },
    },
  }),
);

/** A line whose steps have names made up in a loop: the types of its results are not needed. */
interface AnyLine {
  step(step: Step, mapper: typeof toStep): AnyLine;
  build(): Saga;
}

function longSaga(): Saga {
  let line = saga("long", { version: 1, input: Order }) as unknown as AnyLine;
  for (let number = 1; number <= longSteps; number += 1) line = line.step(working(`s${number}`) as Step, toStep);
  return line.build();
}

export const sagas = { order, failing, waiting, held, timed, long: longSaga() } satisfies Readonly<
  Record<SagaName, Saga>
>;
export const allSagas: readonly Saga[] = Object.values(sagas);
