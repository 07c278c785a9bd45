/**
 * Owns: the comparison of what the ledger claims with what the world observed, joined by operation id. Pure.
 *
 * A difference is: an operation on one side only, another count of effects, more arrivals than the ledger granted, one
 * operation id under several names, runs or arguments, or a world's file that is not whole.
 */
import type { Claim } from "./claims.ts";
import { type Observed, observe, type Witness } from "./witness.ts";

/** One operation on both sides; `difference` says in words how they differ, `null` that they agree. */
export interface Joined {
  readonly operationId: string;
  readonly claimed: Claim | null;
  readonly observed: Observed | null;
  readonly difference: string | null;
}

/** A row of the table on which the two sides differ; without an operation id it is about the world's file itself. */
export interface Difference {
  readonly operationId: string | null;
  readonly claimed: Claim | null;
  readonly observed: Observed | null;
  readonly difference: string;
}

export interface Comparison {
  /** In the order of the claims; what only the world knows of comes last. */
  readonly rows: readonly Joined[];
  readonly differences: readonly Difference[];
}

/** Compares the claims of a story with the world's file of the same story. */
export function compare(claims: readonly Claim[], witness: Witness): Comparison {
  const observed = new Map(observe(witness.lines).map((each) => [each.operationId, each]));
  const claimed = new Map(claims.map((claim) => [claim.operationId, claim]));
  const ids = [...new Set([...claimed.keys(), ...observed.keys()])];
  const rows = ids.map((id) => join(id, claimed.get(id) ?? null, observed.get(id) ?? null));
  const differing = rows.flatMap(({ difference, ...row }) => (difference === null ? [] : [{ ...row, difference }]));
  const broken = witness.problems.map((difference) => {
    return { operationId: null, claimed: null, observed: null, difference };
  });
  return { rows, differences: [...broken, ...differing] };
}

function join(operationId: string, claimed: Claim | null, observed: Observed | null): Joined {
  return { operationId, claimed, observed, difference: difference(claimed, observed) };
}

function difference(claimed: Claim | null, observed: Observed | null): string | null {
  if (claimed === null) return "the world saw it, the ledger does not know it";
  if (observed === null) {
    const claimsNothing = claimed.effects === 0 || !claimed.certain;
    return claimsNothing ? null : "the ledger claims it, the world never saw it";
  }
  return countDifference(claimed, observed) ?? identityDifference(claimed, observed);
}

function countDifference(claimed: Claim, observed: Observed): string | null {
  const fits = claimed.certain ? observed.effects === claimed.effects : observed.effects <= claimed.effects;
  if (!fits) {
    const most = claimed.certain ? "" : "at most ";
    return `the ledger claims ${most}${effects(claimed.effects)}, the world saw ${observed.effects}`;
  }
  if (observed.arrivals > claimed.sends) {
    return `the ledger let it be called ${times(claimed.sends)}, the world was called ${times(observed.arrivals)}`;
  }
  const wasCalled = observed.effects === 0 || observed.arrivals > 0;
  return wasCalled ? null : "the world shows an effect that nobody asked it for";
}

function identityDifference(claimed: Claim, observed: Observed): string | null {
  if (observed.actions.length > 1) return `the world saw it under several names: ${observed.actions.join(", ")}`;
  if (!observed.sameArgs) return "the world saw it with different arguments";
  const stranger = observed.runs.find((run) => run !== claimed.run);
  return stranger === undefined ? null : `the ledger says run ${claimed.run}, the world was called by ${stranger}`;
}

function effects(count: number): string {
  return count === 1 ? "1 effect" : `${count} effects`;
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
