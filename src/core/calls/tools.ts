/**
 * Tools: the calls that a step's action asks for (design section 6). Owns how a request becomes a ledger row of its own, how
 * a repeat is matched with it, and what the action is answered.
 *
 * Invariants: L1 a request is matched by what its author calls it, never by its place in the order: an action that is made
 * again and takes another way meets the outcomes that are there. L2 a request with the key of an earlier one and other
 * arguments is refused; nothing is sent. L3 an action is answered only what is committed. L4 while nobody may go on with a
 * tool's row its action is suspended: it holds no worker, and is made again later.
 */
import { type Checked, decodeInput, type Json, type StepSpec } from "../../saga/index.ts";
import type { DriverFact, ToolAsk } from "../decision.ts";
import { hashOf } from "../digest.ts";
import { type Draft, note, patchRow, rowAt, stepOf } from "../draft.ts";
import { isAsking } from "../people/approvals.ts";
import { waitsForChild } from "../rows.ts";
import type { Failure, Row, Run } from "../run/index.ts";
import { countChange } from "../size.ts";
import { addRow, keyOf } from "./new-row.ts";

/** What an action is answered. */
export type ToolAnswer =
  | { readonly is: "pending" }
  | { readonly is: "output"; readonly output: Json }
  /** It was tried and not applied; the action may do without. */
  | { readonly is: "failed"; readonly failure: Failure }
  /** It was not tried. In words that a model can use. */
  | { readonly is: "refused"; readonly message: string }
  /** Nobody can say now. */
  | { readonly is: "suspended"; readonly why: string }
  /** Nobody waits for this action any more. */
  | { readonly is: "lost" };

/** Takes a request: a new row, or one more for a row that is there. */
export function takeTool(draft: Draft, fact: Extract<DriverFact, { readonly type: "tool" }>): void {
  const parent = parentOf(draft.rows, fact);
  const step = parent === null ? undefined : stepOf(draft, parent).uses[fact.tool];
  if (parent === null || step === undefined) return;
  const known = rowFor(draft.rows, step, fact);
  if (known !== null) return count(draft, known);
  const key = checkedKey(step, fact);
  if (key.ok && reasonNotToGoOn(draft.record, draft.stopping) === null) addTool(draft, parent, step, fact, key.value);
}

/** What an action is answered, as the run stands now. */
export function toolAnswer(run: Run, tool: StepSpec, ask: ToolAsk, isStopping: boolean): ToolAnswer {
  const { record, rows } = run;
  if (parentOf(rows, ask) === null) return { is: "lost" };
  const row = rowFor(rows, tool, ask);
  if (row === null) {
    const key = checkedKey(tool, ask);
    if (!key.ok) return { is: "refused", message: key.problem };
    const why = reasonNotToGoOn(record, isStopping);
    return why === null ? { is: "pending" } : { is: "suspended", why };
  }
  if (!isAskedSo(row, hashOf(ask.input))) return { is: "refused", message: otherArguments(row) };
  return answerOf(row, reasonNotToGoOn(record, isStopping));
}

function answerOf(row: Row, reason: string | null): ToolAnswer {
  const { call, output, intent, told } = row;
  if (intent?.state === "conflict") return { is: "refused", message: takenElsewhere(row) };
  if (told === "outcome") return { is: "output", output };
  // What was told as a failure says why it failed.
  if (told === "failure") return { is: "failed", failure: call.error as Failure };
  if (isAsking(row)) return { is: "suspended", why: `people are asked first: ${row.approval?.question}` };
  if (waitsForChild(row)) return { is: "suspended", why: `it waits for run ${row.child?.run}` };
  return reason === null || call.state === "sent" ? { is: "pending" } : { is: "suspended", why: reason };
}

// ---- matching

/** The action that asks, while it is out. */
function parentOf(rows: readonly Row[], { parent, send }: ToolAsk): Row | null {
  const row = rows[parent - 1];
  return row?.call.state === "sent" && row.call.send === send && !row.abandoned ? row : null;
}

