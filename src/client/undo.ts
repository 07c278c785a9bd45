/**
 * Asking that an ended run be undone. Owns what is refused at once; the run's own driver decides (`core/undo.ts`), also of a
 * request that was overtaken by something else. Invariant: asked again it changes nothing.
 */
import { hasEnded, pivotIn, type RunRecord, type RunRef } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { checkedReason } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { notFound, sendRequest } from "./send.ts";

export interface UndoOptions {
  /** Why; it stands in the log and is the cause of the run's new end. */
  readonly reason: string;
  readonly by: string;
  /** Undo what can be undone although a point of no return was passed. */
  readonly despitePivot?: boolean;
}

export async function undo(
  connection: Connection,
  run: RunRef,
  options: UndoOptions,
): Promise<{ readonly by: string }> {
  const { by, despitePivot = false } = options;
  const reason = checkedReason(options.reason);
  const record = await (await connection.store()).read(run);
  if (record === null) throw notFound(run);
  if (record.cause?.kind === "undone") return { by: record.cause.reference ?? by };
  const objection = await objectionTo(connection, record, despitePivot);
  if (objection !== null) throw refused(record, objection);
  const slot = despitePivot ? "undo:despite_pivot" : "undo";
  const body = { type: "undo", reason, despitePivot } as const;
  const commandId = connection.ports.ids.next();
  const answer = await sendRequest(connection, { run, slot, commandId, by, body });
  return { by: answer.answer === "TAKEN" ? answer.by : by };
}

async function objectionTo(connection: Connection, record: RunRecord, despitePivot: boolean): Promise<string | null> {
  if (record.status === "cancelled") return "was cancelled: what there was to undo was undone or left then";
  if (!hasEnded(record.status)) return `is ${record.status} and has not ended: cancel it, or decide on its review`;
  const machine = despitePivot ? null : connection.machineFor(record);
  if (machine === null) return null;
  const pivot = pivotIn(machine.saga, await (await connection.store()).ledger(record));
  return pivot === null ? null : `has passed a point of no return (${pivot}); say despitePivot to undo it all the same`;
}

function refused({ tenant, id, status }: RunRecord, objection: string): RepriseError {
  return new RepriseError("VERB_REFUSED", `run ${id} ${objection}`, { details: { tenant, id, verb: "undo", status } });
}
