/**
 * Prometheus rules made of the objectives that sagas declare: burn rates over two windows each, as in the Google SRE
 * workbook, chapter 5 ("Multiwindow, Multi-Burn-Rate Alerts"). Deterministic; JSON, which is YAML too.
 */
import type { Saga, SloName } from "../saga/index.ts";

/** A rule file, as Prometheus reads it. */
export interface AlertRules {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly AlertRule[];
  }[];
}

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A part of the error budget of 30 days that is used up within the long window; the short one says that it goes on. */
const burns = [
  { long: "1h", short: "5m", factor: 14.4, severity: "page", for: "2m" },
  { long: "6h", short: "30m", factor: 6, severity: "page", for: "15m" },
  { long: "3d", short: "6h", factor: 1, severity: "ticket", for: "1h" },
] as const;

const meaning: Readonly<Record<SloName, string>> = {
  completion: "runs complete without a person",
  intervention: "runs are parked for a person",
  duplicates: "runs would have done something twice",
  latency: "runs take too long",
  cost: "runs use too much",
  recovery: "runs go on too late after a crash",
  unknownAge: "outcomes stay unknown too long",
  unwind: "unwinds leave effects behind",
  resumption: "calls that a crash has cut off do not come to a good end",
};

/** The rules for the newest version of each saga that promises something; `JSON.stringify` it into a rule file. */
export function sloAlertRules(sagas: readonly Saga[]): AlertRules {
  const newest = new Map<string, Saga>();
  for (const saga of [...sagas].sort((a, b) => a.version - b.version)) newest.set(saga.name, saga);
  const groups = [...newest.values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ name, spec }) => {
      const rules = (spec.slo?.objectives ?? []).flatMap((objective) =>
        rulesOf(name, objective.name, objective.target),
      );
      return rules.length === 0 ? [] : [{ name: `reprise-slo-${name}`, rules }];
    });
  return { groups };
}

function rulesOf(saga: string, objective: SloName, target: number): readonly AlertRule[] {
  return burns.map(({ long, short, factor, severity, for: wait }) => {
    // A share of bad events is at most 1: a budget so large cannot burn so fast.
    const limit = Math.min(Number(((1 - target) * factor).toFixed(9)), 0.999);
    return {
      alert: "RepriseSloBurn",
      expr: `${badShare(saga, objective, long)} > ${limit} and ${badShare(saga, objective, short)} > ${limit}`,
      for: wait,
      labels: { severity, saga, objective, window: long },
      annotations: {
        summary: `${saga}: ${meaning[objective]}`,
        description: `More than ${limit} of the events of ${objective} were bad over ${long} (target ${target}). Look at: reprise slo --saga ${saga}`,
      },
    };
  });
}

function badShare(saga: string, objective: SloName, window: string): string {
  const of = (verdict: string) =>
    `sum by (reprise_ns) (rate(reprise_slo_events_total{saga="${saga}",objective="${objective}"${verdict}}[${window}]))`;
  return `${of(',verdict="bad"')} / ${of("")}`;
}
