/**
 * Feeding the machine: one event in, and what it asks for becomes rows, timers or an end. Owns how a transition changes
 * the record. Invariants: T1 a turn is applied whole or not at all (a defect leaves the snapshot as it was and parks).
 * T2 a row's outcome is told once, to the occurrence that is current. T3 a row that the machine has left is `abandoned`,
 * one that it still waits for when it has ended too.
 */
import { decodeInput, type Json, type StepSpec, toJson } from "../saga/index.ts";
import { addRow, keyOf } from "./calls/new-row.ts";
import { stopAction } from "./calls/stop.ts";
import { type Draft, note, patchRow, rowAt, viewOf } from "./draft.ts";
import type { MachineEffect, MachineEvent, MachineState, Turn } from "./machine/port.ts";
import { park } from "./people/reviews.ts";
import { hasOutput, isAwaited } from "./rows.ts";
import type { Cause, Failure, Row } from "./run/index.ts";
import { overBudget, sizeOf } from "./size.ts";
import { keepSavepoints } from "./unwind/savepoints.ts";
import { parkAfterPivot, pivotHappened, startUnwind } from "./unwind/unwind-start.ts";

type Start = Extract<MachineEffect, { type: "start" }>;
type Played = Extract<Turn, { ok: true }>;

/** Enters the machine's first state. */
export function beginMachine(draft: Draft): void {
  note(draft, { what: "begun" });
  apply(draft, draft.input.machine.initial(viewOf(draft)), unasked);
}

/**
 * Feeds an active machine an event that is not a row's outcome (`id`: one from outside); `false`: it was a defect, the run is
 * parked as it was before.
 */
export function feed(draft: Draft, event: MachineEvent, id: string | null = null): boolean {
  const turn = draft.input.machine.transition(currentSnapshot(draft), event, viewOf(draft));
  return apply(draft, turn, id === null ? unasked : { row: null, event: id });
}

/** Tells the machine that a row succeeded or failed. After a pivot a failure that no `onError` takes parks instead. */
export function tell(draft: Draft, row: Row): void {
  const snapshot = currentSnapshot(draft);
  const event = outcomeEvent(row);
  if (event.type === "failure" && pivotHappened(draft) && !takesFailure(draft, row)) {
    return parkAfterPivot(draft, causeOf(row), row.seq, ["retry", "resolve"]);
  }
  // Told before it is asked: its output is among the results that the machine sees now.
  patchRow(draft, row.seq, { told: event.type });
  note(draft, { what: "told", seq: row.seq, failure: event.type === "failure" ? event.error : null });
  const turn = draft.input.machine.transition(snapshot, event, viewOf(draft));
  if (!apply(draft, turn, { row, event: null })) patchRow(draft, row.seq, { told: null });
}

/** Would an `onError` take a failure of this row now? */
export function takesFailure(draft: Draft, row: Row): boolean {
  const event = { type: "failure", invoke: row.invoke, error: failureJson(row) } as const;
  return draft.input.machine.accepts(currentSnapshot(draft), event, viewOf(draft)) === "taken";
}

function currentSnapshot(draft: Draft): MachineState {
  // What waits for it, a row or a timer, was asked for by a turn, and a turn leaves a snapshot.
  return draft.record.snapshot as MachineState;
}

function outcomeEvent(row: Row): Extract<MachineEvent, { type: "outcome" | "failure" }> {
  const { invoke, call, output } = row;
  return hasOutput(call) ? { type: "outcome", invoke, output } : { type: "failure", invoke, error: failureJson(row) };
}

function failureJson(row: Row): Json {
  const { kind, code, message, attempts } = failureOf(row);
  return { kind, code, message, attempts };
}

function failureOf({ call }: Row): Failure {
  // Asked only of calls that failed or were given up, which say why.
  return call.error as Failure;
}

/** The cause of a run that fails because of a row. */
export function causeOf(row: Row): Cause {
  const { kind, message } = failureOf(row);
  const why = kind === "rejected" ? kind : "step_failed";
  return { kind: why, step: row.step, message, reference: `row ${row.seq}` };
}

function unnamedCause(at: string): Cause {
  return { kind: "step_failed", step: null, message: "the machine ended with an error", reference: at };
}

// ---- a turn

/** A row that a turn asks for. */
interface Plan {
  readonly start: Start;
  readonly step: StepSpec;
  readonly input: Json;
  readonly key: Json;
  /** What the run holds with this input. */
  readonly bytes: number;
}
type Problem = Pick<Extract<Turn, { ok: false }>, "where" | "defect">;

/** What the machine was told that a turn answers: a row's outcome, an event from outside, or neither. */
interface Asked {
  readonly row: Row | null;
  readonly event: string | null;
}
const unasked: Asked = { row: null, event: null };

