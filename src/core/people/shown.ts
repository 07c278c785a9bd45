/**
 * Requests that were decided on what somebody was shown: they name the revision, and perhaps the plan that they execute.
 * Owns that they count for that revision alone, and that a run keeps how often it was replayed.
 */
import type { Draft } from "../draft.ts";

/** Was it decided on what the run is no more? `null`: no, or nobody said what was shown. */
export function objectionToMoved({ before }: Draft, { revision }: { readonly revision?: number }): string | null {
  const at = before.record.revision;
  return revision === undefined || revision === at
    ? null
    : `it was decided on revision ${revision}, and it is at ${at}`;
}

/** How the log names the plan that a request executes. */
export function ofPlan(plan: string | undefined): { readonly plan?: string } {
  return plan === undefined ? {} : { plan };
}

/** What a plan has done counts against the cap of its run. */
export function countReplay({ record }: Draft, plan: string | undefined): void {
  if (plan !== undefined) record.replays += 1;
}
