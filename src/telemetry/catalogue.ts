/**
 * Every metric: what it is called, what it is split by, what it means, and what to be woken for. `docs/metrics.md` is made of
 * it. Invariant: no label has more values than code declares; none is ever a run.
 */

export interface MetricSpec {
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  /** `null`: a count. */
  readonly unit: "seconds" | null;
  readonly help: string;
  /** What to be woken for; `null`: it is to be looked at. */
  readonly alert: string | null;
}

const counter = (labels: readonly string[], help: string, alert: string | null = null): MetricSpec => ({
  ...{ type: "counter", labels, unit: null, help, alert },
});
const seconds = (labels: readonly string[], help: string, alert: string | null = null): MetricSpec => ({
  ...{ type: "histogram", labels, unit: "seconds", help, alert },
});
const gauge = (labels: readonly string[], help: string, alert: string | null = null): MetricSpec => ({
  ...{ type: "gauge", labels, unit: help.startsWith("Seconds") ? "seconds" : null, help, alert },
});

export const catalogue = {
  reprise_runs_started_total: counter(["saga", "version"], "Runs that were created."),
  reprise_tenant_runs_started_total: counter(
    ["tenant"],
    "The same by tenant; only where `metrics.tenants` allows some, the others are `other`.",
  ),
  reprise_runs_ended_total: counter(
    ["saga", "version", "status", "rollback"],
    "Runs that ended, by how, and by what became of their effects.",
    "rollback partial or halted: effects are left outside",
  ),
  reprise_run_seconds: seconds(["saga", "status"], "From the creation of a run to its end, waits included."),
  reprise_runs_purged_total: counter([], "Ended runs that were deleted because their time to be kept was over."),
  reprise_transitions_total: counter(["saga", "from", "to"], "Changes of a run's status."),
  reprise_commit_seconds: seconds(
    [],
    "From sending a commit to its answer; its count is the commits.",
    "p99 above 0.5 s: Redis is slow",
  ),
  reprise_calls_total: counter(
    ["saga", "step", "side", "effect", "result"],
    "Calls of user code that came to an end, by effect class.",
  ),
  reprise_call_seconds: seconds(["saga", "step", "side"], "How long calls of user code took."),
  reprise_outcomes_total: counter(
    ["saga", "step", "outcome", "proof"],
    "Outcomes of actions that were committed, and by what they are known.",
  ),
  reprise_unknown_outcomes_total: counter(
    ["saga", "step"],
    "Outcomes that were unknown at first.",
    "it grows fast: the other side does not answer",
  ),
  reprise_unknown_resolved_seconds: seconds(
    ["saga"],
    "From the sending of a call whose outcome was unknown until it was known.",
  ),
  reprise_duplicates_prevented_total: counter(
    ["saga", "how"],
    "What would have been done twice: a start that found its run, an outcome of another run that was reused, a tool call that was asked for again, an effect that a probe found.",
  ),
  reprise_interruptions_total: counter(["saga", "step"], "Calls that a crash or a stop has cut off."),
  reprise_takeovers_total: counter(
    ["saga", "died"],
    "Runs that were taken from a worker that had not given them back.",
  ),
  reprise_workers_recovered_total: counter(
    [],
    "Workers that were found dead, each counted where its leases were ended.",
  ),
  reprise_leases_recovered_total: counter([], "Leases of dead workers that were ended."),
  reprise_recovery_seconds: seconds(
    ["saga"],
    "From the sending of a call that was cut off until another worker has gone on.",
    "p99 above 30 s",
  ),
  reprise_resumptions_total: counter(["saga", "step"], "Runs that went on at a step where a crash had cut it off."),
  reprise_resumptions_succeeded_total: counter(["saga", "step"], "Those of them whose step succeeded then."),
  reprise_resumption_steps_kept_total: counter(["saga"], "Steps that had succeeded before and were not made again."),
  reprise_reviews_total: counter(
    ["saga", "reason"],
    "Runs that were parked for a person.",
    "it grows: dead letters pile up",
  ),
  reprise_review_seconds: seconds(["saga", "reason"], "How long runs were parked."),
  reprise_interventions_total: counter(["saga", "verb"], "Verbs that people used on parked runs, and controls."),
  reprise_approvals_total: counter(["saga", "step", "state"], "Approvals that were asked for and what came of them."),
  reprise_approval_seconds: seconds(["saga", "step"], "From asking people until it was decided."),
  reprise_compensations_total: counter(
    ["saga", "step", "state"],
    "What unwinds made of effects: done, not needed, kept, skipped, accepted, halted.",
    "state halted: an effect could not be undone",
  ),
  reprise_unwinds_total: counter(["saga", "cause"], "Unwinds that began."),
  reprise_replays_total: counter(["saga", "mode"], "Runs that replay another one, and verbs that executed a plan."),
  reprise_budget_used_total: counter(
    ["saga", "budget"],
    "What runs have used of their budgets, in the budget's own unit.",
  ),
  reprise_budget_limits_total: counter(["saga", "budget", "passed"], "Budgets that came to a limit."),
  reprise_slo_events_total: counter(
    ["saga", "objective", "verdict"],
    "Events that an objective of the saga counts, good or bad.",
    "the generated rules: burn rates over two windows",
  ),
  reprise_slo_target: gauge(["saga", "objective"], "The share of events that are to be good, as the saga declares it."),
  reprise_lost_runs_total: counter(["how"], "Runs that a worker had to drop: fenced, stale, lease lost."),
  reprise_unserved_total: counter(
    ["saga", "version"],
    "Runs that came to a worker that does not serve them.",
    "it grows: no worker serves that version",
  ),
  reprise_troubles_total: counter(
    ["where"],
    "What went wrong in the engine itself and was dealt with.",
    "it grows for minutes",
  ),
  reprise_notifications_total: counter(
    ["hook", "fate"],
    "Notifications that were sent: taken, refused, failed (not taken), away (nobody is there).",
  ),
  reprise_notification_seconds: seconds(["hook"], "How long a hook took to answer."),
  reprise_notifications_owed: gauge(["hook"], "Notifications that a hook has not taken yet."),
  reprise_notification_age_seconds: gauge(
    ["hook"],
    "Seconds that the oldest of them waits.",
    "above 300 s: the receiver takes nothing",
  ),
  reprise_notifications_failing: gauge(
    ["hook"],
    "Runs whose next notification was tried and not taken: it is sent again, and those behind it wait.",
    "above 0 for ten minutes: see what was answered in reprise notifications list",
  ),
  reprise_notifications_lost: gauge(
    ["hook"],
    "Notifications that were dropped because more than 100,000 were owed in one shard.",
    "it grows",
  ),
  reprise_nudges_total: counter(["kind"], "Jobs that were put into BullMQ."),
  reprise_nudges_taken_total: counter(["kind"], "Jobs that were taken from BullMQ."),
  reprise_ticks_due: gauge([], "Runs that want a worker now.", "scale by it"),
  reprise_backlog_seconds: gauge(
    [],
    "Seconds that the longest of them waits, where nobody was handed it yet.",
    "above 60 s",
  ),
  reprise_runs_open: gauge(["saga", "version"], "Runs that have not ended."),
  reprise_runs_parked: gauge([], "Runs that are parked for a person.", "it grows"),
  reprise_unknown_outcome_age_seconds: gauge(
    [],
    "Seconds that the oldest run is parked whose outcome nobody knows (of the 1,000 newest that are parked).",
    "above 300 s",
  ),
  reprise_approvals_waiting: gauge([], "Runs that ask people."),
  reprise_approval_age_seconds: gauge(
    [],
    "Seconds that the oldest question waits (of the 1,000 newest runs that ask).",
    "longer than people are to take",
  ),
  reprise_store_up: gauge([], "1 where the store answered within a second, 0 where it did not.", "0"),
  reprise_store_forgetful: gauge([], "1 where Redis may forget what it acknowledged.", "1 in production"),
  reprise_slots_busy: gauge(["kind"], "Runs that are driven and routed calls that are made in this process now."),
  reprise_slots: gauge(["kind"], "How many of them it takes at once."),
  reprise_event_loop_lag_seconds: gauge(
    ["quantile"],
    "Seconds that the event loop was late since the last look; quantile 1 is the worst.",
    "the worst above 0.5 s, for minutes",
  ),
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof catalogue;

/** The table of `docs/metrics.md`. */
export function catalogueTable(): string {
  const rows = Object.entries<MetricSpec>(catalogue).map(([name, { type, labels, unit, help, alert }]) => {
    const split = labels.length === 0 ? "" : labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${split} | ${unit ?? ""} | ${help} | ${alert ?? ""} |`;
  });
  return ["| name | type | labels | unit | meaning | alert on |", "|---|---|---|---|---|---|", ...rows].join("\n");
}
