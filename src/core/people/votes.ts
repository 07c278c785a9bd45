/**
 * What people say to what a row asks, and what follows from it. Owns what a word comes to, and how a row that people have
 * decided on ends or goes on. Who may say what is `voters.ts`'s.
 *
 * Invariants: P1 every word is taken once and logged, a void one as `refused` with the reason. P2 one rejection rejects; an
 * approval takes as many different people as the quorum says. P3 what was edited is what was approved: votes on other arguments
 * do not count for it. P4 a void word does not keep others from deciding. P5 a word that was sent in time counts, whenever it is
 * read.
 */
import { decode, type Json } from "../../saga/index.ts";
import { closeNotApplied } from "../calls/closing.ts";
import { claimAnew } from "../company/claims.ts";
import { consume, type Draft, note, patchCall, patchRow, rowAt, stepOf } from "../draft.ts";
import type { ApprovalWord, InboxBody, InboxEntry, Row, RowApproval, Vote } from "../run/index.ts";
import { countChange } from "../size.ts";
import { approvalSlot, isAsking, shownOf } from "./approvals.ts";
import { objectionToEdit } from "./edits.ts";
import { changeInput } from "./new-input.ts";
import { objectionToWord } from "./voters.ts";

type DecideBody = Extract<InboxBody, { readonly type: "decide" }>;
type Approve = Extract<ApprovalWord, { readonly is: "approve" }>;

/** A row that asks, with what it asks. */
type Asking = Row & { readonly approval: RowApproval };

/** Takes somebody's word. */
export function takeWordOfPerson(draft: Draft, entry: InboxEntry, body: DecideBody): void {
  consume(draft, entry);
  const { seq, n } = body;
  const row = draft.rows[seq - 1];
  const isOpen = row !== undefined && isAsking(row) && row.approval?.n === n;
  // Whether it asks has just been looked at.
  const problem = isOpen ? hear(draft, row as Asking, entry, body) : "it is not asked any more";
  if (problem === null) return;
  note(draft, { what: "approval", seq, n, state: "refused", by: body.as.id, note: problem });
  // The one slot for a decision is taken by it: it is asked under another one.
  if (isOpen && entry.slot === approvalSlot(seq, n) && isInTime(row as Asking, entry)) giveAnotherSlot(draft, seq);
}

function isInTime({ approval: { expiresAt } }: Asking, { at }: InboxEntry): boolean {
  return expiresAt === null || at < expiresAt;
}

function giveAnotherSlot(draft: Draft, seq: number): void {
  const { approval } = rowAt(draft, seq) as Asking;
  const n = approval.n + 1;
  patchRow(draft, seq, { approval: { ...approval, n } });
  note(draft, { what: "approval", seq, n, state: "asking" });
}

/** Why the word is void; `null`: it is taken. */
function hear(draft: Draft, row: Asking, entry: InboxEntry, { shown, as, decision: word }: DecideBody): string | null {
  const { seq, approval } = row;
  const isEdited =
    word.is === "approve" && word.input !== undefined && shownOf(row.step, word.input) !== approval.shown;
  if (shown !== approval.shown) return "it was decided on other arguments than it would be carried out with";
  if (!isInTime(row, entry)) return "it came when the time was over";
  const objection = objectionToWord(approval, { as, word, isEdited, at: entry.at });
  if (objection !== null) return objection.message;
  const by = { by: as.id, at: entry.at };
  switch (word.is) {
    case "approve":
      return approve(draft, row, word, { ...by, decision: isEdited ? "edit" : "approve", reason: word.reason });
    case "reject":
      patchRow(draft, seq, {
        approval: withVote({ ...approval, state: "rejected" }, { ...by, decision: "reject", reason: word.reason }),
      });
      break;
    case "ask_back":
    case "answer": {
      const said = { is: word.is === "answer" ? "answer" : "question", text: word.text, ...by } as const;
      patchRow(draft, seq, { approval: { ...approval, talk: [...approval.talk, said] } });
      break;
    }
    case "delegate":
      patchRow(draft, seq, {
        approval: { ...approval, delegates: [...new Set([...approval.delegates, word.to])] },
      });
  }
  noteWord(draft, row, as.id, word);
  return null;
}

function withVote(approval: RowApproval, vote: Vote): RowApproval {
  return { ...approval, votes: [...approval.votes, vote] };
}

