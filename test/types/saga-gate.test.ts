import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type Approved, approval, saga, step } from "../../src/saga/index.ts";

const input = z.object({ cents: z.int(), to: z.string() });
const pay = { input, effect: "none", action: () => null } as const;

describe("how people are asked", () => {
  test("follows from the step's own input, which every function is given", () => {
    step("pay", {
      ...pay,
      approve: {
        when: (view) => view.input.cents > 1,
        rule: (view) => view.input.to,
        by: (view) => (view.input.cents > 5 ? ["board", "finance"] : "finance"),
        quorum: (view) => view.input.cents,
        requester: (view) => view.input.to,
        edits: (view) => z.object({ cents: z.int().max(view.input.cents) }),
        allow: ["approve", "edit", "reject"],
      },
    });
    step("pay", { ...pay, approve: (view) => view.input.cents > 1 && { by: "finance", quorum: 2 } });
  });

  test("not from a field that is not there, nor as something else", () => {
    // @ts-expect-error there is no such field
    step("pay", { ...pay, approve: { when: (view) => view.input.euros > 1 } });
    // @ts-expect-error a number of people is a number
    step("pay", { ...pay, approve: { quorum: () => "two" } });
    // @ts-expect-error only fields can be edited
    step("pay", { ...pay, approve: { allow: ["approve", "edit", "reject"], edits: z.string() } });
  });
});

test("what an approval gives is typed by its input and its form", () => {
  const form = z.object({ rate: z.number() });
  const board = approval("board", {
    input,
    form,
    question: (view) => view.input.to,
    edits: z.object({ cents: z.int() }),
    allow: ["approve", "edit", "reject"],
  });
  saga("loan", { version: 1, input })
    .step(board)
    .build({
      output: ({ results }) => {
        expectTypeOf(results.board).toEqualTypeOf<Approved<{ cents: number; to: string }, { rate: number } | null>>();
        return results.board.input.cents;
      },
    });
});
