/**
 * `.each()`: one step over a list, as a step that uses it as its tool. Each item is a ledger row with an operation id of its
 * own, so a batch that is interrupted goes on at the right item, and what happened is undone item by item.
 *
 * Invariants: E1 items are begun in their order, at most `concurrency` at once. E2 after every `size` items the cursor is
 * kept; what lies before it is only read. E3 an item that fails ends the batch: nothing after it is begun.
 */
import { z } from "zod";
import { type Finding, refuseErrors } from "./finding.ts";
import type { Json } from "./json-type.ts";
import { fail } from "./outcome.ts";
import { decodeInput } from "./schema.ts";
import type { ActionContext } from "./spec.ts";
import { type Step, step } from "./step.ts";
import type { Tool } from "./tools.ts";

/** How a list is worked through. */
export interface EachOptions<As extends string = string> {
  /** Items between two cursors: 50. */
  readonly size?: number;
  /** Items at once: 1. */
  readonly concurrency?: number;
  /** Under what name the list of outputs is found; the step's name with `Each` after it unless given. */
  readonly as?: As;
}

/** A batch is as long as it takes; a worker that dies in it is noticed by its lease. */
const batchTimeout = "24d";

interface Uses {
  readonly item: Step<string, Json, Json>;
}
type Batch = ActionContext<readonly Json[], unknown, Uses>;

/** The step of a saga that works through a list of inputs for `item`. */
export function eachStep(saga: string, item: Step, { size = 50, concurrency = 1, as }: EachOptions): Step {
  const name = as ?? `${item.spec.name}Each`;
  refuseErrors(boundFindings({ saga, step: name }, { size, concurrency }));
  const batch: Step = step(name, {
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
    timeout: batchTimeout,
    // What tools answer is JSON; a schema of JSON asks for arrays that may be changed.
    action: (context) => work(context, { size, concurrency }) as Promise<never>,
  }) as Step;
  return Object.assign(batch, { spec: Object.freeze({ ...batch.spec, isBatch: true as const }) });
}

async function work(
  { input, tools, progress }: Batch,
  { size, concurrency }: { readonly size: number; readonly concurrency: number },
): Promise<Json[]> {
  const cursor = Number(progress.get() ?? 0);
  const done = await Promise.all(input.slice(0, cursor).map((one, at) => callItem(tools.item, one, at)));
  for (let from = cursor; from < input.length; from += size) {
    const part = input.slice(from, from + size);
    done.push(...(await inOrder(part, concurrency, (one, at) => callItem(tools.item, one, from + at))));
    await progress.set(Math.min(from + size, input.length));
  }
  return done;
}

async function callItem(item: Tool<Json, Json>, input: Json, at: number): Promise<Json> {
  try {
    return await item(input, { key: at });
  } catch (error) {
    if (!(error instanceof Error) || Reflect.get(error, "code") !== "TOOL_FAILED") throw error;
    throw fail(`item ${at}: ${error.message}`);
  }
}

/** Works through the items, `concurrency` at a time; after a failure those under way end and no other is begun. */
async function inOrder<Item, Output>(
  items: readonly Item[],
  concurrency: number,
  call: (item: Item, at: number) => Promise<Output>,
): Promise<readonly Output[]> {
  const outputs: Output[] = [];
  const queue = items.entries();
  let failed = false;
  const lane = async (): Promise<void> => {
    for (const [at, item] of queue) {
      if (failed) return;
      try {
        outputs[at] = await call(item, at);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: Math.min(concurrency, items.length) }, lane));
  const broken = lanes.find((each) => each.status === "rejected");
  if (broken !== undefined) throw broken.reason;
  return outputs;
}

function boundFindings(
  where: Pick<Finding, "saga" | "step">,
  bounds: Readonly<Record<string, number>>,
): readonly Finding[] {
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
