/**
 * Feeding the machine: one event in, and what it asks for becomes rows, timers or an end. Owns how a transition changes
 * the record. Invariants: T1 a turn is applied whole or not at all (a defect leaves the snapshot as it was and parks).
 * T2 a row's outcome is told once, to the occurrence that is current. T3 nothing is told while the run unwinds.
 */
import { decodeInput, type Json, toJson } from "../saga/index.ts";
import { type Draft, effectiveClass, newCall, note, park, patchRow, putRow, rowAt, specOf, stepOf, viewOf } from "./draft.ts";
import type { MachineEffect, MachineEvent, Turn } from "./machine-port.ts";
import type { Failure, Row } from "./run.ts";
import { parkAfterPivot, pivotHappened, startUnwind, stopPlanned, withdrawOffer } from "./unwind-start.ts";

type Start = Extract<MachineEffect, { type: "start" }>;
type Played = Extract<Turn, { ok: true }>;

/** Enters the machine's first state. */
export function beginMachine(draft: Draft): void {
  note(draft, { what: "begun" });
  apply(draft, draft.input.machine.initial(viewOf(draft)), null);
}

/** Feeds an event that is not a row's outcome; `false`: it was a defect, the run is parked as it was before. */
export function feed(draft: Draft, event: MachineEvent): boolean {
  const { snapshot } = draft.record;
  if (snapshot === null || snapshot.status !== "active") return true;
  return apply(draft, draft.input.machine.transition(snapshot, event, viewOf(draft)), null);
}

/** Tells the machine the outcome of a row, where it may still be told. */
export function tell(draft: Draft, seq: number): void {
  const row = rowAt(draft, seq);
  const { snapshot } = draft.record;
  if (row.told || draft.record.review !== null) return;
  if (draft.record.unwind !== null || row.abandoned || snapshot === null || snapshot.status !== "active") {
    patchRow(draft, seq, { told: true });
    return;
  }
  if (row.unusable) return parkUnusable(draft, row);
  const event = outcomeEvent(row);
  if (event.type === "failure" && pivotHappened(draft) && !takesFailure(draft, row)) {
    return parkAfterPivot(draft, causeOf(row), seq, ["retry", "resolve", "close"]);
  }
  const turn = draft.input.machine.transition(snapshot, event, viewOf(draft));
  patchRow(draft, seq, { told: true });
  if (!apply(draft, turn, row)) patchRow(draft, seq, { told: false });
}

/** Would an `onError` take a failure of this row now? */
export function takesFailure(draft: Draft, row: Row): boolean {
  const { snapshot } = draft.record;
  if (snapshot === null || snapshot.status !== "active" || row.abandoned) return false;
  const event = { type: "failure", invoke: row.invoke, error: failureJson(row) } as const;
  return draft.input.machine.accepts(snapshot, event, viewOf(draft)) === "taken";
}

function outcomeEvent(row: Row): Extract<MachineEvent, { type: "outcome" | "failure" }> {
  if (row.call.state === "succeeded") return { type: "outcome", invoke: row.invoke, output: row.output };
  return { type: "failure", invoke: row.invoke, error: failureJson(row) };
}

function failureJson(row: Row): Json {
  const failure: Failure = row.call.error ?? { kind: "not_applied", code: null, message: "not applied", attempts: row.call.attempt };
  return { kind: failure.kind, code: failure.code, message: failure.message, attempts: failure.attempts };
}

/** The cause of a run that fails because of a row. */
export function causeOf(row: Row): { kind: "step_failed"; step: string; message: string; reference: string } {
  return { kind: "step_failed", step: row.step, message: row.call.error?.message ?? "failed", reference: `row ${row.seq}` };
}

function parkUnusable(draft: Draft, row: Row): void {
  const message = `${row.step} succeeded, but its output does not fit its schema: ${row.call.error?.message ?? "unusable"}`;
  const verbs = ["retry", "resolve", "close"] as const;
  park(draft, { reason: "defect", message, seq: row.seq, side: "action", evidence: row.output, verbs });
}

/** Applies a turn; `false`: it was a defect, nothing was applied and the run is parked. */
function apply(draft: Draft, turn: Turn, told: Row | null): boolean {
  if (!turn.ok) return parkDefect(draft, turn.where, turn.defect, told);
  for (const effect of turn.effects) {
    const problem = effect.type === "start" ? inputProblem(draft, effect) : null;
    if (problem !== null) return parkDefect(draft, problem.where, problem.defect, told);
  }
  draft.record.snapshot = turn.state;
  countEntries(draft, turn.entered);
  for (const effect of turn.effects) applyEffect(draft, effect);
  if (turn.ended !== null) end(draft, turn, turn.ended, told);
  return true;
}

function parkDefect(draft: Draft, where: string, defect: string, told: Row | null): false {
  note(draft, { what: "defect", note: `${where}: ${defect}` });
  park(draft, {
    reason: "defect",
    message: `${where}: ${defect}. The snapshot before it is kept and nothing was undone`,
    seq: told?.seq ?? null,
    side: told === null ? null : "action",
    evidence: null,
    verbs: ["retry", "close"],
  });
  return false;
}

