/**
 * Asking that an ended run be undone. Owns what is refused at once; the run's own driver decides (`core/unwind/undo.ts`), also of a
 * request that was overtaken by something else. Invariant: asked again it changes nothing.
 */
import { hasEnded, objectionToUndo, type RunRecord, type RunRef } from "../core/index.ts";
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
  const store = await connection.store();
  const record = await store.read(run);
  if (record === null) throw notFound(run);
  if (record.cause?.kind === "undone") return { by: record.cause.reference ?? by };
  const rows = hasEnded(record.status) ? await store.ledger(run) : [];
  const saga = connection.machineFor(record)?.saga ?? null;
  const objection = objectionToUndo(record.status, rows, saga, { reason, despitePivot });
  if (objection !== null) throw refused(record, objection);
  const slot = despitePivot ? "undo:despite_pivot" : "undo";
  const body = { type: "undo", reason, despitePivot } as const;
  const commandId = connection.ports.ids.next();
  const answer = await sendRequest(connection, { run, slot, commandId, by, body });
  return { by: answer.answer === "TAKEN" ? answer.by : by };
}

function refused({ tenant, id, status }: RunRecord, objection: string): RepriseError {
  return new RepriseError("VERB_REFUSED", `run ${id} is not undone: ${objection}`, {
    details: { tenant, id, verb: "undo", status },
  });
}
