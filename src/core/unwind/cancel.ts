/**
 * A cancel, in its three modes. Owns which one counts and what each comes to: an unwind, an end that leaves everything as it
 * is once it is known (`leave.ts`), or an end at once.
 *
 * Invariants: K1 the first cancel counts; a harder one later hardens it, a softer one changes nothing but the log. K2 what is
 * out is never forgotten: `kill` accepts it as unknown, on record, and a late word about it is still written down. K3 only
 * `compensate` minds a point of no return: the others undo nothing.
 */

import { type Draft, note } from "../draft.ts";
import type { Cancel, Cause, InboxBody, InboxEntry } from "../run/index.ts";
import { kill } from "./close.ts";
import { goAllTheWay } from "./rewind.ts";
import { startLeaving, startUnwind } from "./unwind-start.ts";

const hardness: Readonly<Record<Cancel["mode"], number>> = { compensate: 0, stop: 1, kill: 2 };

export function takeCancel(draft: Draft, entry: InboxEntry, body: Extract<InboxBody, { type: "cancel" }>): void {
  const { by, at } = entry;
  const { mode, reason } = body;
  const { record } = draft;
  note(draft, { what: "control", control: "cancel", by, reason, ...(mode === "compensate" ? {} : { mode }) });
  if (record.cancel !== null && hardness[mode] <= hardness[record.cancel.mode]) return;
  record.cancel = { mode, reason, by, at };
  const cause: Cause = { kind: "cancelled", step: null, message: reason, reference: by };
  switch (mode) {
    case "compensate":
      return goBack(draft, cause);
    case "stop":
      return startLeaving(draft, cause);
    case "kill":
      return kill(draft, cause);
  }
}

function goBack(draft: Draft, cause: Cause): void {
  const { record } = draft;
  if (record.unwind !== null) return goAllTheWay(draft, record.unwind, cause);
  record.review = null;
  startUnwind(draft, cause);
}
