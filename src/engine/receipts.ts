/**
 * Steps that wait until what they say of themselves (progress, what they used) is committed, and, in a child, until its parent lets
 * it use that much. Invariant: each is answered once: kept, refused, or lost together with the run or the call.
 */
import { type DriverFact, isOverShareOf, passedBy, type Run } from "../core/index.ts";
import { RepriseError } from "../errors.ts";

/** What a step says of itself. */
export type OwnFact = Extract<DriverFact, { readonly type: "progress" | "spend" }>;

interface Waiting {
  readonly kept: () => void;
  readonly lost: (error: RepriseError) => void;
}

export class Receipts {
  readonly #waiting = new Map<DriverFact, Waiting>();
  /** Those that wait although what they say is on record. */
  #held: readonly OwnFact[] = [];

  /**
   * Resolves when it is committed; rejects with LEASE_LOST when it never will be, with BUDGET_EXHAUSTED when what was used is
   * on record and more than the run may.
   */
  of(fact: OwnFact): Promise<void> {
    return new Promise((kept, lost) => {
      this.#waiting.set(fact, { kept, lost });
    });
  }

  /** These facts are decided on, and what was decided is written: `run` is what came of it. */
  written(facts: readonly DriverFact[], run: Run): void {
    if (this.#waiting.size === 0) return;
    // What has used more than the run's share waits until its parent has given more.
    const held: OwnFact[] = [];
    for (const fact of [...this.#held, ...facts]) {
      const waiting = this.#waiting.get(fact);
      if ((fact.type !== "progress" && fact.type !== "spend") || waiting === undefined) continue;
      if (fact.type === "spend" && waitsForMore(fact, run)) {
        held.push(fact);
        continue;
      }
      this.#waiting.delete(fact);
      const refusal = fact.type === "spend" ? exhausted(fact, run) : isHeard(fact, run) ? null : leaseLost();
      if (refusal === null) waiting.kept();
      else waiting.lost(refusal);
    }
    this.#held = held;
  }

  lose(): void {
    for (const { lost } of this.#waiting.values()) lost(leaseLost());
    this.#waiting.clear();
  }
}

function isHeard({ seq, send }: OwnFact, { rows }: Run): boolean {
  const call = rows[seq - 1]?.call;
  return call?.send === send && call.state !== "unknown";
}

/** Going back has no bounds; and what nobody waits for is answered. */
function waitsForMore(fact: Extract<OwnFact, { type: "spend" }>, run: Run): boolean {
  const { record } = run;
  const isOver = isOverShareOf(record, fact.uses) && passedBy(record, fact.uses) === null;
  return isOver && record.unwind === null && isHeard(fact, run);
}

function exhausted({ uses }: Extract<OwnFact, { type: "spend" }>, { record }: Run): RepriseError | null {
  const passed = passedBy(record, uses);
  if (passed === null) return null;
  const { name, budget } = passed;
  const { used, hard } = budget;
  const message = `${used} of ${name} is used, and on record; the limit is ${hard}. Use no more: nothing is granted before a person raises it`;
  return new RepriseError("BUDGET_EXHAUSTED", message, { details: { budget: name, used, hard } });
}

export function leaseLost(): RepriseError {
  return new RepriseError("LEASE_LOST", "nobody waits for this call any more: stop, and leave what is done as it is");
}
