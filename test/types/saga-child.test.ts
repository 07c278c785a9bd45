import { expectTypeOf, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { child, type Saga, type SagaOutput, saga, step } from "../../src/index.ts";

const pay = step("pay", {
  input: z.object({ cents: z.int() }),
  output: z.object({ chargeId: z.string() }),
  effect: "none",
  action: () => ({ chargeId: "c" }),
});
const order = saga("order", { version: 1, input: z.object({ cents: z.int() }) })
  .step(pay)
  .build({ output: ({ results }) => results.pay });

test("a child takes what its saga takes and gives what that gives", () => {
  const parent = saga("parent", { version: 1, input: z.object({ total: z.int() }) })
    .step(child(order), ({ input }) => ({ cents: input.total }))
    .build({ output: ({ results }) => results.order.chargeId });
  expectTypeOf<SagaOutput<typeof parent>>().toEqualTypeOf<string>();
  expectTypeOf(parent).toExtend<Saga<"parent", { total: number }, string>>();
  saga("parent", { version: 1, input: z.object({ total: z.int() }) })
    // @ts-expect-error the child takes cents
    .step(child(order), ({ input }) => ({ money: input.total }));
});

test("a detached one gives its id; a list of them gives their results", () => {
  saga("parent", { version: 1, input: z.object({ total: z.int() }) })
    .step(child(order, { name: "aside", detached: true }), ({ input }) => ({ cents: input.total }))
    .each(({ input }) => [{ cents: input.total }], child(order), { size: 50, concurrency: 10 })
    .build({
      output: ({ results }) => {
        expectTypeOf(results.aside).toEqualTypeOf<{ readonly id: string }>();
        expectTypeOf(results.orderEach).toEqualTypeOf<readonly { chargeId: string }[]>();
        return null;
      },
    });
});

test("a machine infers both", () => {
  setup({ actors: { order: child(order) } }).createMachine({
    initial: "ordering",
    states: {
      ordering: {
        invoke: {
          src: "order",
          input: { cents: 7 },
          onDone: {
            actions: ({ event }) => {
              expectTypeOf(event.output).toEqualTypeOf<{ chargeId: string }>();
            },
          },
        },
      },
    },
  });
});
