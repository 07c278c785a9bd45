/** A run as applications and operators see it: the record without what only the engine needs. */
import { type Call, type MissingValue, missingIn, operationId, type Row, type RunRecord } from "../core/index.ts";

export type RunView = Pick<
  RunRecord,
  | "tenant"
  | "id"
  | "saga"
  | "version"
  | "status"
  | "rollback"
  | "cause"
  | "input"
  | "output"
  | "waitingFor"
  | "review"
  | "cancel"
  | "timers"
  | "budgets"
  | "deadlineAt"
  | "attributes"
  | "priority"
  | "replays"
  | "replayOf"
  | "migratedFrom"
  | "parent"
  | "revision"
  | "createdAt"
  | "startAt"
  | "endedAt"
> & {
  /** The machine's state value; `null` before the run has begun. */
  readonly state: RunRecord["input"];
  /** Values of the run itself that are kept outside the store and cannot be had: a reference stands in their place. */
  readonly missing: readonly MissingValue[];
  /** Ids of the states to which it can go back (`operator.rewind`), oldest first. */
  readonly savepoints: readonly string[];
};

export function viewOf(record: RunRecord): RunView {
  const { tenant, id, saga, version, status, rollback, cause, input, output, waitingFor, review, cancel } = record;
  const { timers, attributes, priority, replays, replayOf, migratedFrom, parent } = record;
  const { revision, createdAt, startAt, endedAt, snapshot, budgets, deadlineAt } = record;
  const what = { tenant, id, saga, version, status, rollback, cause, input, output, waitingFor, review, cancel };
  const from = { timers, attributes, priority, replays, replayOf, migratedFrom, parent };
  const when = { ...from, revision, createdAt, startAt, endedAt };
  const savepoints = record.savepoints.map((savepoint) => savepoint.state);
  const missing = missingIn(record, []);
  return { ...what, ...when, budgets, deadlineAt, state: snapshot?.value ?? null, savepoints, missing };
}

/** A ledger row with the operation ids it is known by outside. */
export interface LedgerRow extends Row {
  readonly operationId: string;
  /** `null`: no compensation of it was ever owed. */
  readonly undoOperationId: string | null;
  /** Values of the row that are kept outside the store and cannot be had: a reference stands in their place. */
  readonly missing: readonly MissingValue[];
}

export function ledgerRowOf(
  namespace: string,
  run: { readonly tenant: string; readonly id: string },
  row: Row,
): LedgerRow {
  const undo: Call | null = row.undo?.call ?? null;
  return {
    ...row,
    operationId: operationId(namespace, run, row),
    missing: missingIn(null, [row]),
    undoOperationId: undo === null ? null : operationId(namespace, run, row, "undo"),
  };
}
