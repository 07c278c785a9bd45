/**
 * How far a long step says it has come: kept with its row, so that whoever makes the call again goes on from there. It says
 * nothing about the effect: a call that is interrupted is judged by its class as ever.
 */
import type { DriverFact } from "../decision.ts";
import { type Draft, note, patchRow } from "../draft.ts";

/** Keeps a cursor while the send that reports it is the newest one and out. */
export function keepProgress(
  draft: Draft,
  { seq, send, cursor }: Extract<DriverFact, { readonly type: "progress" }>,
): void {
  const row = draft.rows[seq - 1];
  if (row?.call.state !== "sent" || row.call.send !== send) return;
  patchRow(draft, seq, { progress: cursor });
  note(draft, { what: "progress", seq });
}
