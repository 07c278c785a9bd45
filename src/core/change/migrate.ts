/**
 * Moving a run to another version of its saga. Owns when a run may be moved, what must fit before it is, and what the move
 * changes. The same judgement is made by a dry run (`judgeMove`) and by the driver (`moveFirst`).
 *
 * Invariants: G1 a run moves between two commits, while nothing of it is sent or lies in a queue; what it waits for is kept,
 * with its operation id. G2 it moves whole, in one commit, or stays as it was and the log says why. G3 whatever the new
 * version cannot read, call or undo is a refusal: no row, timer or invocation is dropped or made up. G4 from the entry of the
 * move on the log explains the run by the new machine alone.
 */
import { decode, decodeInput, decodeOutput, type Json, type MigratedRun, migrateThrough } from "../../saga/index.ts";
import { missingIn, summaryOf } from "../artifacts.ts";
import { consume, type Draft, note, viewOf } from "../draft.ts";
import type { Machine, MachineState, Standing } from "../machine/port.ts";
import { hasOutput, isAwaited } from "../rows.ts";
import type { InboxBody, InboxEntry, Row, Run, RunRecord } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import { countChange } from "../size.ts";
import { baseOf } from "./log-base.ts";

/** A run as it would be; or why it cannot be moved. */
export type Move =
  | { readonly ok: true; readonly snapshot: MachineState | null; readonly input: Json }
  /** `later`: it would fit; it is moved once what is under way is over. */
  | { readonly ok: false; readonly problem: string; readonly later: boolean };

type Request = InboxEntry & { readonly body: Extract<InboxBody, { readonly type: "migrate" }> };
type Pinned = Pick<RunRecord, "saga" | "version" | "hash">;

/** How long the request is left to others by a worker that does not know the version. */
export const handOverMs = 5_000;

/** The requests to move it to a newer version, oldest first. */
function requestsIn({ version }: Pick<RunRecord, "version">, inbox: readonly InboxEntry[]): readonly Request[] {
  return inbox.filter((entry): entry is Request => entry.body.type === "migrate" && entry.body.to > version);
}

/** Where a run is asked to move to, and may move now: whoever serves one of them drives the run by that. */
export function targetsOf({ record, rows, inbox, missing }: Run): readonly Pinned[] {
  if (missing !== undefined || busyRow(record, rows) !== undefined) return [];
  return requestsIn(record, inbox).map(({ body }) => ({ saga: record.saga, version: body.to, hash: body.hash }));
}

/** Is it asked to move to a version that `serves` says is at hand? */
export function isAskedToMove(
  { record, inbox }: Run,
  news: readonly InboxEntry[],
  serves: (to: Pinned) => boolean,
): boolean {
  const requests = requestsIn(record, [...inbox, ...news]);
  return requests.some(({ body }) => serves({ saga: record.saga, version: body.to, hash: body.hash }));
}

/** When a run that is asked to move wants to be looked at again; `null`: it is not. */
export function moveTime({ record, inbox, rows, stopping, input }: Draft): number | null {
  if (requestsIn(record, inbox).length === 0) return null;
  return stopping && busyRow(record, rows) === undefined ? input.now : input.now + handOverMs;
}

// ---- the driver's part

/** Is it driven by the machine of a version that it is asked to move to? */
export function isToMove({ record, input }: Draft): boolean {
  return record.version !== input.machine.saga.version;
}

/** Moves it before anything else is decided; `false`: it stays, the log says why, and others go on with it. */
export function moveFirst(draft: Draft): boolean {
  const { record, rows, input } = draft;
  const to = input.machine.saga.version;
  const request = requestsIn(record, draft.inbox).find(({ body }) => body.to === to);
  if (request === undefined) return false;
  const move = judgeMove(input.machine, { record, rows });
  consume(draft, request);
  if (!move.ok) refuse(draft, request, move.problem);
  else apply(draft, request, move);
  return move.ok;
}

/** A request to move to where it is, or to go back. */
export function refuseMove(draft: Draft, request: Request): void {
  consume(draft, request);
  refuse(draft, request, `it is at version ${draft.record.version}`);
}

function refuse(draft: Draft, { body, by }: Request, problem: string): void {
  note(draft, { what: "migrated", from: draft.record.version, to: body.to, by, reason: body.reason });
  note(draft, { what: "refused", note: problem });
}

function apply(draft: Draft, { body, by }: Request, move: Extract<Move, { ok: true }>): void {
  const { record, rows, input } = draft;
  const { version, hash, revision, snapshot } = record;
  countChange(draft, record.input, move.input);
  Object.assign(record, {
    version: body.to,
    hash: body.hash,
    snapshot: move.snapshot,
    input: move.input,
    // Of another machine: an unwind could not end there.
    savepoints: [],
    migratedFrom: { version, hash, revision, snapshot },
  });
  const base = baseOf(record, rows, draft.open, input.now);
  note(draft, { what: "migrated", from: version, to: body.to, by, reason: body.reason, base });
}

// ---- the judgement

