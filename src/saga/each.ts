/**
 * `.each()`: one step over a list, as a step that uses it as its tool. Each item is a ledger row with an operation id of its
 * own, so a batch that is interrupted goes on at the right item, and what happened is undone item by item. Owns how it is
 * declared; `core/company/batches.ts` works through it, so no worker is held by a batch whose items wait.
 */
import { z } from "zod";
import { type Finding, refuseErrors } from "./finding.ts";
import type { Json } from "./json-type.ts";
import { decodeInput } from "./schema.ts";
import type { BatchSpec } from "./spec.ts";
import { type Step, step, stepFrom } from "./step.ts";

/** How a list is worked through. */
export interface EachOptions<As extends string = string> {
  /** Items of one part: the next part is begun when all of the one before have ended. 50. */
  readonly size?: number;
  /** Items at once: 1. */
  readonly concurrency?: number;
  /** Under what name the list of outputs is found; the step's name with `Each` after it unless given. */
  readonly as?: As;
}

/** The step of a saga that works through a list of inputs for `item`. */
export function eachStep(saga: string, item: Step, { size = 50, concurrency = 1, as }: EachOptions): Step {
  const name = as ?? `${item.spec.name}Each`;
  const batch: BatchSpec = { size, concurrency };
  refuseErrors(boundFindings({ saga, step: name }, batch));
  const declared = step(name, {
    effect: "none",
    input: z.array(z.json()).check(({ value, issues }) => {
      for (const [at, input] of value.entries()) {
        const checked = decodeInput(item.spec, input);
        if (!checked.ok) issues.push({ code: "custom", message: checked.problem, path: [at], input });
      }
    }),
    output: z.array(z.json()),
    // Its input and output are JSON to whoever only passes them on.
    uses: { item: item as Step<string, Json, Json> },
    // For `unguarded` alone, where nothing is remembered.
    action: async ({ input, tools }) => {
      const outputs: z.core.util.JSONType[] = [];
      for (const each of input) outputs.push((await tools.item(each)) as z.core.util.JSONType);
      return outputs;
    },
  });
  return stepFrom({ ...declared.spec, batch }) as Step;
}

function boundFindings(where: Pick<Finding, "saga" | "step">, bounds: BatchSpec): readonly Finding[] {
  return Object.entries(bounds).flatMap(([bound, value]): readonly Finding[] =>
    Number.isInteger(value) && value >= 1
      ? []
      : [
          {
            level: "error",
            code: "BATCH",
            ...where,
            state: null,
            message: `${bound} is ${String(value)}`,
            fix: "Give it a whole number from 1",
          },
        ],
  );
}
