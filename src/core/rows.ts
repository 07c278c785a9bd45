/**
 * What can be read off a ledger row and its calls. Owns the vocabulary of doubt and of what is still open; changes nothing.
 *
 * How doubt is kept: `doubtUntil` is about earlier sends. The newest one is in doubt while the call is `unknown`, and while
 * it is `planned` with a `deadline` (a repeat was safe, so nobody waited to find out).
 */
import type { CallSpec, EffectClass, Json, StepSpec } from "../saga/index.ts";
import type { Call, IntentWord, Row, RowIntent, RunRef, Savepoint, UndoState } from "./run/index.ts";

/** The two calls of a row: the action, and the compensation that undoes it. */
export type Side = "action" | "undo";

/** A call nobody has made yet. */
export function newCall(effect: EffectClass, nextAt: number): Call {
  return {
    state: "planned",
    attempt: 0,
    send: 0,
    effect,
    firstSentAt: null,
    firstSentRevision: null,
    sentAt: null,
    deadline: null,
    fence: null,
    nextAt,
    doubtUntil: null,
    senders: [],
    interruptions: 0,
    probes: 0,
    probeAt: null,
    error: null,
    proof: null,
    evidence: null,
    generation: 1,
  };
}

/** The call of one side of a row. */
export function callOf(row: Row, side: Side): Call | null {
  return side === "action" ? row.call : (row.undo?.call ?? null);
}

/** What the call of one side is given, encoded. */
export function inputOf({ input, undo }: Row, side: Side): Json {
  return side === "undo" && undo?.input !== undefined ? undo.input : input;
}

export function isFinal({ state }: Call): boolean {
  return state === "succeeded" || state === "not_applied" || state === "withdrawn" || state === "reused";
}

/** Does the machine still wait for it? */
export function isAwaited({ told, abandoned, tool }: Row): boolean {
  return told === null && !abandoned && tool === null;
}

/** Is there an outcome that the machine, or the action that asked, can be told as a success? */
export function hasOutput({ state }: Pick<Call, "state">): boolean {
  return state === "succeeded" || state === "reused";
}

/** Is its time over? */
export function isOverdue({ dueBy }: Row, now: number): boolean {
  return dueBy !== null && now >= dueBy;
}

/** Has the author of the step, or the run that it stands for, said no? Trying again does not change that. */
export function isLastWord({ error }: Call): boolean {
  return error?.kind === "fail" || error?.kind === "child";
}

/** Nobody knows what became of it, and nobody is being asked any more. */
export function isGivenUp(call: Call): boolean {
  return call.state === "unknown" && call.probeAt === null;
}

/** When a planned call wants its grant, or an offered one another look. Both always have a time. */
export function nextOf({ nextAt }: Call): number {
  return nextAt as number;
}

/** Until when a send whose outcome nobody knows may still take effect; `null`: no send is in doubt. */
export function doubtOf(call: Call): number | null {
  const newest = call.state === "planned" || call.state === "unknown" ? call.deadline : null;
  return later(call.doubtUntil, newest);
}

export function later(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}

const strictness: Readonly<Record<EffectClass, number>> = { none: 0, idempotent: 1, keyed: 2, once: 3 };

/** The stricter of the class at the first `sent` and today's. */
export function effectiveClass(call: Call, spec: CallSpec): EffectClass {
  return strictness[call.effect] >= strictness[spec.effect] ? call.effect : spec.effect;
}

/** Is a repeat at `at` harmless by class? For `keyed`: while the other side surely still knows the key. */
export function mayRepeat(call: Call, spec: CallSpec, at: number): boolean {
  switch (effectiveClass(call, spec)) {
    case "none":
    case "idempotent":
      return true;
    case "keyed":
      // Asked only of calls that were sent.
      return at + spec.timeoutMs < (call.firstSentAt as number) + spec.keyTtlMs;
    case "once":
      return false;
  }
}

/** The name under which a row claims its intent: run, row and number of the claim. */
export function intentOwner({ id }: Pick<RunRef, "id">, { seq, intent }: Row): string {
  return `${id}#${seq}.${intent?.claim ?? 0}`;
}

/** What the registry has still to hear about the claim of a row; `null`: nothing, or nothing yet. */
export function wordOwed(row: Row): IntentWord | null {
  const { intent } = row;
  if (intent === null || intent.claim === 0 || isFreed(intent)) return null;
  const word = wordOf(row);
  return word === intent.said ? null : word;
}

/** What its owner published first stands: an effect that turns up after it is no longer the registry's matter. */
function isFreed({ said }: RowIntent): boolean {
  return said === "not_applied" || said === "withdrawn" || said === "undone";
}

function wordOf({ intent, call, undo, told, abandoned }: Row): IntentWord | null {
  if (intent?.state === "stale") return "withdrawn";
  if (undo?.state === "done") return "undone";
  switch (call.state) {
    case "succeeded":
    case "withdrawn":
      return call.state;
    case "not_applied":
      // Not before it is final: as long as somebody is to be told and was not, a person may have it made after all.
      return told === null && !abandoned ? null : call.state;
    case "unknown":
      // Left as it is by a person, or by declaration: nobody will ever know.
      return undo === null || isPending(undo.state) ? null : "unknown";
    case "planned":
    case "claiming":
    case "offered":
    case "sent":
    case "reused":
      return null;
  }
}

function isPending(state: UndoState): boolean {
  return state === "owed" || state === "sent" || state === "halted";
}

/** Does the row wait for the run that it has started, or for that to be undone? It is looked at again at `nextAt`. */
export function waitsForChild({ kind, call, child, undo }: Row): boolean {
  if (kind !== "child") return false;
  return (call.state === "planned" && child !== null) || (undo?.state === "owed" && undo.call?.firstSentAt != null);
}

/** Has the row waited for the owner of its intent as long as it may? */
export function isImpatient({ call, intent }: Row): boolean {
  return call.state === "claiming" && intent?.state === "busy" && call.nextAt === null;
}

/** Does a partial unwind leave the row as it is? It was over before the savepoint, and the machine was told of it. */
export function staysAt(to: Savepoint | undefined, { seq, abandoned }: Row): boolean {
  return to !== undefined && seq <= to.start.rows && !to.start.waits.includes(seq) && !abandoned;
}

/** Does the row still owe anything? An effect that the machine has left owes an undoing, or the reason for none. */
export function rowIsOpen(row: Row): boolean {
  const { call, undo, told, abandoned, intent } = row;
  const { state } = call;
  if (state === "planned" || state === "claiming" || state === "offered" || state === "sent") return true;
  if (intent !== null && (intent.state === "undone" || wordOwed(row) !== null)) return true;
  if (undo !== null) return isPending(undo.state);
  if (call.state === "unknown") return true;
  if (abandoned) return call.state === "succeeded" && call.effect !== "none";
  return call.state !== "withdrawn" && told === null;
}

/** Has the unwind said its last word on it? */
export function hasUndone({ undo }: Row): boolean {
  return undo !== null && !isPending(undo.state);
}

/** Does the unwind have anything to do about it? (A row that was never sent has no place in the order.) */
export function isUndone(row: Row, step: StepSpec): boolean {
  const { call, undo } = row;
  if (undo !== null) return !isPending(undo.state);
  if (call.state === "not_applied" || call.state === "withdrawn" || call.state === "reused") return true;
  return call.state === "succeeded" && effectiveClass(call, step) === "none";
}
