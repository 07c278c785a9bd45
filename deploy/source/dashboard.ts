/**
 * Grafana's dashboard: five rows, from what customers feel to what Redis has left. Owns which panels there are; ids and places
 * follow from their order, so the same source gives the same file.
 */
import { metrics as of, redis } from "./metrics.ts";

type Unit = "short" | "s" | "ops" | "bytes" | "percentunit";

interface Query {
  readonly legend: string;
  readonly expr: string;
}

interface Panel {
  readonly title: string;
  readonly about: string;
  readonly unit: Unit;
  readonly queries: readonly Query[];
  /** One figure that should be nought: red from here on. */
  readonly redFrom?: number;
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const ns = 'reprise_ns=~"$reprise_ns"';
/** Read from Redis by everybody alike: one of them is enough. */
const shared = (metric: string, by?: string): string =>
  `max${by === undefined ? "" : ` by (${by})`} (${metric}{${ns}})`;
const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}{${ns}}[$__rate_interval]))`;
const quantile = (q: number, metric: string): string =>
  `histogram_quantile(${q}, sum by (le) (rate(${metric}_bucket{${ns}}[$__rate_interval])))`;

const rows: readonly Row[] = [
  {
    title: "Runs",
    panels: [
      {
        title: "Parked for a person",
        about: "reprise dlq list",
        unit: "short",
        redFrom: 1,
        queries: [{ legend: "parked", expr: shared(of.parked) }],
      },
      {
        title: "Ended, by status",
        about: "What runs have come to.",
        unit: "ops",
        queries: [{ legend: "{{saga}} {{status}}", expr: rate(of.runsEnded, "saga, status") }],
      },
      {
        title: "Parked, by reason",
        about: "Each reason has a page in docs/runbooks.",
        unit: "ops",
        queries: [{ legend: "{{saga}} {{reason}}", expr: rate(of.reviews, "saga, reason") }],
      },
      {
        title: "Approvals",
        about: "How many runs ask people.",
        unit: "short",
        queries: [{ legend: "waiting", expr: shared(of.approvals) }],
      },
      {
        title: "Oldest approval",
        about: "A ticket is written at a day.",
        unit: "s",
        queries: [{ legend: "age", expr: shared(of.approvalAge) }],
      },
    ],
  },
  {
    title: "Effects",
    panels: [
      {
        title: "Oldest unknown outcome",
        about: "Somebody is woken at 5 minutes.",
        unit: "s",
        redFrom: 300,
        queries: [{ legend: "age", expr: shared(of.unknownAge) }],
      },
      {
        title: "Unknown at first",
        about: "Calls of which it was not known at once if they happened; most are found out.",
        unit: "ops",
        queries: [{ legend: "{{saga}} {{step}}", expr: rate(of.unknown, "saga, step") }],
      },
      {
        title: "Calls, by result",
        about: "Actions and compensations.",
        unit: "ops",
        queries: [{ legend: "{{result}}", expr: rate(of.calls, "result") }],
      },
      {
        title: "Duplicates prevented",
        about: "Effects that would have been made twice.",
        unit: "ops",
        queries: [{ legend: "{{how}}", expr: rate(of.duplicates, "how") }],
      },
    ],
  },
  {
    title: "Recovery",
    panels: [
      {
        title: "Taken up again, p50 and p99",
        about: "From the sending of a call that was cut off until another worker has gone on.",
        unit: "s",
        queries: [
          { legend: "p50", expr: quantile(0.5, of.recovery) },
          { legend: "p99", expr: quantile(0.99, of.recovery) },
        ],
      },
      {
        title: "Takeovers and resumptions",
        about: "Runs taken from workers that had not given them back, and steps that were gone on at.",
        unit: "ops",
        queries: [
          { legend: "takeovers, died {{died}}", expr: rate(of.takeovers, "died") },
          { legend: "resumed at {{step}}", expr: rate(of.resumptions, "step") },
        ],
      },
      {
        title: "Compensations",
        about: "What was undone, and what could not be (halted).",
        unit: "ops",
        queries: [{ legend: "{{state}}", expr: rate(of.compensations, "state") }],
      },
      {
        title: "Woken for runs that nobody serves",
        about: "Start a worker with that version.",
        unit: "ops",
        queries: [{ legend: "{{saga}}@{{version}}", expr: rate(of.unserved, "saga, version") }],
      },
    ],
  },
  {
    title: "Workers",
    panels: [
      {
        title: "Backlog",
        about: "How long the oldest run that is due waits.",
        unit: "s",
        queries: [{ legend: "oldest due", expr: shared(of.backlog) }],
      },
      {
        title: "Due",
        about: "What the number of workers is scaled by.",
        unit: "short",
        queries: [{ legend: "due", expr: shared(of.due) }],
      },
      {
        title: "Slots in use",
        about: "Near 1 for long: more workers, or more concurrency.",
        unit: "percentunit",
        queries: [{ legend: "{{instance}} {{kind}}", expr: `${of.slotsBusy}{${ns}} / ${of.slots}{${ns}}` }],
      },
      {
        title: "Event-loop lag, p99",
        about: "Leases are lost at 8 s.",
        unit: "s",
        queries: [{ legend: "{{instance}}", expr: `${of.eventLoopLag}{${ns}, quantile="0.99"}` }],
      },
    ],
  },
  {
    title: "Redis",
    panels: [
      {
        title: "Answers",
        about: "0: it did not within a second.",
        unit: "short",
        queries: [{ legend: "{{instance}}", expr: `${of.storeUp}{${ns}}` }],
      },
      {
        title: "Commits, p50 and p99",
        about: "One commit is one round trip and, with appendfsync always, one write to disk.",
        unit: "s",
        queries: [
          { legend: "p50", expr: quantile(0.5, of.commit) },
          { legend: "p99", expr: quantile(0.99, of.commit) },
        ],
      },
      {
        title: "Memory",
        about: "Of redis_exporter. Nothing is evicted: full means that nothing goes on.",
        unit: "bytes",
        queries: [
          { legend: "used", expr: redis.memoryUsed },
          { legend: "limit", expr: redis.memoryMax },
        ],
      },
      {
        title: "May forget",
        about: "1: neither appendfsync always nor a barrier.",
        unit: "short",
        redFrom: 1,
        queries: [{ legend: "forgetful", expr: shared(of.storeForgetful) }],
      },
    ],
  },
];

const datasource = { type: "prometheus", uid: "prometheus" };
const [width, height] = [24, 8];

function panelJson({ title, about, unit, queries, redFrom }: Panel, place: object, id: number): object {
  const steps = [{ color: "green", value: null }, ...(redFrom === undefined ? [] : [{ color: "red", value: redFrom }])];
  return {
    id,
    type: redFrom === undefined ? "timeseries" : "stat",
    title,
    description: about,
    datasource,
    gridPos: place,
    fieldConfig: { defaults: { unit, min: 0, thresholds: { mode: "absolute", steps } }, overrides: [] },
    options:
      redFrom === undefined ? { legend: { showLegend: true }, tooltip: { mode: "multi" } } : { colorMode: "value" },
    targets: queries.map(({ legend, expr }, at) => ({
      refId: String.fromCharCode(65 + at),
      datasource,
      expr,
      legendFormat: legend,
    })),
  };
}

function rowJson({ title, panels }: Row, at: number): readonly object[] {
  const y = at * (height + 1);
  const w = Math.floor(width / panels.length);
  const head = {
    id: at * 10 + 1,
    type: "row",
    title,
    collapsed: false,
    gridPos: { h: 1, w: width, x: 0, y },
    panels: [],
  };
  const shown = panels.map((panel, place) =>
    panelJson(panel, { h: height, w, x: place * w, y: y + 1 }, at * 10 + place + 2),
  );
  return [head, ...shown];
}

/** The dashboard, as Grafana reads it from a file. */
export const dashboard = {
  uid: "reprise",
  title: "Reprise",
  tags: ["reprise"],
  timezone: "browser",
  schemaVersion: 39,
  version: 1,
  editable: false,
  refresh: "30s",
  time: { from: "now-6h", to: "now" },
  templating: {
    list: [
      {
        name: "reprise_ns",
        label: "Namespace",
        type: "query",
        datasource,
        query: { query: `label_values(${of.due}, reprise_ns)`, refId: "namespaces" },
        includeAll: true,
        multi: true,
        current: { text: "All", value: "$__all" },
        refresh: 2,
        sort: 1,
      },
    ],
  },
  panels: rows.flatMap(rowJson),
} as const;
