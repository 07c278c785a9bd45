/** Owns: what an effect is to the command line (one call of one row), how it is named, and finding it. */
import type { LedgerRow, RunHandle } from "../../client/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Cli } from "../base/cli.ts";
import { UsageError } from "../exit.ts";
import { reach } from "../runs/reach.ts";
import type { Call, EffectState } from "./words.ts";

/** One call, action or compensation. */
export interface Effect {
  readonly operationId: string;
  readonly tenant: string;
  readonly run: string;
  readonly seq: number;
  readonly step: string;
  readonly occurrence: number;
  readonly side: "action" | "undo";
  readonly effect: Call["effect"];
  readonly state: EffectState;
  /** What the unwind made of the action; `null`: nothing, or it is a compensation itself. */
  readonly undo: NonNullable<LedgerRow["undo"]>["state"] | null;
  /** What the retry policy counts. */
  readonly attempt: number;
  /** How often it was offered or sent, also where nobody knows what became of it. */
  readonly send: number;
  readonly sentAt: number | null;
  /** How the last word on it is known. */
  readonly proof: Call["proof"];
  readonly error: Call["error"];
  readonly intent: NonNullable<LedgerRow["intent"]>["key"];
  readonly reference: string | null;
}

/** The calls of one run's ledger, by row. */
export function effectsOf({ tenant, id: run }: RunHandle, rows: readonly LedgerRow[]): readonly Effect[] {
  return rows.flatMap((row): readonly Effect[] => {
    const { seq, step, occurrence, operationId, undoOperationId } = row;
    const shared = { tenant, run, seq, step, occurrence, intent: row.intent?.key ?? null };
    const action = {
      ...shared,
      ...partsOf(row.call),
      operationId,
      side: "action",
      undo: row.undo?.state ?? null,
      reference: row.reference,
    } as const;
    const call = row.undo?.call ?? null;
    if (call === null || undoOperationId === null) return [action];
    return [
      action,
      { ...shared, ...partsOf(call), operationId: undoOperationId, side: "undo", undo: null, reference: null },
    ];
  });
}

function partsOf({ effect, state, attempt, send, sentAt, proof, error }: Call) {
  return { effect, state, attempt, send, sentAt, proof, error };
}

export interface FoundEffect {
  readonly run: RunHandle;
  readonly effect: Effect;
  readonly row: LedgerRow;
}

/**
 * By its operation id (`<namespace>/<tenant>/<run>/<step>/<n>[/undo]`), or by its row (`<run>#<row>`, `<run>#<row>/undo`). Throws
 * RUN_NOT_FOUND, UsageError.
 */
export async function findEffect(cli: Cli, name: string): Promise<FoundEffect> {
  const [id, isIt] = readName(name);
  const run = await reach(cli, id);
  const rows = await run.ledger();
  const effect = effectsOf(run, rows).find(isIt);
  const row = effect === undefined ? undefined : rows[effect.seq - 1];
  if (effect !== undefined && row !== undefined) return { run, effect, row };
  throw new RepriseError("RUN_NOT_FOUND", `run ${run.id} has no effect ${name}`, {
    details: { tenant: run.tenant, run: run.id, effect: name },
  });
}

function readName(name: string): readonly [run: string, isIt: (effect: Effect) => boolean] {
  const [, id, seq, undo] = /^([^#]+)#(\d{1,9})(\/undo)?$/.exec(name) ?? [];
  if (id !== undefined) {
    const side = undo === undefined ? "action" : "undo";
    return [id, (effect) => effect.seq === Number(seq) && effect.side === side];
  }
  const [, tenant, run] = /^[^/]+\/([^/]+)\/([^/]+)\/.+$/.exec(name) ?? [];
  if (run === undefined) throw new UsageError(`${name} is neither an operation id nor <run>#<row>`);
  return [`${tenant}/${run}`, (effect) => effect.operationId === name];
}

/** The open question of its run is about this effect, and takes the verb. Throws REVIEW_GONE, VERB_REFUSED. */
export async function reviewOf({ run, effect }: FoundEffect, verb: "probe" | "resolve"): Promise<number> {
  const { review, status } = await run.get();
  if (review !== null && review.seq === effect.seq && (review.side ?? "action") === effect.side) {
    const { refusalOf } = await import("../../client/index.ts");
    const refusal = refusalOf(run, review, verb);
    if (refusal !== null) throw refusal;
    return review.n;
  }
  const why =
    review === null
      ? `run ${run.id} is not parked: it is ${status}`
      : `run ${run.id} is parked for something else: ${review.message}`;
  throw new RepriseError("REVIEW_GONE", why, {
    details: { tenant: run.tenant, run: run.id, effect: effect.operationId },
  });
}
