/**
 * Committed facts as numbers, in a registry of its own. Owns what is counted when; `catalogue.ts` owns what there is.
 * Invariants: M1 nothing is counted that was not committed, but for calls and troubles, which are the engine's own. M2 a
 * label takes at most `maxValues` values, the rest are `other`. M3 counting is adding to a number: labels are looked at when
 * they are new, and prom-client is told when somebody looks (it hashes and checks all labels at each count).
 */
import { createRequire } from "node:module";
import type { Counter, Gauge, Metric, Registry } from "prom-client";
import {
  type CommittedFact,
  type Fact,
  type Facts,
  isGood,
  type Row,
  type RunRecord,
  sloEvents,
} from "../core/index.ts";
import type { Saga, SloSpec } from "../saga/index.ts";
import { catalogue, type MetricName, type MetricSpec } from "./catalogue.ts";
import { callUnderWay, type Move, movesOf } from "./moves.ts";
import { type Timing, Timings } from "./timings.ts";

/** What is counted. */
export interface MetricsOptions {
  /** Tenants that are told apart in `reprise_tenant_runs_started_total`, at most: none unless given. */
  readonly tenants?: number;
  /** Put on every metric; `reprise_ns` is the namespace unless given. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Values that a label takes, at most. */
const maxValues = 500;
/** Series of a metric that are found without looking at their labels, at most; then it begins anew. */
const maxSeries = 5_000;
const buckets = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400,
];

type Labels = Readonly<Record<string, string | number>>;

/** One series: its labels as they are told, and what was counted since somebody looked. */
interface Series {
  readonly labels: Record<string, string>;
  /** Of a gauge: where it stands. */
  pending: number;
  /** Of a histogram: where its observations go. */
  readonly timing: Timing | null;
}

/** Series by the values of their labels, one after the other: no text is put together to find one. */
interface Branch {
  readonly below: Map<string | number, Branch>;
  series: Series | null;
}

interface Counted extends Branch {
  readonly all: Series[];
}

interface NewSeries {
  readonly name: MetricName;
  readonly labels: Labels;
  readonly counted: Counted;
  readonly branch: Branch;
}

// Loaded when metrics are made: whoever makes none does not wait for it.
const load = createRequire(import.meta.url);

export class Metrics {
  readonly registry: Registry;
  readonly #counters = new Map<MetricName, Counter>();
  readonly #gauges = new Map<MetricName, Gauge>();
  readonly #histograms = new Map<MetricName, Timings>();
  readonly #counted = new Map<MetricName, Counted>();
  readonly #seen = new Map<string, Set<string>>();
  readonly #slos = new Map<string, SloSpec>();
  readonly #tenants: number;
  readonly #labels: Readonly<Record<string, string>>;

  constructor({ tenants = 0, labels = {} }: MetricsOptions) {
    // What `require` gives is typed by the package.
    const prom = load("prom-client") as typeof import("prom-client");
    this.registry = new prom.Registry();
    // Its type knows the other format only.
    this.registry.setContentType(prom.Registry.OPENMETRICS_CONTENT_TYPE as Parameters<Registry["setContentType"]>[0]);
    this.#labels = labels;
    this.#tenants = tenants;
    const registers = [this.registry];
    for (const [name, spec] of Object.entries<MetricSpec>(catalogue) as [MetricName, MetricSpec][]) {
      const of = { name, help: spec.help, labelNames: [...spec.labels], registers };
      if (spec.type === "counter") {
        this.#counters.set(name, new prom.Counter({ ...of, collect: () => this.#tell(name) }));
      }
      if (spec.type === "gauge") {
        this.#gauges.set(name, new prom.Gauge({ ...of, collect: () => this.#show(name) }));
      }
      if (spec.type === "histogram") this.#histograms.set(name, this.#registered(new Timings(name, spec, buckets)));
    }
  }

