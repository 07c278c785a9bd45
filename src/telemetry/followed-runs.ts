/**
 * What tracing remembers of the runs that are worked on here. Owns how it is found: by the id, and by the tenant among those who
 * share it, so that no name is put together for each of the looks that a call takes. Bounded: the oldest is forgotten first of those
 * that have no call under way; what is forgotten of them is found again, and of a call it is not.
 */
import type { RunRef, TracedCall } from "../core/index.ts";
import type { LateSpan } from "./late-spans.ts";
import type { KnownParents } from "./trace-parents.ts";

/** A call whose outcome is not committed yet. */
export interface OpenCall {
  readonly call: TracedCall;
  readonly span: LateSpan;
}

export interface Followed extends KnownParents {
  readonly tenant: string;
  open: readonly OpenCall[];
}

/** Ids under which something is remembered, at most: runs that wait stay until then. Many times what a worker drives at once. */
const maxIds = 5_000;

export class FollowedRuns {
  readonly #byId = new Map<string, readonly Followed[]>();
  readonly #onForgotten: (run: Followed) => void;

  constructor(onForgotten: (run: Followed) => void) {
    this.#onForgotten = onForgotten;
  }

  find({ id, tenant }: RunRef): Followed | undefined {
    const known = this.#byId.get(id);
    if (known === undefined) return undefined;
    for (const run of known) if (run.tenant === tenant) return run;
    return undefined;
  }

  of(ref: RunRef): Followed {
    return this.find(ref) ?? this.#begun(ref);
  }

  delete({ id, tenant }: RunRef): void {
    const left = this.#byId.get(id)?.filter((run) => run.tenant !== tenant) ?? [];
    if (left.length === 0) this.#byId.delete(id);
    else this.#byId.set(id, left);
  }

  #begun({ id, tenant }: RunRef): Followed {
    const run: Followed = { tenant, first: null, later: null, open: [] };
    this.#byId.set(id, [...(this.#byId.get(id) ?? []), run]);
    if (this.#byId.size > maxIds) this.#forgetOldest();
    return run;
  }

  #forgetOldest(): void {
    let left = this.#byId.size;
    for (const [id, oldest] of this.#byId) {
      this.#byId.delete(id);
      left -= 1;
      if (left === 0 || oldest.every(({ open }) => open.length === 0)) return oldest.forEach(this.#onForgotten);
      this.#byId.set(id, oldest);
    }
  }
}
