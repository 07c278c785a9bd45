/**
 * Steps that wait until their progress is committed. Invariant: each is answered once: kept, or lost together with the run
 * or the call.
 */
import type { DriverFact, Run } from "../core/index.ts";
import { RepriseError } from "../errors.ts";

export type ProgressFact = Extract<DriverFact, { readonly type: "progress" }>;

interface Waiting {
  readonly kept: () => void;
  readonly lost: (error: RepriseError) => void;
}

export class Receipts {
  readonly #waiting = new Map<DriverFact, Waiting>();

  /** Resolves when the progress is committed; rejects with LEASE_LOST when it never will be. */
  of(fact: ProgressFact): Promise<void> {
    return new Promise((kept, lost) => {
      this.#waiting.set(fact, { kept, lost });
    });
  }

  /** These facts are decided on, and what was decided is written: `run` is what came of it. */
  written(facts: readonly DriverFact[], run: Run): void {
    if (this.#waiting.size === 0) return;
    for (const fact of facts) {
      const waiting = this.#waiting.get(fact);
      if (fact.type !== "progress" || waiting === undefined) continue;
      this.#waiting.delete(fact);
      const call = run.rows[fact.seq - 1]?.call;
      if (call?.send === fact.send && call.state !== "unknown") waiting.kept();
      else waiting.lost(leaseLost());
    }
  }

  lose(): void {
    for (const { lost } of this.#waiting.values()) lost(leaseLost());
    this.#waiting.clear();
  }
}

export function leaseLost(): RepriseError {
  return new RepriseError("LEASE_LOST", "nobody waits for this call any more: stop, and leave what is done as it is");
}