/** Applies a turn; `false`: it was a defect, nothing was applied and the run is parked. */
function apply(draft: Draft, turn: Turn, asked: Asked): boolean {
  if (!turn.ok) return parkDefect(draft, turn, asked);
  const plans: Plan[] = [];
  let { bytes } = draft.record;
  for (const effect of turn.effects) {
    if (effect.type !== "start") continue;
    const plan = planOf(draft, effect, bytes);
    if ("defect" in plan) return parkDefect(draft, plan, asked);
    plans.push(plan);
    bytes = plan.bytes;
  }
  const before = draft.record.snapshot;
  draft.record.snapshot = turn.state;
  draft.record.bytes = bytes;
  countEntries(draft, turn.entered);
  // What a failing end stops is not abandoned: it is quiesced and undone like everything else.
  const keepsStops = turn.ended === null || turn.ended.how === "completed";
  for (const effect of turn.effects) applyEffect(draft, effect, plans, keepsStops);
  keepSavepoints(draft, before, turn.state);
  if (turn.ended !== null) end(draft, turn, turn.ended, asked.row);
  return true;
}

function parkDefect(draft: Draft, { where, defect }: Problem, { row, event }: Asked): false {
  note(draft, { what: "refused", note: `${where}: ${defect}` });
  park(draft, {
    reason: "defect",
    message: `${where}: ${defect}. The snapshot before it is kept and nothing was undone`,
    seq: row?.seq ?? null,
    side: row === null ? null : "action",
    evidence: null,
    ...(event === null ? { verbs: ["retry"] } : { verbs: ["retry", "discard"], event }),
  });
  return false;
}

/** `held`: what the run holds before it. */
function planOf(draft: Draft, start: Start, held: number): Plan | Problem {
  const step = draft.input.machine.saga.steps[start.step];
  if (step === undefined) return { where: start.invoke, defect: `the saga has no step named ${start.step}` };
  const where = `input of ${start.step}`;
  const json = toJson(start.input ?? null);
  if (!json.ok) return { where, defect: json.problem };
  const checked = decodeInput(step, json.value);
  if (!checked.ok) return { where, defect: checked.problem };
  const key = keyOf(step, json.value, null);
  if (!key.ok) return { where: start.step, defect: key.problem };
  const bytes = held + sizeOf(json.value);
  const tooLarge = overBudget(draft, bytes);
  return tooLarge === null ? { start, step, input: json.value, key: key.value, bytes } : { where, defect: tooLarge };
}

function countEntries(draft: Draft, entered: readonly string[]): void {
  if (entered.length === 0) return;
  const counts: Record<string, number> = { ...draft.record.regionEntries };
  for (const region of entered) counts[region] = (counts[region] ?? 0) + 1;
  draft.record.regionEntries = counts;
}

function applyEffect(draft: Draft, effect: MachineEffect, plans: readonly Plan[], keepsStops: boolean): void {
  switch (effect.type) {
    case "start":
      for (const plan of plans) if (plan.start === effect) invoke(draft, plan);
      return;
    case "stop":
      if (keepsStops) abandonInvoke(draft, effect.invoke);
      return;
    case "timer":
      return setTimer(draft, effect);
    case "timer_cancel":
      draft.record.timers = draft.record.timers.filter((timer) => timer.id !== effect.id);
      return;
    case "emitted":
    case "logged":
      return;
  }
}

function invoke(draft: Draft, { start, step, input, key }: Plan): void {
  const { region } = start;
  const regionEntry = draft.record.regionEntries[region.at(-1) ?? ""] ?? 0;
  addRow(draft, { step, key, input, invoke: start.invoke, region, regionEntry, tool: null });
}

function setTimer(draft: Draft, { id, delayMs, event }: Extract<MachineEffect, { type: "timer" }>): void {
  const others = draft.record.timers.filter((timer) => timer.id !== id);
  draft.record.timers = [...others, { id, at: draft.input.now + delayMs, event }];
}

// ---- leaving a state

/** The machine left the state that invoked it (design section 6, Abandoned). */
function abandonInvoke(draft: Draft, invoke: string): void {
  const current = draft.open.findLast((seq) => isAwaited(rowAt(draft, seq)) && rowAt(draft, seq).invoke === invoke);
  if (current !== undefined) abandon(draft, current);
}

/** With all that its action did: its tools' effects are its own. */
function abandon(draft: Draft, seq: number): void {
  patchRow(draft, seq, { abandoned: true });
  note(draft, { what: "abandoned", seq });
  stopAction(draft, rowAt(draft, seq));
  for (const { seq: of, tool } of draft.rows.slice(seq)) if (tool?.parent === seq) abandon(draft, of);
}

function end(draft: Draft, turn: Played, ended: NonNullable<Played["ended"]>, told: Row | null): void {
  switch (ended.how) {
    case "completed":
      draft.record.output = turn.state.output ?? null;
      draft.record.timers = [];
      for (const seq of draft.open) if (isAwaited(rowAt(draft, seq))) abandon(draft, seq);
      return;
    case "unwind": {
      const message = `the saga ended in ${ended.at}`;
      return startUnwind(draft, { kind: "rejected", step: told?.step ?? null, message, reference: ended.at });
    }
    case "error":
      return startUnwind(draft, told === null ? unnamedCause(ended.at) : causeOf(told));
  }
}
