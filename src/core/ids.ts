/**
 * Names that are derived, never stored: operation ids. Stable over retries, crashes and replays (design section 6).
 */
import { digestOf } from "./digest.ts";
import type { Row, RunRef } from "./run/index.ts";

/** What an id of a run or tenant looks like. */
export const idPattern = /^[A-Za-z0-9_.-]{1,64}$/;

/** Longest operation id; longer ones end in a hash. */
export const maxOperationIdChars = 200;

/** `<ns>/<tenant>/<run>/<step>/<occurrence>`, `~<generation>` from the second on, `/undo` for the compensation. */
export function operationId(
  namespace: string,
  run: RunRef,
  row: Pick<Row, "step" | "occurrence"> & { readonly call: Pick<Row["call"], "generation"> },
  side: "action" | "undo" = "action",
): string {
  const generation = row.call.generation > 1 ? `~${row.call.generation}` : "";
  const undo = side === "undo" ? "/undo" : "";
  const whole = `${namespace}/${run.tenant}/${run.id}/${row.step}/${row.occurrence}${generation}${undo}`;
  if (whole.length <= maxOperationIdChars) return whole;
  const hash = digestOf(whole);
  return `${whole.slice(0, maxOperationIdChars - hash.length - 1)}~${hash}`;
}
