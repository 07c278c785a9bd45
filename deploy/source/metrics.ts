import type { AdminMetricName } from "../../src/admin/index.ts";
import type { MetricName } from "../../src/telemetry/catalogue.ts";

/** The metrics that alerts, dashboard and scaling look at: names of `docs/metrics.md`, each said once. */
export const metrics = {
  runsEnded: "reprise_runs_ended_total",
  calls: "reprise_calls_total",
  duplicates: "reprise_duplicates_prevented_total",
  unknown: "reprise_unknown_outcomes_total",
  unknownAge: "reprise_unknown_outcome_age_seconds",
  parked: "reprise_runs_parked",
  reviews: "reprise_reviews_total",
  approvals: "reprise_approvals_waiting",
  approvalAge: "reprise_approval_age_seconds",
  compensations: "reprise_compensations_total",
  recovery: "reprise_recovery_seconds",
  resumptions: "reprise_resumptions_total",
  takeovers: "reprise_takeovers_total",
  commit: "reprise_commit_seconds",
  unserved: "reprise_unserved_total",
  noticesFailing: "reprise_notifications_failing",
  noticesLost: "reprise_notifications_lost",
  due: "reprise_ticks_due",
  backlog: "reprise_backlog_seconds",
  slotsBusy: "reprise_slots_busy",
  slots: "reprise_slots",
  eventLoopLag: "reprise_event_loop_lag_seconds",
  storeUp: "reprise_store_up",
  storeForgetful: "reprise_store_forgetful",
} as const satisfies Readonly<Record<string, MetricName>>;

/** What the admin ports of workers and of the supervisor say beside them (`src/admin`). */
export const admin = {
  canaryAge: "reprise_canary_age_seconds",
  unservedStructures: "reprise_unserved_structures",
  recoveryWaiting: "reprise_recovery_waiting_seconds",
} as const satisfies Readonly<Record<string, AdminMetricName>>;

/** What redis_exporter says of Redis itself. */
export const redis = { memoryUsed: "redis_memory_used_bytes", memoryMax: "redis_memory_max_bytes" } as const;
