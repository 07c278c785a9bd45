/**
 * A request to resume a parked run that was made without looking at it, as a job put back by hand: which verb it amounts to, or
 * why it is refused. Invariants: E1 it never says what happened outside, and never turns a run round: it probes or tries
 * again, and only where the verdict is safe and the review allows it. E2 it is about one review; once that is over it asks
 * for nothing.
 */
import type { Review, VerbCommand } from "./run.ts";
import { type Judged, type RunVerdict, type Verdict, verdictOf } from "./verdict.ts";

/** `over`: the review was answered already. `refuse`: a person has to look; `reason` says why in plain words. */
export type Resume =
  | { readonly does: "act"; readonly verb: Extract<VerbCommand, { readonly verb: "retry" | "probe" }> }
  | { readonly does: "refuse"; readonly reason: string }
  | { readonly does: "over" };

/** What a request to resume means for the run as it lies there; `reason` is what a retry is logged with. */
export function resumeOf(judged: Judged, review: number, reason: string): Resume {
  const open = judged.record.review;
  if (open?.n !== review) return { does: "over" };
  const { verdict, reasons } = verdictOn(judged, open);
  const verb = verbFor(verdict, reason);
  if (verb === null) return { does: "refuse", reason: `${meaning(verdict)} (${verdict}): ${reasons.join("; ")}` };
  if (open.verbs.includes(verb.verb)) return { does: "act", verb };
  return {
    does: "refuse",
    reason: `${verb.verb} is no answer to this review (${open.reason}), but ${open.verbs.join(", ")}`,
  };
}

/** That it was tried as often as its policy allows is a question to which "try again" is an answer: then the calls count. */
function verdictOn(judged: Judged, { reason }: Review): RunVerdict {
  return verdictOf(reason === "exhausted" ? { ...judged, record: { ...judged.record, review: null } } : judged);
}

function verbFor(verdict: Verdict, reason: string): Extract<Resume, { does: "act" }>["verb"] | null {
  switch (verdict) {
    case "RESUME_SAFE":
    case "RETRY_SAFE":
      return { verb: "retry", input: undefined, reason };
    case "PROBE_FIRST":
      return { verb: "probe" };
    case "HUMAN_REQUIRED":
    case "BLOCKED":
      return null;
  }
}

function meaning(verdict: Verdict): string {
  return verdict === "BLOCKED" ? "it cannot go on here" : "a person has to decide";
}
