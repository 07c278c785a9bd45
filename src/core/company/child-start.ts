/** How a run is started by a row of another one. Invariant: the same row sends the same command, whoever does and how often. */

import { listingsOf } from "../commit.ts";
import { begin } from "../decide.ts";
import type { Machine } from "../machine/port.ts";
import type { CreateCommand } from "../ports.ts";
import type { Row, RunRecord } from "../run/index.ts";
import { runKey } from "../run/index.ts";
import { childRef } from "./child-run.ts";

export interface ChildStart {
  /** The parent and its row. */
  readonly parent: RunRecord;
  readonly row: Row;
  /** Of the child. */
  readonly machine: Machine;
  readonly hash: string;
  readonly detached: boolean;
  /** Store time. */
  readonly now: number;
  /**
   * It is only made so that nobody can make it later: it never begins by itself. A request to start it that was held up on
   * its way then finds it, and the parent may take it for over once it is cancelled.
   */
  readonly isVoid?: boolean;
}

/** What starts it. The same command, whoever sends it and how often. */
export function startChild(start: ChildStart): CreateCommand {
  const { parent, row, machine, hash, detached, now, isVoid = false } = start;
  const run = childRef(parent, row);
  const first = begin({
    machine,
    hash,
    ...run,
    input: row.input,
    priority: parent.priority,
    now,
    startAt: isVoid ? Number.MAX_SAFE_INTEGER : now,
    parent: { run: parent.id, seq: row.seq, detached },
    trace: parent.trace,
    ...(row.shares === undefined ? {} : { shares: row.shares }),
  });
  const commandId = `child ${runKey(parent)} ${row.seq}.${row.call.generation}`;
  return { ...first, memberships: listingsOf(first.record), commandId };
}