  #registered(timings: Timings): Timings {
    // It is what a registry calls of a metric; the type knows the package's own four only.
    this.registry.registerMetric(timings as unknown as Metric);
    return timings;
  }

  count(name: MetricName, labels: Labels = {}, by = 1): void {
    if (by > 0) this.#seriesOf(name, labels).pending += by;
  }

  observe(name: MetricName, labels: Labels, ms: number): void {
    const { timing } = this.#seriesOf(name, labels);
    if (timing !== null) this.#histograms.get(name)?.add(timing, Math.max(0, ms) / 1_000);
  }

  set(name: MetricName, labels: Labels, value: number): void {
    this.#seriesOf(name, labels).pending = value;
  }

  #tell(name: MetricName): void {
    const counter = this.#counters.get(name);
    for (const series of this.#counted.get(name)?.all ?? []) {
      if (series.pending === 0) continue;
      counter?.inc(series.labels, series.pending);
      series.pending = 0;
    }
  }

  #show(name: MetricName): void {
    const gauge = this.#gauges.get(name);
    for (const { labels, pending } of this.#counted.get(name)?.all ?? []) gauge?.set(labels, pending);
  }

  /** They say nothing until they are set again. */
  forget(names: readonly MetricName[]): void {
    for (const name of names) {
      this.#counted.delete(name);
      const gauge = this.#gauges.get(name);
      gauge?.reset();
      // One without labels is nought then, which says something.
      if (catalogue[name].labels.length === 0) gauge?.remove();
    }
  }

  /** Where it counts, and the objectives whose events are counted from now on. A process counts in one namespace. */
  know(namespace: string, sagas: readonly Saga[]): void {
    this.registry.setDefaultLabels({ reprise_ns: namespace, ...this.#labels });
    for (const { name, spec } of [...sagas].sort((a, b) => a.version - b.version)) {
      if (spec.slo === null) continue;
      this.#slos.set(name, spec.slo);
      for (const { name: objective, target } of spec.slo.objectives) {
        this.set("reprise_slo_target", { saga: name, objective }, target);
        // Rates are taken of it, and what begins with its first event has not grown by that.
        for (const verdict of ["good", "bad"]) {
          this.#counters.get("reprise_slo_events_total")?.inc({ saga: name, objective, verdict }, 0);
        }
      }
    }
  }

  get facts(): Facts {
    return { emit: (fact) => this.#take(fact) };
  }

  #seriesOf(name: MetricName, labels: Labels): Series {
    const counted = this.#counted.get(name) ?? this.#beginning(name);
    let branch: Branch = counted;
    // Every name is counted with its labels in one order.
    for (const label in labels) branch = branchOf(branch, labels[label] ?? "");
    return branch.series ?? this.#begun({ name, labels, counted, branch });
  }

  #begun({ name, labels, counted, branch }: NewSeries): Series {
    if (counted.all.length >= maxSeries) {
      if (catalogue[name].type === "gauge") this.#show(name);
      else this.#tell(name);
      this.#counted.delete(name);
      return this.#seriesOf(name, labels);
    }
    const bounded = this.#bounded(labels);
    branch.series = { labels: bounded, pending: 0, timing: this.#histograms.get(name)?.under(bounded) ?? null };
    counted.all.push(branch.series);
    return branch.series;
  }

  #beginning(name: MetricName): Counted {
    const counted: Counted = { below: new Map(), series: null, all: [] };
    this.#counted.set(name, counted);
    return counted;
  }

  #bounded(labels: Labels): Record<string, string> {
    const told: Record<string, string> = {};
    for (const [name, value] of Object.entries(labels)) told[name] = this.#valueOf(name, String(value));
    return told;
  }

  #valueOf(label: string, value: string): string {
    const seen = this.#seen.get(label) ?? new Set();
    this.#seen.set(label, seen);
    if (seen.has(value)) return value;
    if (seen.size >= (label === "tenant" ? this.#tenants : maxValues)) return "other";
    seen.add(value);
    return value;
  }

  #take(fact: Fact): void {
    switch (fact.fact) {
      case "committed":
        return this.#committed(fact);
      case "created":
        return this.#created(fact.record);
      case "existed":
        return this.count("reprise_duplicates_prevented_total", { saga: fact.saga, how: "start" });
      case "acquired":
        if (fact.takenFrom === null) return;
        return this.count("reprise_takeovers_total", { saga: fact.record.saga, died: String(fact.takenFrom.died) });
      case "call": {
        const { saga, step, side, effect, result, ms } = fact;
        this.count("reprise_calls_total", { saga, step, side, effect, result });
        return this.observe("reprise_call_seconds", { saga, step, side }, ms);
      }
      case "fenced":
      case "stale":
      case "lease_lost":
        return this.count("reprise_lost_runs_total", { how: fact.fact });
      case "unserved":
        return this.count("reprise_unserved_total", { saga: fact.saga, version: fact.version });
      case "recovered":
        this.count("reprise_workers_recovered_total");
        return this.count("reprise_leases_recovered_total", {}, fact.runs);
      case "purged":
        return this.count("reprise_runs_purged_total", {}, fact.runs);
      case "notified":
        this.count("reprise_notifications_total", { hook: fact.hook, fate: fact.fate });
        return this.observe("reprise_notification_seconds", { hook: fact.hook }, fact.ms);
      case "trouble":
        // Shards and the like are no names of their own.
        return this.count("reprise_troubles_total", { where: fact.where.replace(/\d+/g, "n") });
      case "budget":
      case "structure_replaced":
      case "schemas_changed":
      case "saga_paused":
      case "saga_resumed":
        return;
    }
  }

  #created({ saga, version, tenant, replayOf }: RunRecord): void {
    this.count("reprise_runs_started_total", { saga, version });
    if (this.#tenants > 0) this.count("reprise_tenant_runs_started_total", { tenant });
    if (replayOf !== null) this.count("reprise_replays_total", { saga, mode: replayOf.mode });
  }

  #committed(fact: CommittedFact): void {
    const { record, rows, entry, before, ms } = fact;
    const { saga } = record;
    this.observe("reprise_commit_seconds", {}, ms);
    if (entry.from !== null && entry.from !== entry.to) {
      this.count("reprise_transitions_total", { saga, from: entry.from, to: entry.to });
    }
    for (const move of movesOf(fact)) this.#moved(fact, move);
    const slo = this.#slos.get(saga);
    if (slo === undefined) return;
    const budget = slo.objectives.find(({ name }) => name === "cost")?.budget ?? null;
    for (const event of sloEvents({ before, record, rows, entry }, budget)) {
      const objective = slo.objectives.find(({ name }) => name === event.name);
      if (objective === undefined) continue;
      const verdict = isGood(objective, event) ? "good" : "bad";
      this.count("reprise_slo_events_total", { saga, objective: event.name, verdict });
    }
  }

  #moved(fact: CommittedFact, move: Move): void {
    const { record, entry, before } = fact;
    const { saga } = record;
    switch (move.is) {
      case "outcome":
        return this.#outcome(fact, move);
      case "interrupted":
        return this.#interrupted(fact, move.row);
      case "probed":
        if (move.answer === "happened") this.count("reprise_duplicates_prevented_total", { saga, how: "probe" });
        return;
      case "reused":
      case "absorbed":
        return this.count("reprise_duplicates_prevented_total", {
          saga,
          how: move.is === "reused" ? "intent" : "tool",
        });
      case "undo":
        if (move.state === "sent" || move.state === "owed") return;
        return this.count("reprise_compensations_total", { saga, step: move.row.step, state: move.state });
      case "asked":
        return this.count("reprise_approvals_total", { saga, step: move.row.step, state: "asked" });
      case "approval":
        return this.#approval(fact, move);
      case "verb":
        this.count("reprise_interventions_total", { saga, verb: move.verb });
        if (move.plan) this.count("reprise_replays_total", { saga, mode: "resume" });
        return;
      case "control":
        return this.count("reprise_interventions_total", { saga, verb: move.control });
      case "budget": {
        const used = move.used - (before.record.budgets[move.name]?.used ?? 0);
        this.count("reprise_budget_used_total", { saga, budget: move.name }, used);
        if (move.passed === null) return;
        return this.count("reprise_budget_limits_total", { saga, budget: move.name, passed: move.passed });
      }
      case "migrated":
        return;
      case "parked":
        return this.count("reprise_reviews_total", { saga, reason: move.review.reason });
      case "unparked": {
        const { reason, since } = move.review;
        return this.observe("reprise_review_seconds", { saga, reason }, entry.at - since);
      }
      case "unwinding":
        return this.count("reprise_unwinds_total", { saga, cause: move.cause });
      case "ended": {
        const { version, status, rollback, createdAt } = record;
        this.count("reprise_runs_ended_total", { saga, version, status, rollback });
        return this.observe("reprise_run_seconds", { saga, status }, (record.endedAt ?? createdAt) - createdAt);
      }
    }
  }

  #interrupted({ record, rows, entry, before }: CommittedFact, { step, seq }: Row): void {
    const { saga } = record;
    const sentAt = callUnderWay(before.rows[seq - 1])?.sentAt ?? null;
    this.count("reprise_interruptions_total", { saga, step });
    this.count("reprise_resumptions_total", { saga, step });
    const kept = rows.filter(({ call }) => call.state === "succeeded" || call.state === "reused").length;
    this.count("reprise_resumption_steps_kept_total", { saga }, kept);
    if (sentAt !== null) this.observe("reprise_recovery_seconds", { saga }, entry.at - sentAt);
  }

  #approval({ record, entry, before }: CommittedFact, { row, state }: Extract<Move, { is: "approval" }>): void {
    const { saga } = record;
    const { step, approval, seq } = row;
    this.count("reprise_approvals_total", { saga, step, state });
    if (approval === null || approval.state === "asking" || approval.state === "not_needed") return;
    const wasAsking = before.rows[seq - 1]?.approval?.state === "asking";
    if (wasAsking) this.observe("reprise_approval_seconds", { saga, step }, entry.at - approval.since);
  }

  #outcome(
    { record: { saga }, entry, before }: CommittedFact,
    { row, outcome, proof }: Extract<Move, { is: "outcome" }>,
  ): void {
    const { step, seq } = row;
    const call = callUnderWay(before.rows[seq - 1]);
    this.count("reprise_outcomes_total", { saga, step, outcome, proof });
    if (outcome === "unknown") return this.count("reprise_unknown_outcomes_total", { saga, step });
    if (call?.state === "unknown" && call.sentAt !== null) {
      this.observe("reprise_unknown_resolved_seconds", { saga }, entry.at - call.sentAt);
    }
    if (outcome === "succeeded" && call?.error?.kind === "interrupted") {
      this.count("reprise_resumptions_succeeded_total", { saga, step });
    }
  }
}

function branchOf({ below }: Branch, value: string | number): Branch {
  const known = below.get(value);
  if (known !== undefined) return known;
  const branch: Branch = { below: new Map(), series: null };
  below.set(value, branch);
  return branch;
}
