/** What `result()` rejects with when a run does not come to a result (design section 7, end). */
import { type Cause, type MissingValue, type Review, type Rollback, type RunRef, summaryOf } from "../core/index.ts";
import { RepriseError, runbookOf } from "../errors.ts";

/** The run failed; what it had done was undone as far as `rollback` says. */
export class RunFailed extends RepriseError {
  override readonly name: string = "RunFailed";
  readonly run: RunRef;
  /** Why, with the step and a reference to the ledger row. */
  readonly reason: Cause | null;
  readonly rollback: Rollback;

  constructor(run: RunRef, reason: Cause | null, rollback: Rollback) {
    const why =
      reason === null ? "failed" : `failed${reason.step === null ? "" : ` at ${reason.step}`}: ${reason.message}`;
    super("RUN_FAILED", `run ${run.id} ${why} (rollback: ${rollback})`, { details: { ...run, reason, rollback } });
    this.run = run;
    this.reason = reason;
    this.rollback = rollback;
  }
}

/** The run was cancelled; what it had done was undone as far as `rollback` says. */
export class RunCancelled extends RepriseError {
  override readonly name: string = "RunCancelled";
  readonly run: RunRef;
  readonly reason: Cause | null;
  readonly rollback: Rollback;

  constructor(run: RunRef, reason: Cause | null, rollback: Rollback) {
    const why = reason === null ? "" : `: ${reason.message}`;
    super("RUN_CANCELLED", `run ${run.id} was cancelled${why} (rollback: ${rollback})`, {
      details: { ...run, reason, rollback },
    });
    this.run = run;
    this.reason = reason;
    this.rollback = rollback;
  }
}

/** The run is parked for a person; it goes on after a verb. Wait through it with `{ through: "review" }`. */
export class RunNeedsReview extends RepriseError {
  override readonly name: string = "RunNeedsReview";
  readonly run: RunRef;
  readonly review: Review | null;

  constructor(run: RunRef, review: Review | null) {
    const why = review === null ? "" : ` (${review.reason}): ${review.message}. It takes: ${review.verbs.join(", ")}`;
    super("RUN_NEEDS_REVIEW", `run ${run.id} needs a review${why}`, { details: { ...run, review } });
    this.run = run;
    this.review = review;
  }

  /** The page of the reason for which it is parked. */
  override get runbook(): string {
    return this.review === null ? super.runbook : runbookOf(`REVIEW_${this.review.reason}`);
  }
}

/** The time to wait was over; the run goes on. */
export class ResultTimeout extends RepriseError {
  override readonly name: string = "ResultTimeout";
  readonly run: RunRef;

  constructor(run: RunRef, timeoutMs: number, status: string) {
    super("RESULT_TIMEOUT", `run ${run.id} is ${status} after ${timeoutMs} ms; it goes on, the waiting does not`, {
      details: { ...run, timeoutMs, status },
    });
    this.run = run;
  }
}

/** The run is there, and a value of it that was asked for is not: it lies outside the store and cannot be had. */
export function missing(run: RunRef, values: readonly MissingValue[]): RepriseError {
  return new RepriseError("ARTIFACT_MISSING", `run ${run.id}: ${summaryOf(values)}`, {
    details: { ...run, missing: values },
  });
}
