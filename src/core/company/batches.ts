/**
 * A batch: one step over a list, each item a ledger row of its own. Owns which items are begun, and what the batch comes to.
 * It follows from the rows alone: nobody holds a worker for it, and going on after a crash reads nothing anew.
 *
 * Invariants: B1 the n-th row of a batch is its n-th item; items are begun in their order, at most `concurrency` at once, a
 * part of `size` after the one before has ended; so a look at the newest part tells everything, however long the list is. B2 an item that fails ends the batch: nothing after it is begun, and it has
 * failed when what was under way is over. B3 the batch's own row is written when it begins and when it ends.
 */
import type { Json, StepSpec } from "../../saga/index.ts";
import { closeNotApplied, happened } from "../calls/closing.ts";
import { addRow, keyOf } from "../calls/new-row.ts";
import { hashOf } from "../digest.ts";
import { type Draft, note, patchCall, rowAt, stepOf } from "../draft.ts";
import type { Failure, Row } from "../run/index.ts";
import { countChange } from "../size.ts";

type Broken = Pick<Failure, "kind" | "code" | "message">;

/** Goes on with a batch as far as it can now. */
export function workThrough(draft: Draft, seq: number): void {
  const row = rowAt(draft, seq);
  if (row.call.state !== "planned") return;
  const step = stepOf(draft, row);
  // A batch has one tool, and its input was checked to be a list.
  const { item } = step.uses as Readonly<Record<"item", StepSpec>>;
  const inputs = row.input as readonly Json[];
  const bounds = step.batch as Required<StepSpec>["batch"];
  const part = newestPart(draft, seq, bounds.size);
  const broken = beginItems(draft, row, { item, inputs, part, ...bounds });
  if (part.some(({ told }) => told === null)) return;
  if (broken !== null) return fail(draft, seq, broken);
  // Nothing is open, so there was nothing left to begin.
  const output = draft.rows.flatMap((each) => (each.tool?.parent === seq ? [each.output] : []));
  happened(draft, { seq, side: "action" }, { output, unusable: null, proof: "answer", which: "newest" });
}

/** The items of the part that was begun last, in their order. All before them are over, and none of those has failed. */
function newestPart(draft: Draft, batch: number, size: number): Row[] {
  const part: Row[] = [];
  for (let seq = draft.rows.length; seq > batch; seq -= 1) {
    const row = rowAt(draft, seq);
    if (row.tool?.parent !== batch) continue;
    part.push(row);
    if (placeOf(row) % size === 0) break;
  }
  return part.reverse();
}

/** Items have a place. */
function placeOf({ tool }: Row): number {
  return tool?.at as number;
}

function begunOf(part: readonly Row[]): number {
  const newest = part.at(-1);
  return newest === undefined ? 0 : placeOf(newest) + 1;
}

interface Work {
  readonly item: StepSpec;
  readonly inputs: readonly Json[];
  /** The items of the newest part; those of the next one join them. */
  readonly part: Row[];
  readonly size: number;
  readonly concurrency: number;
}

/** Begins what may be begun; answers why nothing more is. */
function beginItems(draft: Draft, batch: Row, { item, inputs, part, size, concurrency }: Work): Broken | null {
  const failed = part.find(hasFailed);
  if (failed !== undefined) return failureOf(failed);
  let open = part.filter(({ told }) => told === null).length;
  for (let at = begunOf(part); at < inputs.length && open < concurrency; at += 1, open += 1) {
    if (open > 0 && at % size === 0) return null;
    const input = inputs[at] as Json;
    const key = keyOf(item, input, null);
    if (!key.ok)
      return { kind: "fail", code: null, message: `item ${at}: ${item.name} cannot be called: ${key.problem}` };
    part.push(beginItem(draft, batch, { item, input, key: key.value, at }));
  }
  return null;
}

interface Item {
  readonly item: StepSpec;
  readonly input: Json;
  readonly key: Json;
  readonly at: number;
}

function beginItem(draft: Draft, { seq: parent, region, regionEntry }: Row, { item, input, key, at }: Item): Row {
  countChange(draft, null, input);
  const tool = { parent, match: hashOf(["key", "item", at]), asks: 1, at };
  const seq = addRow(draft, { step: item, key, invoke: "", region, regionEntry, input, tool, isItem: true });
  note(draft, { what: "tool", seq });
  return rowAt(draft, seq);
}

function hasFailed({ told }: Row): boolean {
  return told === "failure" || told === "nothing";
}

function failureOf(row: Row): Broken {
  const { step, call, intent } = row;
  const { error } = call;
  const why = error?.message ?? `${intent?.owner} has its intent with other arguments`;
  const kind = error?.kind === "child" ? error.kind : "fail";
  return { kind, code: error?.code ?? null, message: `item ${placeOf(row)}: ${step} was not applied: ${why}` };
}

function fail(draft: Draft, seq: number, broken: Broken): void {
  const place = { seq, side: "action" } as const;
  note(draft, { what: "outcome", seq, send: 0, outcome: "not_applied", proof: "answer" });
  patchCall(draft, place, { error: { ...broken, attempts: 1 } });
  closeNotApplied(draft, place, "answer");
}