function rowFor(rows: readonly Row[], step: StepSpec, ask: ToolAsk): Row | null {
  const match = matchOf(step, ask);
  return rows.find(({ tool }) => tool?.parent === ask.parent && tool.match === match) ?? null;
}

/** By its business key, else by what tells it apart within the action; else it is a request of its own each time. */
function matchOf(step: StepSpec, { ask, tool, key, intent, input }: ToolAsk): string {
  const declared = intent === null && key === null ? keyOf(step, input, null) : null;
  const business = declared?.ok ? declared.value : intent;
  if (business !== null) return hashOf(["intent", tool, business]);
  return key === null ? ask : hashOf(["key", tool, key]);
}

/** Are these its arguments: those it is called with, or those that the action knows of? */
function isAskedSo({ tool, input }: Row, args: string): boolean {
  return tool?.asked === args || hashOf(input) === args;
}

function count(draft: Draft, { seq, tool }: Row): void {
  // Only a tool's row is matched.
  const known = tool as NonNullable<Row["tool"]>;
  patchRow(draft, seq, { tool: { ...known, asks: known.asks + 1 } });
  note(draft, { what: "tool", seq, again: true });
}

function addTool(draft: Draft, parent: Row, step: StepSpec, ask: ToolAsk, key: Json): void {
  const { region, regionEntry, seq } = parent;
  countChange(draft, null, ask.input);
  const tool = { parent: seq, match: matchOf(step, ask), asks: 1 };
  note(draft, {
    what: "tool",
    seq: addRow(draft, { step, key, invoke: "", region, regionEntry, input: ask.input, tool }),
  });
}

/** Is there a tool call that the action has asked for and nobody has answered yet? */
export function hasOpenTools(draft: Draft, parent: number): boolean {
  return draft.open.some((seq) => {
    const { tool, told } = rowAt(draft, seq);
    return tool?.parent === parent && told === null;
  });
}

/** Has its action (or the batch that it is) nothing to do before calls that it has asked for are over? */
export function restsOnTools(draft: Draft, { seq, kind, call }: Row): boolean {
  return kind === "call" && call.state === "planned" && hasOpenTools(draft, seq);
}

// ---- in words

/** (A run that goes back has no action out: what has no effect is dropped at once.) */
function reasonNotToGoOn({ review, paused }: Run["record"], isStopping: boolean): string | null {
  if (isStopping) return "the worker is stopping";
  if (review !== null) return `the run is parked for a person: ${review.message}`;
  return paused ? "the run is paused" : null;
}

/** The business key of a request, or why it cannot be carried out at all, in words that a model can use. */
function checkedKey(tool: StepSpec, { input, intent }: ToolAsk): Checked<Json> {
  const checked = decodeInput(tool, input);
  if (!checked.ok) return { ok: false, problem: `the arguments of ${tool.name} do not fit: ${checked.problem}` };
  const key = keyOf(tool, input, intent);
  return key.ok ? key : { ok: false, problem: `${tool.name} cannot be called: ${key.problem}` };
}

function otherArguments({ step, input, call }: Row): string {
  const outcome: Partial<Record<typeof call.state, string>> = {
    succeeded: "it has happened",
    reused: "it has happened",
    not_applied: "it was not applied",
  };
  const stands = outcome[call.state] ?? "its outcome is not there yet";
  return `${step} was already called for this intent, with other arguments, and ${stands}. It is not called again. The first call's arguments were ${JSON.stringify(input)}; repeat them exactly to get its result, or use another intent for another effect`;
}

function takenElsewhere({ step, intent }: Row): string {
  const theirs = intent?.theirs === null || intent === null ? "" : ` (${JSON.stringify(intent.theirs)})`;
  return `${step} was not called: ${intent?.owner} has already used this intent with other arguments${theirs}`;
}
