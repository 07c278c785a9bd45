/**
 * Suspending a batch and resuming it, from anywhere: whoever executes it hears it from the store before the next item (`batch.ts`). Owns
 * what is refused at once. Invariant: the runs of items that were begun before are left alone.
 */
import type { Suspended } from "../core/index.ts";
import { absentBatch, readBatch } from "./batch.ts";
import { checkedReason } from "./checks.ts";
import type { Connection } from "./connection.ts";
import type { PauseOptions } from "./paused.ts";

/** How a batch stood before somebody's word, and stands after it: equal, where it has changed nothing. */
export interface BatchSuspension extends Suspended {
  /** Id of the batch. */
  readonly batch: string;
}

/** Throws PLAN_GONE, INPUT_INVALID. */
export async function suspendBatch(
  connection: Connection,
  id: string,
  { by, reason }: PauseOptions,
): Promise<BatchSuspension> {
  const suspended = { by, reason: checkedReason(reason) };
  return await said(connection, id, "suspend_batch", { by, reason, suspended });
}

/** Throws PLAN_GONE, INPUT_INVALID. */
export async function resumeBatch(
  connection: Connection,
  id: string,
  { by, reason }: PauseOptions,
): Promise<BatchSuspension> {
  return await said(connection, id, "resume_batch", { by, reason: checkedReason(reason), suspended: null });
}

interface Word extends PauseOptions {
  readonly suspended: PauseOptions | null;
}

async function said(
  connection: Connection,
  id: string,
  act: "suspend_batch" | "resume_batch",
  { by, reason, suspended }: Word,
): Promise<BatchSuspension> {
  // The plan of one run is refused here: what lies under an id never becomes something else.
  await readBatch(connection, id);
  const command = { id, suspended, act: { act, by, reason, run: null, about: `batch ${id}` } };
  const answer = await (await connection.store()).setSuspension(command);
  if (answer.answer === "ABSENT") throw absentBatch(id);
  return { batch: id, was: answer.was, suspended: answer.suspended };
}
