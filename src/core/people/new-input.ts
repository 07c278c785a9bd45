/**
 * Giving a call other arguments than it was asked for with, on a person's word. Owns when that cannot be done. Invariants:
 * N1 nothing is changed that may have happened with the old ones. N2 a row stays the effect that its intent stands for, once
 * it has claimed it.
 */
import { decodeInput, type Json, type StepSpec } from "../../saga/index.ts";
import { keyOf, newIntent } from "../calls/new-row.ts";
import { hashOf } from "../digest.ts";
import { callAt, type Draft, type Place, patchRow, rowAt, stepOf } from "../draft.ts";
import { doubtOf } from "../rows.ts";
import type { Call, Row, RowIntent, Undo } from "../run/index.ts";
import { countChange, overBudget, sizeOf } from "../size.ts";

/** Why a call cannot be given another input; `null`: it can. */
export function objectionToInput(call: Call, step: StepSpec, input: Json): string | null {
  if (doubtOf(call) !== null) return "it may have happened with the old input: say first whether it did";
  const checked = decodeInput(step, input);
  return checked.ok ? null : `the input does not fit: ${checked.problem}`;
}

/** For this call alone: what a compensation is given instead is kept beside it, and the action's stays what it was. */
export function changeInput(draft: Draft, place: Place, input: Json): string | null {
  const row = rowAt(draft, place.seq);
  const problem = objectionToInput(callAt(draft, place), stepOf(draft, row), input);
  if (problem !== null) return problem;
  if (place.side === "action") return changeAction(draft, row, input);
  // A place on that side is one of a row that has a compensation.
  patchRow(draft, place.seq, { undo: { ...(row.undo as Undo), input } });
  return null;
}

function changeAction(draft: Draft, row: Row, input: Json): string | null {
  const key = intentFor(draft, row, input);
  if ("problem" in key) return key.problem;
  const tooLarge = overBudget(draft, draft.record.bytes + sizeOf(input) - sizeOf(row.input));
  if (tooLarge !== null) return `the input is too large: ${tooLarge}`;
  countChange(draft, row.input, input);
  const tool = row.tool && { ...row.tool, asked: row.tool.asked ?? hashOf(row.input) };
  // How far it had come was said of the old input.
  patchRow(draft, row.seq, { input, tool, intent: key.intent, progress: null });
  return null;
}

/** The intent with this input: another one as long as nobody was asked for the first. What its caller has named stays. */
function intentFor(
  draft: Draft,
  row: Row,
  input: Json,
): { readonly intent: Row["intent"] } | { readonly problem: string } {
  const { intent } = row;
  const step = stepOf(draft, row);
  if (intent === null || isNamedByCaller(step, row, intent)) return { intent };
  const key = keyOf(step, input, null);
  if (key.ok && hashOf(key.value) === hashOf(intent.key)) return { intent };
  // An action would not know its tool again under another intent than it was asked for with.
  if (key.ok && intent.claim === 0 && row.tool === null) return { intent: newIntent(key.value) };
  return { problem: "it would be another effect, with another intent: start another run for it" };
}

/** Has a tool's caller named the intent, and not the step itself? */
function isNamedByCaller(step: StepSpec, { tool, input }: Row, { key }: RowIntent): boolean {
  if (tool === null) return false;
  const own = keyOf(step, input, null);
  return !own.ok || hashOf(own.value) !== hashOf(key);
}
