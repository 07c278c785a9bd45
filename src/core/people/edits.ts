/**
 * Approving other arguments than were asked about. Owns which arguments a person may put in their place; read by the client,
 * which refuses, and by core, which is the judge. Invariants: T1 only what the gate lets be edited is edited. T2 by an edit nobody
 * gets round a rule: what would want more people, or other roles, is not approved by those who were asked about less.
 */
import { redact } from "../../redact.ts";
import { type ApprovalTerms, decode, decodeInput, type Json, type StepSpec } from "../../saga/index.ts";
import { hashOf } from "../digest.ts";
import type { Row, RowApproval } from "../run/index.ts";

/** What is edited, and by whom. */
export interface Edit {
  readonly step: StepSpec;
  /** Encoded: what they were asked about, and what they approve instead. */
  readonly from: Row["input"];
  readonly to: Json;
  readonly by: string;
}

/** Why an edit cannot be approved by those who are asked, in plain words; `null`: it can. */
export function objectionToEdit(approval: RowApproval, { step, from, to, by }: Edit): string | null {
  try {
    const [before, after] = [termsFor(step, from), termsFor(step, to)];
    return objectionToChange(before, from, to) ?? objectionToTerms(approval, after, by);
  } catch (error) {
    return redact(error instanceof Error ? error.message : String(error));
  }
}

/** Throws where an input does not fit, and where its author's own functions do. */
function termsFor(step: StepSpec, input: Json): ApprovalTerms {
  const decoded = decodeInput(step, input);
  if (!decoded.ok) throw new TypeError(`the input does not fit: ${decoded.problem}`);
  // Asked only of rows whose step wants people asked.
  return (step.approval as NonNullable<StepSpec["approval"]>).terms({ input: decoded.value });
}

// ---- what may be edited

/** The schema of the fields that an edit of this input may change; `null`: of every field, or it cannot be said. */
export function editableIn(step: StepSpec, input: Json): ApprovalTerms["edits"] {
  try {
    return termsFor(step, input).edits;
  } catch {
    return null;
  }
}

type Fields = Readonly<Record<string, Json>>;

function objectionToChange({ edits }: ApprovalTerms, from: Json, to: Json): string | null {
  if (edits === null) return null;
  // Both fit the step's input, of which `edits` names fields.
  const [before, after] = [from as Fields, to as Fields];
  const names = Object.keys(edits.shape);
  const others = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !names.includes(name));
  const touched = others.find((name) => hashOf(before[name] ?? null) !== hashOf(after[name] ?? null));
  if (touched !== undefined) return `${touched} may not be edited, only ${names.join(", ")}`;
  const named = Object.fromEntries(names.flatMap((name) => (name in after ? [[name, after[name] as Json]] : [])));
  const checked = decode(edits, named);
  return checked.ok ? null : `it may not be edited so: ${checked.problem}`;
}

// ---- who is to be asked about it

function objectionToTerms(approval: RowApproval, terms: ApprovalTerms, by: string): string | null {
  if (!terms.asks) return null;
  const why = terms.rule === null ? "" : ` (${terms.rule})`;
  if (terms.quorum > approval.quorum) return `with these arguments ${terms.quorum} must approve${why}`;
  if (terms.requester === by) return `${by} asks for it with these arguments, and may not decide on them`;
  const entitled = everybody(terms);
  const asked = everybody(approval);
  const isCovered = terms.roles.length === 0 || (asked.length > 0 && asked.every((role) => entitled.includes(role)));
  return isCovered ? null : `with these arguments others decide (${terms.roles.join(", ")})${why}`;
}

/** Roles that may decide now or later. */
function everybody({
  roles,
  escalations,
}: Pick<ApprovalTerms, "roles"> & {
  readonly escalations: readonly { readonly to: readonly string[] }[];
}): readonly string[] {
  return [...roles, ...escalations.flatMap(({ to }) => to)];
}
