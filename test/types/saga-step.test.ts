import { describe, expectTypeOf, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { absent, cannotTell, happened, type Json, type Step, step, stepsFor } from "../../src/saga/index.ts";

const instant = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});
const input = z.object({ orderId: z.string(), since: instant });
const output = z.object({
  chargeId: z.string(),
  at: instant,
  state: z.enum(["open", "paid"]),
  items: z.array(z.int()),
});
const noCompensation = "it stays";

describe("a step's types follow from its schemas", () => {
  test("outside it is JSON, inside it is decoded", () => {
    const charge = step("charge", {
      input,
      output,
      effect: "keyed",
      action: async ({ input, attempt, signal, services, progress }) => {
        expectTypeOf(input).toEqualTypeOf<{ orderId: string; since: Date }>();
        expectTypeOf(attempt).toBeNumber();
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
        expectTypeOf(services).toBeUnknown();
        expectTypeOf(progress.get()).toEqualTypeOf<Json>();
        return { chargeId: input.orderId, at: input.since, state: "paid", items: [1, 2] };
      },
      // @ts-expect-error only an action makes progress
      probe: async ({ input, operationId, progress: _ }) => {
        if (operationId === "") return cannotTell("no id");
        return input.orderId ? happened({ chargeId: "c", at: input.since, state: "open", items: [] }) : absent();
      },
      compensate: ({ output, forwardOperationId }) => {
        expectTypeOf(output).toEqualTypeOf<z.output<typeof outputSchema>>();
        expectTypeOf(forwardOperationId).toBeString();
      },
    });
    const outputSchema = output;
    expectTypeOf(charge).toEqualTypeOf<
      Step<"charge", { orderId: string; since: string }, z.input<typeof outputSchema>>
    >();
  });

  test("without an output schema it yields null", () => {
    const mail = step("mail", {
      input,
      effect: "once",
      action: async () => "whatever",
      probe: () => happened(),
      compensate: ({ output }) => expectTypeOf(output).toBeNull(),
    });
    expectTypeOf(mail).toEqualTypeOf<Step<"mail", { orderId: string; since: string }, null>>();
  });

  test("compensateIfUnknown hands over an output that may be missing", () => {
    step("charge", {
      input,
      output: z.object({ id: z.string() }),
      effect: "once",
      action: async ({ input }) => ({ id: input.orderId }),
      compensateIfUnknown: true,
      compensate: { run: ({ output }) => expectTypeOf(output).toEqualTypeOf<{ id: string } | undefined>() },
    });
  });

  test("the type of services is said once", () => {
    const { step: mine } = stepsFor<{ readonly mail: { send(to: string): Promise<void> } }>();
    mine("mail", {
      input: z.object({ to: z.string() }),
      effect: "once",
      noCompensation,
      action: ({ services, input }) => services.mail.send(input.to),
      probe: ({ services }) => {
        expectTypeOf(services.mail.send).toBeFunction();
        return absent();
      },
    });
  });

  test("setup() infers a step's input and event.output", () => {
    const charge = step("charge", {
      input: z.object({ cents: z.int() }),
      output: z.object({ at: instant }),
      effect: "none",
      action: () => ({ at: new Date(0) }),
    });
    setup({ types: {} as { context: { at: string } }, actors: { charge } }).createMachine({
      context: { at: "" },
      initial: "paying",
      states: {
        paying: {
          invoke: {
            src: "charge",
            input: () => ({ cents: 4 }),
            onDone: {
              target: "done",
              actions: assign({
                at: ({ event }) => {
                  expectTypeOf(event.output).toEqualTypeOf<{ at: string }>();
                  return event.output.at;
                },
              }),
            },
          },
        },
        done: { type: "final" },
      },
    });
    setup({ actors: { charge } }).createMachine({
      initial: "paying",
      states: {
        paying: {
          invoke: {
            src: "charge",
            // @ts-expect-error the input is not the step's
            input: { euros: 4 },
          },
        },
      },
    });
  });
});

describe("what cannot be a step does not compile", () => {
  const action = async () => undefined;
  const compensate = async () => undefined;

  test("an effect must be stated, and be one of the four", () => {
    // @ts-expect-error effect is missing
    step("a", { input, action, compensate });
    // @ts-expect-error there is no such effect
    step("a", { input, action, compensate, effect: "twice" });
  });

  test("an effect needs compensate or noCompensation, not both", () => {
    // @ts-expect-error neither
    step("a", { input, action, effect: "keyed" });
    // @ts-expect-error both
    step("a", { input, action, effect: "keyed", compensate, noCompensation });
    step("a", { input, action, effect: "keyed", compensate });
    step("a", { input, action, effect: "keyed", noCompensation, pivot: true });
  });

  test("what has no effect has nothing to undo and is no point of no return", () => {
    // @ts-expect-error nothing to undo
    step("a", { input, action, effect: "none", compensate });
    // @ts-expect-error nothing that stays
    step("a", { input, action, effect: "none", noCompensation });
    // @ts-expect-error no point of no return
    step("a", { input, action, effect: "none", pivot: true });
    step("a", { input, action, effect: "none" });
  });

  test("an action and a probe must give what the output schema describes", () => {
    const id = z.object({ id: z.string() });
    // @ts-expect-error the action gives a number
    step("a", { input, output: id, effect: "none", action: async ({ attempt }) => ({ id: attempt }) });
    step("a", {
      input,
      output: id,
      effect: "none",
      action: () => ({ id: "1" }),
      // @ts-expect-error the probe gives a number
      probe: ({ attempt }) => happened({ id: attempt }),
    });
    // @ts-expect-error the probe gives nothing
    step("a", { input, output: id, effect: "none", action: () => ({ id: "1" }), probe: () => happened() });
  });

  test("a compensation that may meet an unknown outcome cannot rely on its output", () => {
    step("a", {
      input,
      output: z.object({ id: z.string() }),
      effect: "once",
      action: () => ({ id: "1" }),
      compensateIfUnknown: true,
      // @ts-expect-error output may be undefined
      compensate: ({ output }) => output.id,
    });
  });

  test("a schema whose encoded side is not JSON is refused, a codec is not", () => {
    // @ts-expect-error a Date is not JSON
    step("a", { input: z.object({ when: z.object({ at: z.date() }) }), effect: "none", action });
    // @ts-expect-error nor is a Map
    step("a", { input, output: z.array(z.map(z.string(), z.string())), effect: "none", action: () => [] });
    step("a", { input: z.object({ at: instant, any: z.json(), rest: z.unknown() }), effect: "none", action });
  });

  test("a duration is written with its unit, or is a number of ms", () => {
    step("a", { input, action, effect: "none", timeout: "10s", retry: { initial: 200, max: "5m" } });
    // @ts-expect-error no unit
    step("a", { input, action, effect: "none", timeout: "10" });
    // @ts-expect-error there are no weeks
    step("a", { input, action, effect: "none", timeout: "2w" });
  });
});
