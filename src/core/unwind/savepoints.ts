/**
 * Savepoints: how a run stood when it entered a state tagged `savepoint`, kept in its record so that an unwind can end there.
 * Owns what is kept of an entry. Invariant: of each such state the last entry is kept, and of very many the newest.
 */

import { unset } from "../change/log-base.ts";
import { type Draft, rowAt } from "../draft.ts";
import type { MachineState } from "../machine/port.ts";
import type { ForkStart } from "../run/index.ts";

/** States of which a run keeps how it entered them. */
const maxSavepoints = 8;

/** Keeps what a turn has entered. A state that was active before is not entered by it. */
export function keepSavepoints(draft: Draft, before: MachineState | null, after: MachineState): void {
  const { machine } = draft.input;
  const active = machine.savepoints(after);
  if (active.length === 0) return;
  const known = before === null ? [] : machine.savepoints(before);
  for (const state of active) if (!known.includes(state)) keep(draft, state, after);
}

function keep(draft: Draft, state: string, snapshot: MachineState): void {
  const { revision } = draft;
  const others = draft.record.savepoints.filter((each) => each.state !== state);
  const kept = [...others, { state, revision, start: startOf(draft, snapshot) }];
  draft.record.savepoints = kept.slice(-maxSavepoints);
}

function startOf(draft: Draft, snapshot: MachineState): ForkStart {
  const { now } = draft.input;
  const waits = draft.open.filter((seq) => {
    const { told, abandoned } = rowAt(draft, seq);
    return told === null && !abandoned;
  });
  const timers = draft.record.timers.map((timer) => unset(timer, now));
  return { snapshot, rows: draft.rows.length, waits, timers };
}
