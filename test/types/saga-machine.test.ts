import { describe, expectTypeOf, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { type SagaInput, type SagaOutput, saga, step } from "../../src/saga/index.ts";

const score = step("score", {
  input: z.object({ id: z.string() }),
  output: z.object({ points: z.int() }),
  effect: "none",
  action: () => ({ points: 1 }),
});

type Approved = { type: "APPROVED"; by: string };
const machine = setup({
  types: {} as { context: { id: string }; input: { id: string }; events: Approved; output: { points: number } },
  actors: { score },
}).createMachine({
  context: ({ input }) => ({ id: input.id }),
  initial: "scoring",
  output: { points: 1 },
  states: {
    scoring: { invoke: { src: "score", input: ({ context }) => context, onDone: "waiting" } },
    waiting: { on: { APPROVED: "done" } },
    done: { type: "final" },
  },
});
const input = z.object({ id: z.string() });
const events = { APPROVED: z.object({ by: z.string() }) };

describe("a machine's types meet the saga's", () => {
  test("a machine that takes the saga's input and events gives its output", () => {
    const loan = saga("loan", { version: 1, input, events }).machine(machine);
    expectTypeOf<SagaInput<typeof loan>>().toEqualTypeOf<{ id: string }>();
    expectTypeOf<SagaOutput<typeof loan>>().toEqualTypeOf<{ points: number }>();
  });

  test("a machine without types takes anything", () => {
    const plain = setup({ actors: { score } }).createMachine({ initial: "a", states: { a: { type: "final" } } });
    saga("loan", { version: 1, input, events }).machine(plain);
  });

  test("a machine that takes another input does not compile", () => {
    // @ts-expect-error the machine wants an id
    saga("loan", { version: 1, input: z.object({ name: z.string() }), events }).machine(machine);
  });

  test("an event that the machine does not know, or in another shape, does not compile", () => {
    // @ts-expect-error the machine knows no DENIED
    saga("loan", { version: 1, input, events: { DENIED: z.object({}) } }).machine(machine);
    // @ts-expect-error by is a string
    saga("loan", { version: 1, input, events: { APPROVED: z.object({ by: z.number() }) } }).machine(machine);
  });
});
