import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type Saga, type SagaEvents, type SagaInput, type SagaOutput, saga, step } from "../../src/saga/index.ts";

const Order = z.object({ id: z.string(), sku: z.string(), cents: z.int() });
const noCompensation = "it stays";
const reserve = step("reserve", {
  input: z.object({ orderId: z.string(), sku: z.string() }),
  output: z.object({ reservationId: z.string() }),
  effect: "none",
  action: ({ input }) => ({ reservationId: input.sku }),
});
const charge = step("charge", {
  input: z.object({ orderId: z.string(), cents: z.int() }),
  output: z.object({ chargeId: z.string() }),
  effect: "none",
  action: ({ input }) => ({ chargeId: input.orderId }),
});
const mail = step("mail", { input: z.object({ to: z.string() }), effect: "once", noCompensation, action: () => 0 });
const options = { version: 1, input: Order };

describe("a line's types follow from its steps", () => {
  test("mappers see the input and the results so far, and the saga results in them", () => {
    const order = saga("order", options)
      .step(reserve, ({ input, results }) => {
        expectTypeOf(input).toEqualTypeOf<{ id: string; sku: string; cents: number }>();
        expectTypeOf<keyof typeof results>().toBeNever();
        return { orderId: input.id, sku: input.sku };
      })
      .step(charge, ({ input, results }) => {
        expectTypeOf(results.reserve).toEqualTypeOf<{ reservationId: string }>();
        return { orderId: results.reserve.reservationId, cents: input.cents };
      })
      .build();
    expectTypeOf(order.name).toEqualTypeOf<"order">();
    expectTypeOf<SagaInput<typeof order>>().toEqualTypeOf<{ id: string; sku: string; cents: number }>();
    expectTypeOf<SagaOutput<typeof order>>().toEqualTypeOf<{
      readonly reserve: { reservationId: string };
      readonly charge: { chargeId: string };
    }>();
  });

  test("the mapper may be left out only where the step takes the saga's input", () => {
    saga("order", { version: 1, input: z.object({ to: z.string(), more: z.string() }) })
      .step(mail)
      .build();
    // @ts-expect-error an order is not what mail takes
    saga("order", options).step(mail);
  });

  test("a wrong wiring does not compile", () => {
    // @ts-expect-error cents is missing
    saga("order", options).step(charge, ({ input }) => ({ orderId: input.id }));
    // @ts-expect-error cents is not a string
    saga("order", options).step(charge, ({ input }) => ({ orderId: input.id, cents: input.sku }));
    // @ts-expect-error nothing was reserved yet
    saga("order", options).step(mail, ({ results }) => ({ to: results.reserve.reservationId }));
    saga("order", options)
      .step(reserve, ({ input }) => ({ orderId: input.id, sku: input.sku }))
      // @ts-expect-error reserve gives no chargeId
      .step(mail, ({ results }) => ({ to: results.reserve.chargeId }));
  });

  test("two steps of one name do not compile, in a row or side by side", () => {
    const toReserve = ({ input }: { readonly input: z.input<typeof Order> }) => ({ orderId: input.id, sku: input.sku });
    saga("order", options)
      .step(reserve, toReserve)
      // @ts-expect-error reserve is taken
      .step(reserve, toReserve);
    saga("order", options).parallel({
      // @ts-expect-error reserve stands in both branches
      a: (branch) => branch.step(reserve, toReserve),
      // @ts-expect-error reserve stands in both branches
      b: (branch) => branch.wait("1s").step(reserve, toReserve),
    });
    saga("order", options)
      .step(reserve, toReserve)
      // @ts-expect-error reserve is taken outside the branch
      .parallel({ a: (branch) => branch.step(reserve, toReserve) });
  });

  test("branches see what came before them, and what follows sees all branches", () => {
    const trip = saga("trip", options)
      .step(reserve, ({ input }) => ({ orderId: input.id, sku: input.sku }))
      .parallel({
        pay: (branch) =>
          branch.step(charge, ({ results }) => ({ orderId: results.reserve.reservationId, cents: 1 })).wait(5),
        tell: (branch) => branch.step(mail, ({ results }) => ({ to: results.reserve.reservationId })),
        rest: (branch) => branch.wait("24h"),
      })
      .build({
        output: ({ results }) => {
          expectTypeOf(results.charge).toEqualTypeOf<{ chargeId: string }>();
          expectTypeOf(results.mail).toBeNull();
          return results.charge.chargeId;
        },
      });
    expectTypeOf<SagaOutput<typeof trip>>().toBeString();
    saga("trip", options).parallel({
      // @ts-expect-error a sibling's results are not there yet
      a: (branch) => branch.step(mail, ({ results }) => ({ to: results.charge.chargeId })),
      b: (branch) => branch.step(charge, ({ input }) => ({ orderId: input.id, cents: 1 })),
    });
  });

  test("results of .when are optional for what follows", () => {
    const line = saga("order", options).when(
      ({ input, results }) => {
        expectTypeOf<keyof typeof results>().toBeNever();
        return input.cents > 5;
      },
      (branch) => branch.step(charge, ({ input }) => ({ orderId: input.id, cents: 1 })),
    );
    line.step(mail, ({ results }) => {
      expectTypeOf(results.charge).toEqualTypeOf<{ chargeId: string } | undefined>();
      return { to: results.charge?.chargeId ?? "nobody" };
    });
    // @ts-expect-error charge may not have run
    line.step(mail, ({ results }) => ({ to: results.charge.chargeId }));
  });

  test("an awaited event's payload is a result, and only declared events can be awaited", () => {
    const events = { APPROVED: z.object({ by: z.string() }) };
    const loan = saga("loan", { ...options, events })
      .waitFor("APPROVED")
      .step(mail, ({ results }) => ({ to: results.APPROVED.by }))
      .build();
    expectTypeOf<SagaEvents<typeof loan>>().toEqualTypeOf<{ readonly APPROVED: { by: string } }>();
    // @ts-expect-error there is no such event
    saga("loan", { ...options, events }).waitFor("DENIED");
    // @ts-expect-error there are no events at all
    saga("loan", options).waitFor("APPROVED");
    const approved = saga("loan", { ...options, events }).waitFor("APPROVED");
    // @ts-expect-error its payload would be taken twice
    approved.waitFor("APPROVED");
  });

  test("a branch cannot be built", () => {
    const line = saga("order", options);
    const always = () => true;
    // @ts-expect-error only the saga can
    line.when(always, (branch) => branch.wait("1s").build());
  });

  test("input and event payloads must be JSON on their encoded side", () => {
    // @ts-expect-error a Date is not JSON
    saga("order", { version: 1, input: z.object({ at: z.date() }) });
    // @ts-expect-error a Date is not JSON
    saga("order", { version: 1, input: Order, events: { A: z.object({ at: z.date() }) } });
  });

  test("every saga is a Saga", () => {
    const one = saga("order", options)
      .wait("1s")
      .step(charge, ({ input }) => ({ orderId: input.id, cents: 1 }))
      .build();
    expectTypeOf(one).toExtend<Saga>();
    expectTypeOf<(typeof one)[]>().toExtend<readonly Saga[]>();
  });
});
