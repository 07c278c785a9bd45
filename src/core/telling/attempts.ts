/** What is known of each call that was sent: whether it happened. Says what the row says, and nothing more. */
import { callOf, waitsForChild } from "../rows.ts";
import type { Call, Row } from "../run/index.ts";
import type { CallVerdict, Judged } from "./verdict.ts";

/** What is known of a call that was sent. */
export type Known = "happened" | "did not happen" | "may have happened" | "under way";

export interface Attempt extends CallVerdict {
  readonly known: Known;
}

/** None: it was never sent. */
export function attemptOf({ rows }: Judged, verdict: CallVerdict): readonly Attempt[] {
  // A verdict is about a call of a row that is there.
  const row = rows[verdict.seq - 1] as Row;
  const call = callOf(row, verdict.side) as Call;
  if (call.firstSentRevision === null) return [];
  return [{ ...verdict, known: waitsForChild(row) ? "under way" : knownOf(verdict) }];
}

function knownOf({ state, course }: CallVerdict): Known {
  switch (state) {
    case "succeeded":
    case "reused":
      return "happened";
    case "not_applied":
    case "withdrawn":
    case "claiming":
      return "did not happen";
    case "sent":
    case "offered":
      return "under way";
    case "unknown":
      return "may have happened";
    case "planned":
      return course === "call" || course === "wait" ? "did not happen" : "may have happened";
  }
}
