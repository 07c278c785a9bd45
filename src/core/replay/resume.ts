/**
 * A request to resume a parked run that was made without looking at it, as a job put back by hand: which verb it amounts to, or
 * why it is refused. It is the plan "resume", and only where that is safe. Invariants: E1 it never says what happened outside,
 * and never turns a run round. E2 it is about one review; once that is over it asks for nothing.
 */

import type { VerbCommand } from "../run/index.ts";
import type { Judged } from "../telling/verdict.ts";
import { planOf, verbOf } from "./plan.ts";

/** `over`: the review was answered already. `refuse`: a person has to look; `reason` says why in plain words. */
export type Resume =
  | { readonly does: "act"; readonly verb: VerbCommand }
  | { readonly does: "refuse"; readonly reason: string }
  | { readonly does: "over" };

/** What a request to resume means for the run as it lies there; `reason` is what a retry is logged with. */
export function resumeOf(judged: Judged, review: number, reason: string): Resume {
  if (judged.record.review?.n !== review) return { does: "over" };
  const plan = planOf({ judged, wish: { mode: "resume" }, id: "resume", expiresAt: judged.now });
  const { request, verdict, problem, unsafe, calls } = plan;
  if (plan.safe && request?.type === "verb") return { does: "act", verb: verbOf(request, reason) };
  const meaning = verdict === "BLOCKED" ? "it cannot go on here" : "a person has to decide";
  const open = calls.filter(({ course }) => course === "human").map(({ step, reason: why }) => `${step}: ${why}`);
  return { does: "refuse", reason: `${meaning} (${verdict}): ${[problem ?? unsafe.join("; "), ...open].join("; ")}` };
}
