/** How a run is started by a row of another one. Invariant: the same row sends the same command, whoever does and how often. */

import { listingsOf } from "../commit.ts";
import { begin } from "../decide.ts";
import { entryDigest } from "../digest.ts";
import type { Machine } from "../machine/port.ts";
import type { CreateCommand } from "../ports.ts";
import { expiringListing } from "../retention.ts";
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
   * It is only made so that nobody can make it later: it has ended before it begins. A request to start it that was held up on
   * its way then finds it, and the parent may take it for over.
   */
  readonly isVoid?: boolean;
}

type Begun = ReturnType<typeof begin>;

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
    startAt: now,
    parent: { run: parent.id, seq: row.seq, detached },
    trace: parent.trace,
    ...(row.shares === undefined ? {} : { shares: row.shares }),
  });
  const commandId = `child ${runKey(parent)} ${row.seq}.${row.call.generation}`;
  if (isVoid) return { ...voidOf(first, hash, parent.id), commandId };
  return { ...first, memberships: listingsOf(first.record), commandId };
}

/** A run that was over before it began. It is of no use once its parent is deleted, for which it is kept. */
function voidOf({ record, log }: Begun, hash: string, parent: string): Omit<CreateCommand, "commandId"> {
  const cause = {
    kind: "cancelled",
    step: null,
    message: "it was not begun any more",
    reference: parent,
  } as const;
  const first = {
    revision: 1,
    to: "cancelled",
    taken: [{ what: "created" }, { what: "ended", note: "cancelled" }],
  } as const;
  const digest = entryDigest(hash, first, null);
  const ended = {
    status: "cancelled",
    rollback: "not_applicable",
    cause,
    limit: null,
    endedAt: record.createdAt,
  } as const;
  const over: RunRecord = { ...record, ...ended, logDigest: digest };
  return { record: over, log: { ...log, ...first, digest }, memberships: [...listingsOf(over), expiringListing] };
}
