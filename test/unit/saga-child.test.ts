import { describe, expect, test } from "vitest";
import { z } from "zod";
import { RepriseError } from "../../src/errors.ts";
import { child, type Saga, saga, step, structureOf, withChildren } from "../../src/saga/index.ts";

const Order = z.object({ orderId: z.string() });
const pay = step("pay", {
  input: Order,
  output: z.object({ chargeId: z.string() }),
  effect: "keyed",
  action: () => ({ chargeId: "c" }),
  compensate: () => undefined,
});

function orders(version = 1): Saga<"order", { orderId: string }, { chargeId: string }> {
  return saga("order", { version, input: Order })
    .step(pay)
    .build({ output: ({ results }) => results.pay });
}
const order = orders();
const toOrder = () => ({ orderId: "o-1" });

function refusal(declare: () => unknown): string {
  try {
    declare();
  } catch (error) {
    if (error instanceof RepriseError && error.code === "DEFINITION_INVALID") return error.message;
    throw error;
  }
  return "it was taken";
}

describe("a saga as a step", () => {
  test("has its name, its input, and what undoes it; another name where one is given", () => {
    const { spec } = child(order);
    expect(spec).toMatchObject({ name: "order", kind: "child", effect: "idempotent", compensateIfUnknown: true });
    expect([spec.input, spec.child?.of]).toEqual([Order, order.spec]);
    expect([spec.compensation === null, spec.noCompensation]).toEqual([false, null]);
    expect(child(order, { name: "first" }).spec.name).toBe("first");
  });

  test("that is detached says why it stays", () => {
    const { spec } = child(order, { name: "aside", detached: true });
    expect(spec).toMatchObject({ compensation: null, noCompensation: expect.stringContaining("detached") });
    expect(spec.output?.safeParse({ id: "r.1" }).success).toBe(true);
  });

  test("is run by a worker alone", async () => {
    const { spec } = child(order);
    expect(() => spec.action({} as never)).toThrow(/only a worker runs it/);
    expect(() => spec.compensation?.run({} as never)).toThrow(/only a worker runs it/);
  });

  test.each([
    ["something else", () => child({ name: "order" } as never), /no saga/],
    ["a name that no step may have", () => child(order, { name: "a b" }), /Rename the step/],
    [
      "two sagas of one name and version",
      () => {
        const inner = saga("middle", { version: 1, input: Order }).step(child(orders())).build();
        saga("outer", { version: 1, input: Order }).step(child(order)).step(child(inner), toOrder).build();
      },
      /two sagas in it are called "order" version 1/,
    ],
    [
      "its own name and version",
      () =>
        saga("order", { version: 1, input: Order })
          .step(child(order, { name: "again" }))
          .build(),
      /two sagas in it are called "order" version 1/,
    ],
  ])("of %s is refused", (_what, declare, words) => {
    expect(refusal(declare)).toMatch(words);
  });

  test("may be an older version of the same saga", () => {
    const next = saga("order", { version: 2, input: Order })
      .step(child(order, { name: "before" }))
      .build();
    expect(next.spec.steps["before"]?.child?.of.version).toBe(1);
  });
});

describe("the structure of a saga", () => {
  test("names the sagas that it runs, and is what it was where it runs none", () => {
    const parent = saga("parent", { version: 1, input: Order }).step(child(order)).build();
    expect(structureOf(parent)).toMatchObject({ steps: { order: { child: "order@1", detached: false } } });
    expect(structureOf(order)).toMatchObject({ steps: { pay: { effect: "keyed", undo: "keyed" } } });
    expect(JSON.stringify(structureOf(order))).not.toContain("child");
  });
});

describe("whoever has a saga", () => {
  test("has all that run below it, each once, and does not make again what it was given", () => {
    const middle = saga("middle", { version: 1, input: Order })
      .each(() => [{ orderId: "o-1" }], child(order))
      .build();
    const top = saga("top", { version: 1, input: Order }).step(child(middle)).step(child(order), toOrder).build();
    const all = withChildren([top, order]);
    expect(all.map(({ name }) => name)).toEqual(["top", "order", "middle"]);
    expect(all[1]).toBe(order);
    expect(
      withChildren([top])
        .map(({ name }) => name)
        .sort(),
    ).toEqual(["middle", "order", "top"]);
  });
});
