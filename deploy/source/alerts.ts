/**
 * When somebody is woken, and about what. Owns the thresholds; what to do is on the page that each alert names
 * (`docs/runbooks/ALERTS.md`). Invariant: an alert is about something that a person can act on now, or it is none.
 */
import { metrics as of } from "./metrics.ts";

export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: "page" | "ticket" };
  readonly annotations: Readonly<Record<"summary" | "description" | "runbook", string>>;
}

export interface Group {
  readonly name: string;
  readonly rules: readonly Rule[];
}

interface Alert {
  readonly name: string;
  /** `page`: now, at night too. `ticket`: today. */
  readonly severity: "page" | "ticket";
  readonly expr: string;
  /** How long it must be so; at once unless given. */
  readonly since?: string;
  readonly summary: string;
  readonly description: string;
}

function rule({ name, severity, expr, since, summary, description }: Alert): Rule {
  const runbook = `docs/runbooks/ALERTS.md#${name.toLowerCase()}`;
  return {
    alert: name,
    expr,
    ...(since === undefined ? {} : { for: since }),
    labels: { severity },
    annotations: { summary, description, runbook },
  };
}

// What is read from Redis is the same whoever says so: the largest is taken, not the sum.
const parked = (when = "") => `sum by (reprise_ns) (max by (reprise_ns, reason) (${of.parked}${when}))`;

const outcomes: readonly Alert[] = [
  {
    name: "RepriseUnknownOutcome",
    severity: "page",
    expr: `max by (reprise_ns) (${of.unknownAge}) > 300`,
    summary: "An effect may or may not have happened, for more than 5 minutes",
    description:
      "Nobody knows for {{ $value | humanizeDuration }} what became of a call. It is not made again by itself.",
  },
  {
    name: "RepriseParkedRunsGrowing",
    severity: "ticket",
    // Where none was parked half an hour ago there is no series, which is not the same as nought.
    expr: `${parked()} - (${parked(" offset 30m")} or ${parked()} * 0) > 5`,
    since: "5m",
    summary: "More and more runs are parked for a person",
    description: "{{ $value }} more runs than half an hour ago wait for a person.",
  },
  {
    name: "RepriseApprovalOld",
    severity: "ticket",
    expr: `max by (reprise_ns) (${of.approvalAge}) > 86400`,
    summary: "People were asked more than a day ago, and nobody has decided",
    description: "The oldest open approval waits for {{ $value | humanizeDuration }}.",
  },
];

const workers: readonly Alert[] = [
  {
    name: "RepriseNoWorkers",
    severity: "page",
    expr: 'absent(up{job="reprise-worker"} == 1)',
    since: "2m",
    summary: "No worker can be reached",
    description: "Runs are kept and nothing is lost, but nothing goes on.",
  },
  {
    name: "RepriseVersionUnserved",
    severity: "page",
    expr: `max by (reprise_ns, saga, version) (${of.unserved}) > 0`,
    since: "2m",
    summary: "No worker serves {{ $labels.saga }}@{{ $labels.version }}",
    description: "{{ $value }} runs cannot go on before a worker that has this version is started.",
  },
  {
    name: "RepriseWorkerWedged",
    severity: "page",
    expr: `max by (reprise_ns, instance) (${of.canaryAge}) > 90`,
    since: "1m",
    summary: "{{ $labels.instance }} runs, and works nothing off",
    description: "Its own canary was not processed for {{ $value | humanizeDuration }} though Redis is ready.",
  },
  {
    name: "RepriseBacklogOld",
    severity: "page",
    expr: `max by (reprise_ns) (${of.backlog}) > 60`,
    since: "5m",
    summary: "Runs that are due wait for more than a minute",
    description: "The oldest run that is due waits for {{ $value | humanizeDuration }}.",
  },
  {
    name: "RepriseRecoverySlow",
    severity: "ticket",
    expr: `histogram_quantile(0.99, sum by (reprise_ns, le) (rate(${of.recovery}_bucket[30m]))) > 20`,
    since: "5m",
    summary: "Runs of dead workers go on after more than two leases",
    description: "99 % of takeovers took up to {{ $value | humanizeDuration }}; two leases are 20 s.",
  },
  {
    name: "RepriseEventLoopBlocked",
    severity: "ticket",
    expr: `max by (reprise_ns, instance) (${of.eventLoopLag}) > 1`,
    since: "5m",
    summary: "{{ $labels.instance }} stands still again and again",
    description: "Its event loop is late by {{ $value | humanizeDuration }}: leases are lost at 8 s.",
  },
];

const store: readonly Alert[] = [
  {
    name: "RepriseStoreForgetful",
    severity: "page",
    expr: `max by (reprise_ns) (${of.storeForgetful}) == 1`,
    since: "1m",
    summary: "Redis may forget what it acknowledged",
    description: "appendonly or appendfsync was changed, or a worker was started although it is so.",
  },
  {
    name: "RepriseRedisMemory",
    severity: "ticket",
    expr: `max by (reprise_ns) (${of.memoryUsed}) / max by (reprise_ns) (${of.memoryMax} > 0) > 0.75`,
    since: "10m",
    summary: "Redis has used three quarters of its memory",
    description: "{{ $value | humanizePercentage }} is used. At 100 % nothing can be written, so nothing goes on.",
  },
  {
    name: "RepriseSupervisorAbsent",
    severity: "ticket",
    expr: 'absent(up{job="reprise-supervisor"} == 1)',
    since: "5m",
    summary: "Nobody watches the workers",
    description: "The supervisor cannot be reached. Alerts by webhook are not sent meanwhile.",
  },
];

/** All rules, as Prometheus takes them. */
export const groups: readonly Group[] = [
  { name: "reprise-outcomes", rules: outcomes.map(rule) },
  { name: "reprise-workers", rules: workers.map(rule) },
  { name: "reprise-store", rules: store.map(rule) },
];
