/**
 * The loop breaker: how often the same call (step and input) was asked for in a run, and when a person is asked about it.
 * Each row keeps its own number, found by looking back, so there is nothing else to keep.
 *
 * Invariants: L1 a call that comes back within `lookBack` is counted exactly; one that comes back later is none of a loop.
 * L2 the price of a row does not grow with the run. L3 items of a list are no loop, however many are equal.
 */
import type { Json, StepSpec } from "../../saga/index.ts";
import { hashOf } from "../digest.ts";
import { type Draft, patchRow } from "../draft.ts";
import { park } from "../people/reviews.ts";
import type { Row } from "../run/index.ts";

/** How far is looked back for the same call: rows in all, and rows of the step. */
const lookBack = { rows: 2_000, ofStep: 200 } as const;

/** The how-manieth of the same a new row is. */
export function repeatOf({ rows, input: { machine } }: Draft, step: StepSpec, input: Json): number {
  if (machine.saga.loopLimit === null) return 1;
  const least = Math.max(0, rows.length - lookBack.rows);
  let left: number = lookBack.ofStep;
  for (let at = rows.length - 1; at >= least && left > 0; at -= 1) {
    const row = rows[at] as Row; // within the ledger
    if (row.step !== step.name) continue;
    if (isSame(row.input, input)) return (row.repeat ?? 1) + 1;
    left -= 1;
  }
  return 1;
}

const digests = new WeakMap<object, string>();

/** Values are never changed, so each is read once. */
function isSame(a: Json, b: Json): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && digestOf(a) === digestOf(b));
}

function digestOf(value: object | null): string {
  if (value === null) return "";
  const known = digests.get(value);
  if (known !== undefined) return known;
  const digest = hashOf(value as Json); // objects here are JSON
  digests.set(value, digest);
  return digest;
}

/** May the row's action be begun, as far as loops go? Where not, the run is parked. */
export function breaksNoLoop(draft: Draft, { seq, step, input, repeat = 1 }: Row): boolean {
  const { loopLimit } = draft.input.machine.saga;
  if (loopLimit === null || repeat <= loopLimit) return true;
  const message = `${step} was asked for with the same input ${repeat} times, more than the ${loopLimit} of loopLimit. Retry lets it be asked for as often again`;
  park(draft, { reason: "loop", message, seq, side: "action", evidence: input, verbs: ["retry"] });
  return false;
}

/** A person lets it go on: it is counted anew. */
export function countAnew(draft: Draft, seq: number): void {
  patchRow(draft, seq, { repeat: 1 });
}