function inputProblem(draft: Draft, start: Start): { where: string; defect: string } | null {
  const step = draft.input.machine.saga.steps[start.step];
  if (step === undefined) return { where: start.invoke, defect: `the saga has no step named ${start.step}` };
  const json = toJson(start.input ?? null);
  const checked = json.ok ? decodeInput(step, json.value) : json;
  return checked.ok ? null : { where: `input of ${start.step}`, defect: checked.problem };
}

function countEntries(draft: Draft, entered: readonly string[]): void {
  if (entered.length === 0) return;
  const counts: Record<string, number> = { ...draft.record.regionEntries };
  for (const region of entered) counts[region] = (counts[region] ?? 0) + 1;
  draft.record.regionEntries = counts;
}

function applyEffect(draft: Draft, effect: MachineEffect): void {
  switch (effect.type) {
    case "start":
      return plan(draft, effect);
    case "stop":
      return abandonInvoke(draft, effect.invoke);
    case "timer": {
      const at = draft.input.now + effect.delayMs;
      const others = draft.record.timers.filter((timer) => timer.id !== effect.id);
      draft.record.timers = [...others, { id: effect.id, at, event: effect.event }];
      return;
    }
    case "timer_cancel":
      draft.record.timers = draft.record.timers.filter((timer) => timer.id !== effect.id);
      return;
    case "emitted":
    case "logged":
      return;
  }
}

function plan(draft: Draft, start: Start): void {
  const step = draft.input.machine.saga.steps[start.step];
  if (step === undefined) return;
  const json = toJson(start.input ?? null);
  const seq = draft.rows.length + 1;
  const region = start.region;
  putRow(draft, {
    seq,
    kind: "call",
    step: step.name,
    occurrence: draft.rows.filter((row) => row.step === step.name).length + 1,
    invoke: start.invoke,
    region,
    regionEntry: draft.record.regionEntries[region.at(-1) ?? ""] ?? 0,
    input: json.ok ? json.value : null,
    call: newCall(step.effect, draft.input.now),
    output: null,
    unusable: false,
    abandoned: false,
    told: false,
    undo: null,
    reference: null,
  });
  draft.record.rows = seq;
  note(draft, { what: "planned", seq });
}

/** The machine left the state that invoked it (design section 6, Abandoned). */
function abandonInvoke(draft: Draft, invoke: string): void {
  const row = draft.rows.findLast((candidate) => candidate.invoke === invoke && !candidate.abandoned);
  if (row === undefined || row.told) return;
  patchRow(draft, row.seq, { abandoned: true });
  note(draft, { what: "abandoned", seq: row.seq });
  abandon(draft, rowAt(draft, row.seq));
}

function abandon(draft: Draft, row: Row): void {
  if (row.call.state === "planned") return stopPlanned(draft, row);
  if (row.call.state === "offered") return withdrawOffer(draft, row);
  if (row.call.state === "succeeded") return oweUndo(draft, row.seq);
  if (row.call.state !== "sent") return;
  draft.abort.add(`action:${row.seq}`);
  if (row.call.fence === null) draft.abortPermits.push(row.seq);
}

/** An effect that the machine went on without: undone at once, kept where the step says so. */
export function oweUndo(draft: Draft, seq: number): void {
  const row = rowAt(draft, seq);
  const step = stepOf(draft, row);
  if (row.undo !== null || step.effect === "none") return;
  if (step.onAbandon === "keep") {
    patchRow(draft, seq, { undo: { state: "kept", call: null, reason: "onAbandon: keep" } });
  } else if (step.compensation === null) {
    patchRow(draft, seq, { undo: { state: "kept", call: null, reason: step.noCompensation } });
  } else {
    patchRow(draft, seq, { undo: { state: "owed", call: newCall(step.compensation.effect, undoNotBefore(draft, row)), reason: null } });
  }
}

/**
 * When a compensation may begin: at once where the other side deduplicates a late twin of an earlier send (`keyed` inside
 * its key's life) or there is none (`once`: each grant follows a proof); else not before no twin can arrive any more,
 * for it could undo the undoing.
 */
export function undoNotBefore(draft: Draft, row: Row): number {
  const { now } = draft.input;
  const { call } = row;
  const spec = specOf(draft, row, "action");
  const effect = effectiveClass(call, spec);
  const deduplicated = effect === "keyed" && now < (call.firstSentAt ?? now) + spec.keyTtlMs;
  return effect === "once" || deduplicated ? now : Math.max(now, call.doubtUntil ?? now);
}

function end(draft: Draft, turn: Played, ended: NonNullable<Played["ended"]>, told: Row | null): void {
  switch (ended.how) {
    case "completed":
      draft.record.output = turn.state.output ?? null;
      return;
    case "unwind": {
      const message = `the saga ended in ${ended.at}`;
      return startUnwind(draft, { kind: "rejected", step: told?.step ?? null, message, reference: ended.at }, "failed");
    }
    case "error": {
      const cause = told === null ? { kind: "step_failed" as const, step: null, message: "failed", reference: ended.at } : causeOf(told);
      return startUnwind(draft, cause, "failed");
    }
  }
}
