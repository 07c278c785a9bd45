/**
 * Deciding on what a run asks people. Owns what is refused at once, and what an answer of the store means for who decided; core
 * judges once more when it takes the word (`core/people/votes.ts`).
 *
 * Invariants: D1 a decision is recorded before it is acknowledged. D2 of two who decide one wins, and the other is told who. D3 it
 * names what was shown, and counts for that alone. D4 sent again under its command id it changes nothing.
 */
import {
  type ApprovalWord,
  approvalSlot,
  isAsking,
  objectionToEdit,
  objectionToWord,
  type Principal,
  type Row,
  type RowApproval,
  type RunRecord,
  type RunRef,
  shownOf,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { decode, decodeInput, type Json, type StepSpec } from "../saga/index.ts";
import { type Change, changesOf } from "./changes.ts";
import { checkedJson, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { type Accepted, notFound, sendRequest } from "./send.ts";

/** What is decided on, as `approvals()` shows it. */
export interface ApprovalRef {
  readonly seq: number;
  readonly n: number;
  /** The digest of what was on the screen: a decision on other arguments than would be carried out is refused. */
  readonly shown: string;
}

/** What a person says. */
export type DecisionWord =
  /** `input`: other arguments, which are approved instead of those asked for; `form`: what the approval wants filled in. */
  | { readonly is: "approve"; readonly reason?: string; readonly input?: Json; readonly form?: Json }
  | { readonly is: "reject"; readonly reason: string }
  /** A question to whoever asked, and an answer to one; the run keeps waiting. */
  | { readonly is: "ask_back" | "answer"; readonly text: string }
  /** From now on this person may decide as well. */
  | { readonly is: "delegate"; readonly to: string; readonly reason?: string };

export interface DecideOptions {
  /** Who decides, as your application has authenticated them. Only a person may. */
  readonly as: Principal;
  /** Sending again with it changes nothing; a new one unless given. */
  readonly commandId?: string;
}

export interface Decided {
  /** `duplicate`: it was recorded before under this command id. */
  readonly is: "accepted" | "duplicate";
  /** In what the approved arguments differ from those asked for; empty unless they were edited. */
  readonly changes: readonly Change[];
}

/** Longest reason, question or answer. */
const maxTextChars = 4_000;
const maxNameChars = 200;

/** Throws what `RunHandle.decide` says. */
export async function decide(
  connection: Connection,
  run: RunRef,
  ref: ApprovalRef,
  word: DecisionWord,
  options: DecideOptions,
): Promise<Decided> {
  const checked = await checkDecision(connection, run, ref, word, options.as);
  return await sendDecision(connection, checked, options.commandId ?? connection.ports.ids.next());
}

/** A decision about which nothing is wrong as far as can be told before it is sent. */
export interface CheckedDecision {
  readonly run: RunRef;
  readonly ref: ApprovalRef;
  readonly word: ApprovalWord;
  readonly as: Principal;
  readonly quorum: number;
  readonly changes: readonly Change[];
}

/** Judges a decision; nothing is written. */
export async function checkDecision(
  connection: Connection,
  run: RunRef,
  ref: ApprovalRef,
  given: DecisionWord,
  principal: Principal,
): Promise<CheckedDecision> {
  const as = checkedPrincipal(principal);
  const store = await connection.store();
  const record = await store.read(run);
  if (record === null) throw notFound(run);
  const row = (await store.ledger(run))[ref.seq - 1];
  const approval = row?.approval ?? null;
  if (row === undefined || approval === null) throw gone(run, ref, "it asks nobody there");
  const word = checkedWord(given);
  const { quorum } = approval;
  const checked = { run, ref, word, as, quorum };
  // What is over is refused by the store, which knows who was first and what was sent before.
  if (!isAsking(row) || approval.n !== ref.n) return { ...checked, changes: [] };
  if (approval.shown !== ref.shown) throw stale(run, ref, approval);
  const isEdited =
    word.is === "approve" && word.input !== undefined && shownOf(row.step, word.input) !== approval.shown;
  const objection = objectionToWord(approval, { as, word, isEdited, at: await connection.storeNow() });
  if (objection?.why === "voted") return { ...checked, changes: [] };
  if (objection !== null) throw forbidden(run, ref, objection);
  if (word.is !== "approve") return { ...checked, changes: [] };
  checkApproval(connection, record, row, word);
  if (isEdited) checkEdit(connection, record, row, { to: word.input as Json, by: as.id });
  return { ...checked, changes: isEdited ? changesOf(row.input, word.input as Json) : [] };
}

/** The edit fits the step's input, and what was filled in its form. */
function checkApproval(
  connection: Connection,
  record: RunRecord,
  { step: name }: Row,
  { input, form }: Extract<ApprovalWord, { readonly is: "approve" }>,
): void {
  const step = stepOf(connection, record, name);
  const { maxPayloadBytes } = connection.options;
  const check = (value: Json, what: string, by: (json: Json) => ReturnType<typeof decode>) =>
    checkedJson(value, what, "INPUT_INVALID", maxPayloadBytes, by);
  if (input !== undefined) check(input, `input of ${name}`, (json) => decodeInput(step, json));
  const schema = step.approval?.form ?? null;
  if (schema !== null) check(form ?? null, `form of ${name}`, (json) => decode(schema, json));
  else if (form !== undefined) throw invalid("INPUT_INVALID", `form of ${name}`, "there is nothing to fill in");
}

/** The edit is one that those who are asked may make. */
function checkEdit(
  connection: Connection,
  record: RunRecord,
  { step: name, input: from, approval }: Row,
  change: { readonly to: Json; readonly by: string },
): void {
  const step = stepOf(connection, record, name);
  // It asks.
  const objection = objectionToEdit(approval as RowApproval, { step, from, ...change });
  if (objection !== null) throw invalid("INPUT_INVALID", `input of ${name}`, objection);
}

function stepOf(connection: Connection, record: RunRecord, name: string): StepSpec {
  const step: StepSpec | undefined = connection.machineFor(record)?.saga.steps[name];
  if (step === undefined) throw connection.unknownStructure(record.saga, record.version);
  return step;
}

/** Records it. Throws APPROVAL_GONE, APPROVAL_TAKEN, APPROVAL_STALE. */
export async function sendDecision(
  connection: Connection,
  { run, ref, word, as, quorum, changes }: CheckedDecision,
  commandId: string,
): Promise<Decided> {
  const { seq, n, shown } = ref;
  const body = { type: "decide", seq, n, shown, as, decision: word } as const;
  const slot = slotFor(ref, word, { as, quorum, commandId });
  const answer = await sendOrGone(connection, { run, slot, commandId, by: as.id, body });
  switch (answer.answer) {
    case "OK":
      return { is: "accepted", changes };
    case "DUP":
      return { is: "duplicate", changes };
    case "TAKEN":
    case "GONE":
      throw await whyRefused(connection, run, ref, answer);
  }
}

/** What decides has one slot, or one for each person where several must approve; what is only said has one of its own. */
function slotFor(
  { seq, n }: ApprovalRef,
  { is }: ApprovalWord,
  { as, quorum, commandId }: { readonly as: Principal; readonly quorum: number; readonly commandId: string },
): string {
  const slot = approvalSlot(seq, n);
  if (is !== "approve" && is !== "reject") return `${slot}:say:${commandId}`;
  return quorum === 1 ? slot : `${slot}:by:${as.id}`;
}

async function sendOrGone(connection: Connection, request: Parameters<typeof sendRequest>[1]): Promise<Accepted> {
  try {
    return await sendRequest(connection, request);
  } catch (error) {
    if (error instanceof RepriseError && error.code === "RUN_ENDED") return { answer: "GONE" };
    throw error;
  }
}

// ---- refusals

async function whyRefused(
  connection: Connection,
  run: RunRef,
  ref: ApprovalRef,
  answer: Extract<Accepted, { readonly answer: "TAKEN" | "GONE" }>,
): Promise<RepriseError> {
  const row = (await (await connection.store()).ledger(run))[ref.seq - 1];
  const approval = row?.approval ?? null;
  if (row !== undefined && approval !== null && isAsking(row) && approval.n > ref.n) return stale(run, ref, approval);
  if (answer.answer === "TAKEN") return taken(run, ref, answer.by);
  const decided = approval?.votes.at(-1);
  if (decided !== undefined && approval?.n === ref.n) return taken(run, ref, decided.by);
  return gone(run, ref, approval?.state === "expired" ? "it was not decided on in time" : "it does not ask any more");
}

function whereOf(run: RunRef, { seq, n }: ApprovalRef): string {
  return `row ${seq} of run ${run.id}${n === 1 ? "" : ` (question ${n})`}`;
}

/** It asks nobody any more. */
export function gone(run: RunRef, ref: ApprovalRef, why: string): RepriseError {
  const { seq, n } = ref;
  const message = `${whereOf(run, ref)} cannot be decided on: ${why}. Look at what the run asks now`;
  return new RepriseError("APPROVAL_GONE", message, { details: { ...run, seq, n } });
}

function taken(run: RunRef, ref: ApprovalRef, by: string): RepriseError {
  const { seq, n } = ref;
  const message = `${by} has already decided on ${whereOf(run, ref)}`;
  return new RepriseError("APPROVAL_TAKEN", message, { details: { ...run, seq, n, by } });
}

/** It is asked otherwise by now. */
export function stale(run: RunRef, ref: ApprovalRef, { n, shown }: RowApproval): RepriseError {
  const { seq } = ref;
  const message = `${whereOf(run, ref)} would be carried out with other arguments than were shown, or was asked anew: look again`;
  return new RepriseError("APPROVAL_STALE", message, { details: { ...run, seq, n, shown, given: ref } });
}

function forbidden(
  run: RunRef,
  ref: ApprovalRef,
  { why, message }: { readonly why: string; readonly message: string },
): RepriseError {
  const { seq, n } = ref;
  return new RepriseError("APPROVAL_FORBIDDEN", `${whereOf(run, ref)}: ${message}`, {
    details: { ...run, seq, n, why },
  });
}

// ---- what is given

const kinds: readonly unknown[] = ["person", "agent", "service"] satisfies readonly Principal["kind"][];

export function checkedPrincipal({ id, kind, roles }: Principal): Principal {
  checkedName(id, "as.id");
  if (!kinds.includes(kind)) throw invalid("INPUT_INVALID", "as.kind", `it is one of ${kinds.join(", ")}`);
  if (!Array.isArray(roles)) throw invalid("INPUT_INVALID", "as.roles", "it is a list of roles");
  for (const role of roles) checkedName(role, "as.roles");
  return { id, kind, roles };
}

function checkedName(name: unknown, what: string): string {
  if (typeof name === "string" && name.trim() !== "" && name.length <= maxNameChars) return name;
  throw invalid("INPUT_INVALID", what, `it is a text of 1 to ${maxNameChars} characters`);
}

function checkedWord(word: DecisionWord): ApprovalWord {
  switch (word.is) {
    case "approve": {
      const { input, form } = word;
      const edited = input === undefined ? {} : { input };
      return { is: "approve", reason: optionalText(word.reason), ...edited, ...(form === undefined ? {} : { form }) };
    }
    case "reject":
      return { is: "reject", reason: checkedText(word.reason, "reason") };
    case "ask_back":
    case "answer":
      return { is: word.is, text: checkedText(word.text, "text") };
    case "delegate":
      return { is: "delegate", to: checkedName(word.to, "to"), reason: optionalText(word.reason) };
    default:
      throw invalid("INPUT_INVALID", "word.is", "it is approve, reject, ask_back, answer or delegate");
  }
}

function optionalText(text: string | undefined): string | null {
  return text === undefined || text.trim() === "" ? null : checkedText(text, "reason");
}

function checkedText(text: string, what: string): string {
  if (typeof text !== "string" || text.trim() === "") throw invalid("INPUT_INVALID", what, "it is empty");
  if (text.length <= maxTextChars) return text;
  throw invalid("INPUT_INVALID", what, `it is longer than ${maxTextChars} characters`);
}
