/**
 * When somebody is woken, and about what. Owns the thresholds; what to do is on the page that each alert names
 * (`docs/runbooks/ALERTS.md`). Invariant: an alert is about something that a person can act on now, or it is none.
 */
import { sloAlertRules } from "reprise";
import { sagas } from "../../sagas/index.ts";
import { admin, metrics as of, redis } from "./metrics.ts";

export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
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

const runbookOf = (alert: string): string => `docs/runbooks/ALERTS.md#${alert.toLowerCase()}`;

function rule({ name, severity, expr, since, summary, description }: Alert): Rule {
  const runbook = runbookOf(name);
  return {
    alert: name,
    expr,
    ...(since === undefined ? {} : { for: since }),
    labels: { severity },
    annotations: { summary, description, runbook },
  };
}

// What is read from Redis is the same whoever says so: the largest is taken, not the sum.
const shared = (metric: string): string => `max by (reprise_ns) (${metric})`;

/**
 * How much a counter of each process has grown: `increase` does not see the first value of a series, and one that is told at its first
 * scrape of what has happened before is new, whatever others have said.
 */
const grown = (counter: string, window: string): string =>
  `(${counter} unless ${counter} offset ${window}) or increase(${counter}[${window}])`;

/** How far a shared gauge is above its lowest. What nobody has said before is not nought: nothing is known to have grown. */
const risen = (metric: string, by: string, window: string): string =>
  `max by (${by}) (${metric}) - min by (${by}) (min_over_time(${metric}[${window}]))`;

const outcomes: readonly Alert[] = [
  {
    name: "RepriseUnknownOutcome",
    severity: "page",
    expr: `${shared(of.unknownAge)} > 300`,
    summary: "A run is parked for more than 5 minutes because an effect may or may not have happened",
    description:
      "Nobody has said for {{ $value | humanizeDuration }} what became of a call. It is not made again by itself.",
  },
  {
    name: "RepriseParkedRunsGrowing",
    severity: "ticket",
    expr: `${risen(of.parked, "reprise_ns", "30m")} > 5`,
    since: "5m",
    summary: "More and more runs are parked for a person",
    description: "{{ $value }} more runs than at the lowest of the last half hour wait for a person.",
  },
  {
    name: "RepriseUnwindHalted",
    severity: "ticket",
    expr: `sum by (reprise_ns, saga, step) (${grown(`${of.compensations}{state="halted"}`, "15m")}) > 0`,
    summary: "{{ $labels.saga }}: {{ $labels.step }} could not be undone",
    description: "A run stands in the middle of being undone, and a person is asked.",
  },
  {
    name: "RepriseApprovalOld",
    severity: "ticket",
    expr: `${shared(of.approvalAge)} > 86400`,
    summary: "People were asked more than a day ago, and nobody has decided",
    description: "The oldest open approval waits for {{ $value | humanizeDuration }}.",
  },
];

const notifications: readonly Alert[] = [
  {
    name: "RepriseNotificationsFailing",
    severity: "ticket",
    expr: `max by (reprise_ns, hook) (${of.noticesFailing}) > 0`,
    since: "10m",
    summary: "The hook {{ $labels.hook }} does not take what it is told",
    description: "The next notification of {{ $value }} runs is sent again and again; those behind it wait.",
  },
  {
    name: "RepriseNotificationsLost",
    severity: "page",
    expr: `${risen(of.noticesLost, "reprise_ns, hook", "15m")} > 0`,
    summary: "Notifications for the hook {{ $labels.hook }} are dropped",
    description: "More than 100,000 are owed to it in one shard: {{ $value }} were dropped in a quarter of an hour.",
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
    // A run that nobody serves is handed back again and again, at least every 30 s.
    expr: `sum by (reprise_ns, saga, version) (increase(${of.unserved}[5m])) > 0`,
    since: "5m",
    summary: "Workers are woken for runs of {{ $labels.saga }}@{{ $labels.version }}, which they do not serve",
    description: "Runs cannot go on before a worker that has this version is started.",
  },
  {
    name: "RepriseStructureUnserved",
    severity: "page",
    expr: `max by (reprise_ns, structure) (${admin.unservedStructures}) > 0`,
    since: "1m",
    summary: "No worker serves {{ $labels.structure }}, of which runs are open",
    description: "The supervisor sees open runs that no living worker can drive, whether or not one is woken for them.",
  },
  {
    name: "RepriseNotTakenOver",
    severity: "page",
    expr: `max by (reprise_ns) (${admin.recoveryWaiting}) > 10`,
    since: "30s",
    summary: "Nobody takes over from a dead worker",
    description: "Its runs wait for {{ $value | humanizeDuration }}, where two seconds are usual.",
  },
  {
    name: "RepriseWorkerWedged",
    severity: "page",
    expr: `max by (reprise_ns, instance) (${admin.canaryAge}) > 90`,
    since: "1m",
    summary: "{{ $labels.instance }} runs, and works nothing off",
    description: "A queue of it was not read for {{ $value | humanizeDuration }}, though Redis answers.",
  },
  {
    name: "RepriseBacklogOld",
    severity: "page",
    expr: `${shared(of.backlog)} > 60`,
    since: "5m",
    summary: "Runs that are due wait for more than a minute",
    description: "The oldest run that is due waits for {{ $value | humanizeDuration }}.",
  },
  {
    name: "RepriseRecoverySlow",
    severity: "ticket",
    expr: `histogram_quantile(0.99, sum by (reprise_ns, le) (${grown(`${of.recovery}_bucket`, "30m")})) > 30`,
    since: "5m",
    summary: "Runs of dead workers go on late",
    description:
      "99 % of the calls that were cut off were taken up within {{ $value | humanizeDuration }}; a lease is 10 s.",
  },
  {
    name: "RepriseEventLoopBlocked",
    severity: "ticket",
    expr: `max by (reprise_ns, instance) (${of.eventLoopLag}{quantile="1"}) > 0.5`,
    since: "5m",
    summary: "{{ $labels.instance }} stands still again and again",
    description: "Its event loop was held up for {{ $value | humanizeDuration }} at a time: leases are lost at 8 s.",
  },
];

const store: readonly Alert[] = [
  {
    name: "RepriseStoreDown",
    severity: "page",
    expr: `${shared(of.storeUp)} == 0`,
    since: "1m",
    summary: "No process gets an answer from Redis",
    description: "No call is begun. What was sent is let finish and recorded when Redis is back.",
  },
  {
    name: "RepriseStoreForgetful",
    severity: "page",
    expr: `${shared(of.storeForgetful)} == 1`,
    since: "1m",
    summary: "Redis may forget what it acknowledged",
    description: "appendonly or appendfsync was changed, or a worker was started although it is so.",
  },
  {
    name: "RepriseRedisMemory",
    severity: "ticket",
    expr: `max by (instance) (${redis.memoryUsed}) / max by (instance) (${redis.memoryMax} > 0) > 0.75`,
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
  { name: "reprise-notifications", rules: notifications.map(rule) },
  { name: "reprise-workers", rules: workers.map(rule) },
  { name: "reprise-store", rules: store.map(rule) },
];

/** Those of the objectives that sagas declare: of the examples here, of your own by the same function. */
export const sloGroups: readonly Group[] = sloAlertRules(sagas).groups.map(({ name, rules }) => ({
  name,
  rules: rules.map((each) => ({ ...each, annotations: { ...each.annotations, runbook: runbookOf(each.alert) } })),
}));
