/**
 * What a row asks people before it is carried out (design section 9). Owns when that is asked, what of it is open, and whether
 * a row may go on. What people say to it is `votes.ts`'s, who may say so `voters.ts`'s.
 *
 * Invariants: A1 a row whose step wants people asked is not granted before that is settled; nor is one whose rule cannot be
 * read. A2 a decision is about one asking (`n`) and one digest of step and arguments: other arguments are asked about anew.
 * A3 a row asks exactly while its call is planned and nobody has decided.
 */
import { redact } from "../../redact.ts";
import { type ApprovalTerms, type Checked, decodeInput, type Json, type StepSpec } from "../../saga/index.ts";
import { hashOf } from "../digest.ts";
import { type Draft, note, patchCall, patchRow, rowAt, stepOf } from "../draft.ts";
import type { Row, RowApproval } from "../run/index.ts";

/** The slot of the one decision on an asking, and the beginning of every other slot that is about it. */
export function approvalSlot(seq: number, n: number): string {
  return `approval:${seq}.${n}`;
}

/** Does the row ask people now? */
export function isAsking({ approval, call }: Pick<Row, "approval" | "call">): boolean {
  return approval?.state === "asking" && call.state === "planned";
}

/** Seqs of the rows that ask people now. */
export function asksOf(draft: Draft): readonly number[] {
  return draft.open.filter((seq) => isAsking(rowAt(draft, seq)));
}

/** The slots in which somebody may say something now. */
export function openApprovalSlots(draft: Draft): readonly string[] {
  // What asks has a number.
  return asksOf(draft).map((seq) => approvalSlot(seq, (rowAt(draft, seq).approval as RowApproval).n));
}

/** The digest of exactly what would be carried out. */
export function shownOf(step: string, input: Json): string {
  return hashOf([step, input]);
}

// ---- asking

/** Asks people, where the step wants that and nobody was asked yet; what cannot be said is a defect of the call. */
export function askPeople(draft: Draft, seq: number): void {
  const row = rowAt(draft, seq);
  if (row.call.state !== "planned" || row.approval !== null || stepOf(draft, row).approval === null) return;
  const asked = termsFor(draft, row, 1);
  if (asked.ok) return ask(draft, seq, asked.value);
  const error = { kind: "defect", code: null, message: asked.problem, attempts: row.call.attempt } as const;
  patchCall(draft, { seq, side: "action" }, { error });
}

/**
 * Asks anew, under the next number, where they have refused or the arguments are others by now (which may want other people, or
 * none): what was decided before is void. In words: it cannot be said what they are asked.
 */
export function askAnew(draft: Draft, seq: number): string | null {
  const row = rowAt(draft, seq);
  if (row.approval === null) return null;
  if (isSettledWell(row.approval) && row.approval.shown === shownOf(row.step, row.input)) return null;
  const asked = termsFor(draft, row, row.approval.n + 1);
  if (!asked.ok) return asked.problem;
  ask(draft, seq, asked.value);
  return null;
}

function isSettledWell({ state }: RowApproval): boolean {
  return state === "approved" || state === "not_needed";
}

function ask(draft: Draft, seq: number, approval: RowApproval): void {
  patchRow(draft, seq, { approval });
  const { n, state, rule } = approval;
  note(draft, { what: "approval", seq, n, state, ...(rule === null ? {} : { note: rule }) });
}

function termsFor(draft: Draft, row: Row, n: number): Checked<RowApproval> {
  const step = stepOf(draft, row);
  const decoded = decodeInput(step, row.input);
  if (!decoded.ok) return { ok: false, problem: `the input does not fit: ${decoded.problem}` };
  try {
    // Asked only of rows whose step wants people asked.
    const terms = (step.approval as NonNullable<StepSpec["approval"]>).terms({ input: decoded.value });
    return { ok: true, value: asked(terms, { n, since: draft.input.now, shown: shownOf(row.step, row.input) }) };
  } catch (error) {
    return { ok: false, problem: `what people are asked cannot be said: ${redact(String(error))}` };
  }
}

function asked(
  { asks, expiresMs, escalations, edits: _, ...terms }: ApprovalTerms,
  about: Pick<RowApproval, "n" | "since" | "shown">,
): RowApproval {
  const { since } = about;
  return {
    ...terms,
    ...about,
    state: asks ? "asking" : "not_needed",
    delegates: [],
    expiresAt: expiresMs === null ? null : since + expiresMs,
    escalations: escalations.map(({ afterMs, to }) => ({ at: since + afterMs, to })),
    votes: [],
    talk: [],
  };
}

// ---- may it go on?

/** Have people nothing (more) to say before the call is made? A row that people carry out is never called. */
export function isCleared(draft: Draft, row: Row): boolean {
  if (row.kind === "approval") return false;
  const isSettled = row.approval === null ? stepOf(draft, row).approval === null : isSettledWell(row.approval);
  return isSettled && !hasAskingTool(draft, row);
}

/** An action that has asked for a tool which people are asked about is made again once they have decided. */
function hasAskingTool(draft: Draft, row: Row): boolean {
  if (Object.keys(stepOf(draft, row).uses).length === 0) return false;
  return draft.open.some((seq) => rowAt(draft, seq).tool?.parent === row.seq && isAsking(rowAt(draft, seq)));
}

/** Does the row wait for people, and for nothing else? */
export function waitsForPeople(draft: Draft, row: Row): boolean {
  return isAsking(row) || (row.call.state === "planned" && hasAskingTool(draft, row));
}

// ---- time

/** When something becomes of an asking by itself: others may decide as well, or nobody any more. */
export function approvalTime({ approval, call }: Pick<Row, "approval" | "call">): number {
  if (approval === null || !isAsking({ approval, call })) return Number.POSITIVE_INFINITY;
  const { escalations, expiresAt } = approval;
  return Math.min(escalations[0]?.at ?? Number.POSITIVE_INFINITY, expiresAt ?? Number.POSITIVE_INFINITY);
}

/** The earliest escalation or expiry that is due; one a round. `false`: none is. */
export function passApprovalTime(draft: Draft): boolean {
  const { now } = draft.input;
  const due = draft.open.filter((seq) => approvalTime(rowAt(draft, seq)) <= now);
  const [first] = due.toSorted((a, b) => approvalTime(rowAt(draft, a)) - approvalTime(rowAt(draft, b)));
  if (first === undefined) return false;
  // What is due asks people.
  passTime(draft, first, rowAt(draft, first).approval as RowApproval);
  return true;
}

function passTime(draft: Draft, seq: number, approval: RowApproval): void {
  const { n, roles, escalations, expiresAt } = approval;
  const [next, ...later] = escalations;
  if (next !== undefined && (expiresAt === null || next.at < expiresAt)) {
    const added = [...new Set([...roles, ...next.to])];
    patchRow(draft, seq, { approval: { ...approval, roles: added, escalations: later } });
    return note(draft, { what: "approval", seq, n, state: "escalated", note: next.to.join(", ") });
  }
  patchRow(draft, seq, { approval: { ...approval, state: "expired" } });
  note(draft, { what: "approval", seq, n, state: "expired" });
  // A decision that was acknowledged in time is not overtaken.
  draft.mustSee = true;
}
