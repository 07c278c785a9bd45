/**
 * Owns: what the ledger claims about effects outside, as data: one claim for each call that a row made or may have made.
 * Does not own: whether it is true; the world's own file says that (`compare.ts`).
 */
import { z } from "zod";
import type { LedgerRow } from "../../client/index.ts";
import type { Call } from "../../core/index.ts";

export const Claim = z.object({
  operationId: z.string(),
  run: z.string(),
  step: z.string(),
  side: z.enum(["action", "undo"]),
  /** The word in the ledger. */
  state: z.string(),
  /** How often the ledger let it be called. */
  sends: z.int(),
  /** How many effects it claims; where `certain` is false, the most there can be. */
  effects: z.int(),
  certain: z.boolean(),
});
export type Claim = Readonly<z.infer<typeof Claim>>;

/** The claims of one run's ledger, in the order of its rows, each row's undoing behind it. */
export function claimsOf(run: string, rows: readonly LedgerRow[]): readonly Claim[] {
  return rows.flatMap((row) => {
    const { step, operationId, undoOperationId } = row;
    const action: Claim = { operationId, run, step, side: "action", ...claimed(row.call) };
    const call = row.undo?.call ?? null;
    if (call === null || undoOperationId === null) return [action];
    return [action, { operationId: undoOperationId, run, step, side: "undo", ...claimed(call) }];
  });
}

/**
 * An effect that may have happened is claimed as at most one: that is what `unknown` means. Of a call of class `none` no
 * effect is claimed, however often it was made.
 */
function claimed(call: Call): Pick<Claim, "state" | "sends" | "effects" | "certain"> {
  const { state, effect, send: sends } = call;
  if (effect === "none") return { state, sends, effects: 0, certain: true };
  switch (state) {
    case "succeeded":
      return { state, sends, effects: 1, certain: true };
    case "not_applied":
    case "withdrawn":
    case "claiming":
    case "reused":
      return { state, sends, effects: 0, certain: true };
    case "planned":
    case "offered":
    case "sent":
    case "unknown": {
      const inDoubt = state === "sent" || state === "unknown" || call.doubtUntil !== null;
      return { state, sends, effects: inDoubt ? 1 : 0, certain: !inDoubt };
    }
  }
}