/** What moving the run to the machine's version would make of it. Changes nothing. */
export function judgeMove(machine: Machine, run: Pick<Run, "record" | "rows">): Move {
  const { record, rows } = run;
  const problem = stateProblem(run, machine.saga.version) ?? firstProblem(rows, (row) => rowProblem(machine, row));
  if (problem !== null) return unfit(problem);
  const { snapshot, input } = record;
  const before = { value: snapshot?.value ?? null, context: snapshot?.context ?? null, input };
  const made = migrateThrough(machine.saga, record.version, before);
  if (!made.ok) return unfit(made.problem);
  const move = judgeMade(machine, run, made.value);
  const busy = busyRow(record, rows);
  return move.ok && busy !== undefined ? { ok: false, problem: `${named(busy)} is under way`, later: true } : move;
}

/** Does what the migrations gave fit the new version? */
function judgeMade(machine: Machine, { record, rows }: Pick<Run, "record" | "rows">, made: MigratedRun): Move {
  const { saga } = machine;
  const { snapshot } = record;
  const { value, input } = made;
  const fits = decode(saga.input, input);
  if (!fits.ok) return unfit(`the input does not fit version ${saga.version}: ${fits.problem}`);
  if (snapshot === null) return { ok: true, snapshot, input };
  const { order: _order, ...kept } = snapshot;
  const context = saga.context === "results" ? null : made.context;
  const after = { ...(isSame(value, snapshot.value) ? snapshot : kept), value, context };
  const problem = standProblem(machine, { record: { ...record, input }, rows }, after);
  return problem === null ? { ok: true, snapshot: after, input } : unfit(problem);
}

function unfit(problem: string): Move {
  return { ok: false, problem, later: false };
}

function stateProblem({ record, rows }: Pick<Run, "record" | "rows">, to: number): string | null {
  if (hasEnded(record.status)) return `it has ended (${record.status})`;
  if (record.version >= to) return `it is at version ${record.version}`;
  if (record.unwind !== null) return "it is being undone, which its own version finishes";
  if (record.snapshot !== null && record.snapshot.status !== "active") return "its machine has ended";
  const missing = missingIn(record, rows);
  return missing.length === 0 ? null : summaryOf(missing);
}

/** A row of which a call may be made at this very moment. */
function busyRow({ open }: Pick<RunRecord, "open">, rows: readonly Row[]): Row | undefined {
  return open.map((seq) => rows[seq - 1] as Row).find(({ call, undo }) => isBusy(call) || isBusy(undo?.call ?? null));
}

function isBusy(call: Row["call"] | null): boolean {
  return call?.state === "sent" || call?.state === "offered" || call?.state === "claiming";
}

/** Every effect on record must be one that the new version knows how to read, call and undo. */
export function rowProblem({ saga }: Machine, row: Row): string | null {
  const step = saga.steps[row.step];
  if (step === undefined) return `${named(row)} is on record, and version ${saga.version} has no such step`;
  if (step.kind !== row.kind) return `${named(row)} is a ${row.kind}, and in version ${saga.version} a ${step.kind}`;
  const input = decodeInput(step, row.input);
  if (!input.ok) return `the input of ${named(row)} does not fit: ${input.problem}`;
  if (!hasOutput(row.call) || row.unusable) return null;
  const output = decodeOutput(step, row.output);
  return output.ok ? null : `the output of ${named(row)} does not fit: ${output.problem}`;
}

/** Can the machine stand there, with the rows and timers that it has? */
function standProblem(machine: Machine, run: Pick<Run, "record" | "rows">, state: MachineState): string | null {
  const { version } = machine.saga;
  const blocked = machine.blocked(state);
  if (blocked !== null) return `version ${version} cannot stand there: ${blocked}`;
  const { rows, record } = run;
  const standing = standingAt(machine, run, state);
  if (typeof standing === "string") return standing;
  return (
    firstProblem(rows, (row) => lostRow(standing, row)) ??
    firstProblem([...standing.invokes], ([invoke, step]) => unasked(rows, invoke, step)) ??
    firstProblem(record.timers, ({ event }) =>
      standing.events.has(event.type) ? null : `nothing takes the timer ${event.type}`,
    ) ??
    firstProblem(standing.delays, (type) =>
      record.timers.some(({ event }) => event.type === type)
        ? null
        : `no timer is set for ${type}, which a migration does not do`,
    ) ??
    standing.unsettled
  );
}

function standingAt(machine: Machine, { record, rows }: Pick<Run, "record" | "rows">, state: MachineState) {
  const view = viewOf({ record, rows, open: record.open });
  return machine.standing(state, view);
}

/** What the machine is to be told of must still be waited for. */
function lostRow({ invokes }: Standing, row: Row): string | null {
  if (!isAwaited(row) || invokes.get(row.invoke) === row.step) return null;
  return `${named(row)} is open, and the state it would stand in does not invoke it as ${row.invoke}`;
}

/** A step is asked for when its state is entered, and a migration enters none. */
function unasked(rows: readonly Row[], invoke: string, step: string): string | null {
  const isKnown = rows.some((row) => row.invoke === invoke && row.step === step && !row.abandoned && row.tool === null);
  return isKnown
    ? null
    : `${step} would be waited for as ${invoke}, and was never asked for: let it stand in the state before`;
}

export function named({ step, seq }: Row): string {
  return `${step} (row ${seq})`;
}

function firstProblem<Item>(items: readonly Item[], problemOf: (item: Item) => string | null): string | null {
  for (const item of items) {
    const problem = problemOf(item);
    if (problem !== null) return problem;
  }
  return null;
}

function isSame(a: Json, b: Json): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