function noteWord(
  draft: Draft,
  { seq, approval: { n } }: Asking,
  by: string,
  word: Exclude<ApprovalWord, Approve>,
): void {
  const base = { what: "approval", seq, n, by } as const;
  switch (word.is) {
    case "reject":
      return note(draft, { ...base, state: "reject", note: word.reason });
    case "ask_back":
    case "answer":
      return note(draft, { ...base, state: word.is, note: word.text });
    case "delegate":
      return note(draft, { ...base, state: "delegate", note: `to ${word.to}` });
  }
}

// ---- approving

function approve(draft: Draft, row: Asking, word: Approve, vote: Vote): string | null {
  const { seq } = row;
  const unfit = objectionToForm(draft, row, word.form);
  if (unfit !== null) return unfit;
  const isEdited = vote.decision === "edit";
  const problem = isEdited ? edit(draft, row, word.input as Json, vote.by) : null;
  if (problem !== null) return problem;
  const { approval } = rowAt(draft, seq) as Asking;
  const whole: Vote = {
    ...vote,
    ...(isEdited ? { input: word.input as Json } : {}),
    ...(word.form === undefined ? {} : { form: word.form }),
  };
  const voted = withVote(approval, whole);
  const isEnough = voted.votes.length >= voted.quorum;
  patchRow(draft, seq, { approval: isEnough ? { ...voted, state: "approved" } : voted });
  const { by, decision, reason } = vote;
  const { n } = row.approval;
  note(draft, { what: "approval", seq, n, state: decision, by, ...(reason === null ? {} : { note: reason }) });
  if (isEnough) note(draft, { what: "approval", seq, n: voted.n, state: "approved" });
  return null;
}

function objectionToForm(draft: Draft, row: Row, form: Json | undefined): string | null {
  const schema = stepOf(draft, row).approval?.form ?? null;
  if (schema === null) return form === undefined ? null : "nothing is to be filled in";
  const checked = decode(schema, form ?? null);
  return checked.ok ? null : `what was filled in does not fit: ${checked.problem}`;
}

/** Other arguments from here on. Where others are to approve too, they are asked about these; the time it has stays. */
function edit(draft: Draft, row: Asking, input: Json, by: string): string | null {
  const { seq, step, approval } = row;
  const change = { step: stepOf(draft, row), from: row.input, to: input, by };
  const problem = objectionToEdit(approval, change) ?? changeInput(draft, { seq, side: "action" }, input);
  if (problem !== null) return problem;
  claimAnew(draft, rowAt(draft, seq), true);
  const n = approval.quorum > 1 ? approval.n + 1 : approval.n;
  patchRow(draft, seq, { approval: { ...approval, n, shown: shownOf(step, input), votes: [] } });
  return null;
}

// ---- what follows

/** Ends the call of a row that people have refused, or that they carry out; others are granted (`clearance.ts`). */
export function carryOutWord(draft: Draft, seq: number): void {
  const row = rowAt(draft, seq);
  if (row.approval === null || row.call.state !== "planned") return;
  switch (row.approval.state) {
    case "asking":
      return;
    case "approved":
    case "not_needed":
      return row.kind === "approval" ? succeed(draft, row as Asking) : undefined;
    case "rejected": {
      const vote = row.approval.votes.at(-1);
      return refuseCall(draft, seq, "REJECTED", `${vote?.by} has rejected ${row.step}: ${vote?.reason}`);
    }
    case "expired":
      return refuseCall(draft, seq, "EXPIRED", `nobody has decided on ${row.step} in time`);
  }
}

/** It is not made: people have said so, or nobody has said anything in time. */
export function refuseCall(draft: Draft, seq: number, code: "REJECTED" | "EXPIRED", message: string): void {
  const place = { seq, side: "action" } as const;
  const { send, attempt } = rowAt(draft, seq).call;
  // What was never granted is known not to have happened.
  const proof = code === "REJECTED" ? "person" : "take_back";
  note(draft, { what: "outcome", seq, send, outcome: "not_applied", proof });
  patchCall(draft, place, { error: { kind: "rejected", code, message, attempts: attempt } });
  closeNotApplied(draft, place, proof);
}

function succeed(draft: Draft, row: Asking): void {
  const { seq, input, approval } = row;
  const { votes, rule, state } = approval;
  const last = votes.at(-1);
  const proof = state === "approved" ? "person" : "class";
  const output: Json = {
    approved: true,
    by: votes.map(({ by }) => by),
    reason: last === undefined ? rule : last.reason,
    input,
    form: last?.form ?? null,
  };
  note(draft, { what: "outcome", seq, send: row.call.send, outcome: "succeeded", proof });
  patchCall(draft, { seq, side: "action" }, { state: "succeeded", proof, nextAt: null });
  countChange(draft, row.output, output);
  patchRow(draft, seq, { output });
}
