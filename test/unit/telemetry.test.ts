/** What logs, metrics and spans promise by themselves, without a worker. */
import { readFileSync } from "node:fs";
import { AlwaysOnSampler, type Sampler } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, expectTypeOf, test, vi } from "vitest";
import { adminTable } from "../../src/admin/index.ts";
import type { CommittedFact, Fact, Store, StoreLoad, TracedCall } from "../../src/core/index.ts";
import type { RunRecord } from "../../src/core/run/index.ts";
import { logToStderr } from "../../src/orchestrator/stderr.ts";
import { catalogue, catalogueTable } from "../../src/telemetry/catalogue.ts";
import { Gauges } from "../../src/telemetry/gauges.ts";
import { combineFacts, createTelemetry, type TelemetryOptions, type TraceOptions } from "../../src/telemetry/index.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import type { Otel } from "../../src/telemetry/otel.ts";
import { parseTraceparent, placeOf, traceparentOf } from "../../src/telemetry/traceparent.ts";
import { aCall, aLogEntry, aRecord, aRow } from "../support/records.ts";
import { followSpans, type TestSpan } from "../support/spans.ts";

const namespace = "shop";
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

function telemetryOf(options: TelemetryOptions) {
  const telemetry = createTelemetry(options);
  closing.push(() => telemetry.close());
  return { telemetry, placed: telemetry.at({ namespace, sagas: [] }) };
}

function committed(patch: Partial<CommittedFact> & { readonly record: RunRecord }): CommittedFact {
  const { record } = patch;
  const run = { tenant: record.tenant, id: record.id };
  const before = {
    record: aRecord({ ...record, status: "running", endedAt: null, review: null }),
    rows: patch.rows ?? [],
  };
  return { fact: "committed", run, rows: [], entry: aLogEntry(2), before, ms: 3, ...patch };
}

describe("facts", () => {
  test("one listener that throws takes nothing from the others", () => {
    const heard: string[] = [];
    const listen = (name: string) => ({ emit: ({ fact }: Fact) => void heard.push(`${name} ${fact}`) });
    const broken = {
      emit: () => {
        throw new Error("full disk");
      },
    };
    combineFacts(listen("a"), null, broken, undefined, listen("b")).emit({ fact: "trouble", where: "w", message: "m" });
    expect(heard).toEqual(["a trouble", "b trouble"]);
  });
});

describe("logs", () => {
  test("a readable line is for a terminal, and obeys nobody's control characters", () => {
    const lines: string[] = [];
    const { placed } = telemetryOf({ logs: { readable: true, write: (line) => lines.push(line) } });
    placed.facts.emit({ fact: "trouble", where: "queue", message: "it said \u001b[31mred" });
    expect(lines).toEqual([
      expect.stringMatching(/^\d\d:\d\d:\d\d\.\d{3} warn {2}it said {2}\[31mred {2}where=queue\n$/),
    ]);
  });

  test("levels hold, and a step cannot pass itself off as another run", () => {
    const lines: string[] = [];
    const { placed } = telemetryOf({ logs: { level: "warn", write: (line) => lines.push(line) } });
    const run = { id: "r1", tenant: "t", saga: "order", version: 2 };
    const trace = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    const line = { facts: { run: "other", n: 1n }, run, step: "pay", operationId: "op", trace } as const;
    placed.log?.({ ...line, level: "info", message: "quiet" });
    placed.log?.({ ...line, level: "warn", message: "password=hunter2", facts: { run: "other", secret: "hunter2" } });
    placed.facts.emit(committed({ record: aRecord({ status: "needs_review" }) }));
    const [told, ...others] = lines.map((each) => JSON.parse(each));
    expect(others).toEqual([]);
    expect(told).toMatchObject({ run: "r1", saga: "order@2", msg: "password=[redacted]", secret: "[redacted]" });
    expect(told.traceId).toBe("a".repeat(32));
  });
});

describe("what a step says beside its message", () => {
  const run = { id: "r1", tenant: "t", saga: "order", version: 2 };
  const about = { run, step: "pay", operationId: "op", trace: null };
  const sinks = (lines: string[]) => {
    const { placed } = telemetryOf({ logs: { write: (line) => lines.push(line) } });
    vi.spyOn(console, "error").mockImplementation((line: string) => void lines.push(line));
    closing.push(() => vi.restoreAllMocks());
    return { pino: placed.log, stderr: logToStderr } as const;
  };

  test.each(["pino", "stderr"] as const)("cannot pass for the line's own level, time and message (%s)", (sink) => {
    const lines: string[] = [];
    const facts = { level: "error", time: "1999", msg: "forged", message: "forged", run: "r2" };
    sinks(lines)[sink]?.({ ...about, level: "info", message: "paid", facts });
    const [line = ""] = lines;
    expect(line.match(/"level":/g)).toHaveLength(1);
    expect(line.match(/"time":/g)?.length).toBe(1);
    expect(JSON.parse(line)).toMatchObject({ level: "info", [sink === "pino" ? "msg" : "message"]: "paid", run: "r1" });
  });

  test.each(["pino", "stderr"] as const)("takes nothing of the rest away where it is no JSON (%s)", (sink) => {
    const lines: string[] = [];
    const round: Record<string, unknown> = {};
    round["round"] = round;
    const facts = { big: 1n, round, token: "t-1", cents: 7 };
    sinks(lines)[sink]?.({ ...about, level: "info", message: "paid", facts });
    const told = { run: "r1", step: "pay", cents: 7, token: "[redacted]", big: "(no JSON)", round: "(no JSON)" };
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([told]);
  });
});

describe("metrics", () => {
  test("the catalogue and its page are the same", () => {
    const page = readFileSync(new URL("../../docs/metrics.md", import.meta.url), "utf8");
    const rows = (text: string) => text.split("\n").filter((line) => /^\| (name|gauge|`reprise_)/.test(line));
    const cells = (line: string) => line.split("|").map((cell) => cell.trim());
    const both = `${catalogueTable()}\n${adminTable()}`;
    expect(rows(page).map(cells)).toEqual(rows(both).map(cells));
  });

  test("every name is in the text from the start, or comes with its first value", async () => {
    const text = await new Metrics({}).registry.metrics();
    for (const name of Object.keys(catalogue)) expect(text).toContain(`# HELP ${name.replace(/_total$/, "")}`);
  });

  test("no label grows without bound", async () => {
    const { telemetry, placed } = telemetryOf({ metrics: { tenants: 2 } });
    for (let n = 0; n < 1_200; n += 1) {
      const record = aRecord({ tenant: `t${n}`, saga: `s${n}` });
      const run = { tenant: record.tenant, id: record.id };
      placed.facts.emit({ fact: "created", run, record, entry: aLogEntry(1) });
    }
    const lines = (await telemetry.metricsText()).split("\n");
    const of = (name: string) => lines.filter((line) => line.startsWith(`${name}{`));
    expect(of("reprise_runs_started_total")).toHaveLength(501);
    expect(of("reprise_tenant_runs_started_total")).toEqual([
      expect.stringContaining('tenant="t0"'),
      expect.stringContaining('tenant="t1"'),
      'reprise_tenant_runs_started_total{tenant="other",reprise_ns="shop"} 1198',
    ]);
  });

  test("a crash is counted with how long it took, how it ended, and what was not made again", async () => {
    const { telemetry, placed } = telemetryOf({ metrics: true });
    const at = 1_767_225_600_000;
    const error = { kind: "interrupted", code: null, message: "", attempts: 0 } as const;
    const cut = aRow(1, { state: "sent", sentAt: at, error });
    // One went well, one comes from another run; one came to nothing, and is no step that was kept.
    const others = [aRow(2, { state: "succeeded" }), aRow(3, { state: "reused" }), aRow(4, { state: "not_applied" })];
    const record = aRecord({ rows: 4, open: [1] });
    const entry = aLogEntry(2, { at: at + 4_000, taken: [{ what: "interrupted", seq: 1 }] });
    placed.facts.emit(committed({ record, rows: [cut, ...others], entry }));
    const outcome = { what: "outcome", seq: 1, send: 1, outcome: "succeeded", proof: "answer" } as const;
    placed.facts.emit(committed({ record, rows: [cut], entry: aLogEntry(3, { taken: [outcome] }) }));
    const text = await telemetry.metricsText();
    expect(text).toMatch(/reprise_recovery_seconds_sum\{[^}]*saga="order"[^}]*\} 4\n/);
    expect(text).toContain('reprise_resumptions_total{saga="order",step="reserve",reprise_ns="shop"} 1');
    expect(text).toContain('reprise_resumptions_succeeded_total{saga="order",step="reserve",reprise_ns="shop"} 1');
    expect(text).toContain('reprise_resumption_steps_kept_total{saga="order",reprise_ns="shop"} 2');
  });

  test("a store that is away takes nothing from a look but its own gauges", async () => {
    const metrics = new Metrics({});
    const gauges = new Gauges(metrics);
    closing.push(() => gauges.close());
    const away = () => Promise.reject(new Error("away"));
    // Only these are asked.
    gauges.watch({ store: { load: away, listShared: away, durability: away, ledger: away } as unknown as Store });
    await gauges.look();
    const text = await metrics.registry.metrics();
    expect(text).toContain("reprise_store_up 0");
    expect(text).toContain('reprise_event_loop_lag_seconds{quantile="0.99"}');
  });

  test("gauges say how much waits and how old the oldest doubt and the oldest question are", async () => {
    const now = 100_000;
    const review = { reason: "unknown_outcome", since: now - 60_000 };
    const load: StoreLoad = {
      due: 7,
      oldestDueAt: now - 2_000,
      open: [
        { structure: "order@1#a", runs: 2 },
        { structure: "order@1#b", runs: 3 },
      ],
      parked: 1,
      asking: 1,
    };
    const metrics = new Metrics({});
    const gauges = new Gauges(metrics);
    closing.push(() => gauges.close());
    const store = {
      load: async () => ({ ...load, now }),
      durability: async () => "forgetful",
      noticesOwed: async () => ({
        hooks: [{ hook: "shop", owed: 3, oldestAt: now - 9_000, lost: 1, failing: 2 }],
        now,
      }),
      ledger: async () => [aRow(1, {}, { approval: { since: now - 5_000 } as never })],
      listShared: async ({ listings: [listing] }: { listings: readonly string[] }) => ({
        runs: listing === "parked" ? [{ review }] : [{ tenant: "t", id: "r", asks: [1], createdAt: 1 }],
        cursor: null,
      }),
    };
    // As much of it as is asked.
    gauges.watch({ store: store as unknown as Store });
    await gauges.look();
    const text = await metrics.registry.metrics();
    for (const line of [
      "reprise_ticks_due 7",
      "reprise_backlog_seconds 2",
      'reprise_notifications_owed{hook="shop"} 3',
      'reprise_notification_age_seconds{hook="shop"} 9',
      'reprise_notifications_failing{hook="shop"} 2',
      'reprise_notifications_lost{hook="shop"} 1',
      'reprise_runs_open{saga="order",version="1"} 5',
      "reprise_unknown_outcome_age_seconds 60",
      "reprise_approval_age_seconds 5",
      "reprise_store_forgetful 1",
      "reprise_store_up 1",
    ]) {
      expect(text).toContain(`${line}\n`);
    }
  });
});

describe("traces", () => {
  const spans: TestSpan[] = [];
  function followed(traces: TraceOptions | true = true, sampler?: Sampler) {
    spans.length = 0;
    closing.push(followSpans((span) => spans.push(span), sampler));
    return telemetryOf({ traces }).placed;
  }
  const callOf = (record: RunRecord, patch: Partial<TracedCall> = {}): TracedCall => ({
    record,
    row: aRow(1, { state: "sent", send: 1 }),
    kind: "action",
    send: 1,
    attempt: 1,
    operationId: "op",
    owner: "w1",
    routed: false,
    now: record.createdAt,
    ...patch,
  });

  test("a traceparent is read back as it was written, and what is none is nothing", () => {
    const place = placeOf("shop/t/r1", 1);
    expect(parseTraceparent(traceparentOf(place))).toEqual(place);
    expect(placeOf("shop/t/r1", 1)).toEqual(place);
    for (const text of [null, "", "00-0-0-01", `00-${"0".repeat(32)}-${"b".repeat(16)}-01`]) {
      expect(parseTraceparent(text)).toBeNull();
    }
  });

  test("without an SDK nobody follows, and nothing is kept with the run", async () => {
    const { placed } = telemetryOf({ traces: true });
    expect(await placed.tracing?.start({ tenant: "t", saga: "order", version: 1 }, async (trace) => trace)).toBeNull();
  });

  test("a call ends when its outcome is committed, not when it answers", async () => {
    const placed = followed();
    const record = aRecord();
    await placed.tracing?.call(callOf(record), async () => undefined);
    expect(spans).toEqual([]);
    const rows = [aRow(1, { state: "succeeded", send: 1 })];
    placed.facts.emit(committed({ record, rows, before: { record, rows } }));
    expect(
      spans.map(({ name, attributes }) => [name, attributes["reprise.outcome"], attributes["reprise.committed"]]),
    ).toEqual([["step reserve", "succeeded", true]]);
  });

  test("a worker that has lost the run says that its call was not committed there", async () => {
    const placed = followed();
    const record = aRecord();
    await placed.tracing?.call(callOf(record), async () => undefined);
    placed.facts.emit({ fact: "fenced", run: { tenant: record.tenant, id: record.id } });
    expect(spans.map(({ failed, attributes }) => [failed, attributes["reprise.committed"]])).toEqual([[true, false]]);
  });

  test("a long call is not lost among thousands of runs that come and wait meanwhile", async () => {
    const placed = followed();
    const record = aRecord();
    await placed.tracing?.call(callOf(record), async () => undefined);
    for (let count = 0; count < 12_000; count += 1) placed.facts.emit(committed({ record: aRecord() }));
    expect(spans).toEqual([]);
    const rows = [aRow(1, { state: "succeeded", send: 1 })];
    placed.facts.emit(committed({ record, rows, before: { record, rows } }));
    expect(spans.map(({ attributes }) => attributes["reprise.committed"])).toEqual([true]);
  });

  test("runs of two tenants under one id are told apart", async () => {
    const placed = followed();
    const [one, other] = ["a", "b"].map((tenant) => aRecord({ tenant, id: "same" })) as [RunRecord, RunRecord];
    for (const record of [one, other]) await placed.tracing?.call(callOf(record), async () => undefined);
    placed.facts.emit({ fact: "fenced", run: { tenant: "b", id: "same" } });
    expect(spans.map(({ attributes }) => attributes["reprise.tenant"])).toEqual(["b"]);
    const rows = [aRow(1, { state: "succeeded", send: 1 })];
    const ended = { ...other, status: "completed", endedAt: other.createdAt } as const;
    placed.facts.emit(committed({ record: ended, before: { record: ended, rows: [] } }));
    placed.facts.emit(committed({ record: one, rows, before: { record: one, rows } }));
    const told = spans.map(({ attributes }) => [attributes["reprise.tenant"], attributes["reprise.committed"]]);
    expect(told).toEqual([
      ["b", false],
      ["a", true],
    ]);
  });

  test("a routed call ends where it was made, and what it throws is thrown", async () => {
    const placed = followed();
    const work = () => Promise.reject(new Error("declined"));
    await expect(placed.tracing?.call(callOf(aRecord(), { routed: true }), work)).rejects.toThrow("declined");
    expect(spans.map(({ failed }) => failed)).toEqual([true]);
  });

  test("runs that nobody followed at their start have one trace each all the same", async () => {
    const placed = followed();
    const [one, other] = [aRecord(), aRecord()];
    for (const record of [one, one, other])
      await placed.tracing?.call(callOf(record, { routed: true }), async () => null);
    const [a, b, c] = spans.map(({ traceId }) => traceId);
    expect([a === b, a === c]).toEqual([true, false]);
  });

  test("of runs that nobody followed a share is sampled, whole, and the others are told by nobody", async () => {
    const placed = followed({ untracedRatio: 0.5 });
    const records = Array.from({ length: 64 }, () => aRecord());
    for (const record of [...records, ...records])
      await placed.tracing?.call(callOf(record, { routed: true }), async () => null);
    const traces = new Set(spans.map(({ traceId }) => traceId));
    expect(spans).toHaveLength(2 * traces.size);
    expect(traces.size).toBeGreaterThan(16);
    expect(traces.size).toBeLessThan(48);
  });

  test("who follows a start decides for its run, whatever the share of the others", async () => {
    const placed = followed({ untracedRatio: 0 });
    const followedBefore = aRecord({ trace: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` });
    const leftOut = aRecord({ trace: `00-${"c".repeat(32)}-${"d".repeat(16)}-00` });
    for (const record of [followedBefore, leftOut, aRecord()])
      await placed.tracing?.call(callOf(record, { routed: true }), async () => null);
    expect(spans.map(({ traceId }) => traceId)).toEqual(["a".repeat(32)]);
  });

  test("a sampler that records what its parent has declined gets spans that say as much as all others", async () => {
    const record = aRecord();
    const routed = callOf(record, { routed: true });
    const told: TestSpan[][] = [];
    for (const untracedRatio of [1, 0]) {
      const placed = followed({ untracedRatio }, new AlwaysOnSampler());
      await placed.tracing?.call(routed, async () => null);
      placed.facts.emit(committed({ record: aRecord({ ...record, status: "completed", endedAt: record.createdAt }) }));
      told.push([...spans]);
    }
    const [sampled = [], declined = []] = told;
    expect(sampled.map(({ name }) => name)).toEqual(["step reserve", "run order"]);
    const shown = ({ name, attributes }: TestSpan) => ({ name, attributes });
    expect(declined.map(shown)).toEqual(sampled.map(shown));
  });

  test("whoever looks inside a call finds the span that it ends as, in whatever context", async () => {
    const { context, createContextKey, trace } = await import("@opentelemetry/api");
    const placed = followed();
    const record = aRecord();
    const key = createContextKey("a test's own");
    const made = (name: string) => trace.getTracer("user").startSpan(name).end();
    await placed.tracing?.call(callOf(record, { routed: true }), async () => {
      await Promise.resolve();
      trace.getActiveSpan()?.addEvent("asked").setAttribute("mine", 1);
      made("plainly");
      const set = context.active().setValue(key, 1);
      context.with(set, () => made("below a value"));
      expect(set.getValue(key)).toBe(1);
      context.with(context.active().deleteValue(key), () => made("without a value"));
      context.with(trace.deleteSpan(context.active()), () => made("of its own"));
    });
    const call = spans.find(({ name }) => name === "step reserve");
    expect(call?.attributes).toMatchObject({ mine: 1, "reprise.step": "reserve" });
    const parents = new Map(spans.map(({ name, parent }) => [name, parent]));
    for (const name of ["plainly", "below a value", "without a value"]) expect(parents.get(name)).toBe(call?.spanId);
    expect(parents.get("of its own")).toBeNull();
  });

  test("a call that was lost stays in the trace in which it was made, although the run goes on in another", async () => {
    const placed = followed({ longAfterMs: 1_000 });
    const record = aRecord();
    const now = record.createdAt + 5_000;
    const acquired = {
      fact: "acquired",
      run: { tenant: record.tenant, id: record.id },
      record,
      now,
      takenFrom: null,
    } as const;
    placed.facts.emit(acquired);
    await placed.tracing?.call(callOf(record, { now }), async () => undefined);
    placed.facts.emit(acquired);
    const [first, call, second] = spans;
    expect([first?.name, call?.name, second?.name]).toEqual(["resume order", "step reserve", "resume order"]);
    expect(call?.traceId).toBe(first?.traceId);
    expect(call?.traceId).not.toBe(second?.traceId);
  });

  describe("made late", () => {
    beforeEach(() => {
      vi.useFakeTimers({ now: 1_767_225_600_000 });
    });
    afterEach(() => {
      vi.useRealTimers();
    });
    const routed = () => callOf(aRecord(), { routed: true });

    test("it is made when it is over, and says when it happened", async () => {
      const made: number[] = [];
      const placed = followed(true, {
        shouldSample: () => {
          made.push(Date.now());
          return { decision: 2 };
        },
        toString: () => "clock",
      });
      const at = Date.now();
      const answer = placed.tracing?.call(routed(), () => new Promise((resolve) => setTimeout(resolve, 500)));
      await vi.advanceTimersByTimeAsync(499);
      expect(made).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      await answer;
      expect(made).toEqual([at + 500]);
      expect(spans.map(({ startMs, endMs }) => [startMs - at, endMs - at])).toEqual([[0, 500]]);
    });

    test("an SDK that throws takes nothing from the other spans, nor from the process", async () => {
      let asked = 0;
      const placed = followed(true, {
        shouldSample: () => {
          asked += 1;
          if (asked === 1) throw new Error("a sampler's own");
          return { decision: 2 };
        },
        toString: () => "moody",
      });
      for (let count = 0; count < 2; count += 1) await placed.tracing?.call(routed(), async () => undefined);
      expect([asked, spans.length]).toEqual([2, 1]);
    });
  });

  test("a share that is none is refused", () => {
    for (const untracedRatio of [-0.1, 1.5, Number.NaN])
      expect(() => followed({ untracedRatio })).toThrow(/untracedRatio/);
  });

  test("waiting for people, for a person, and the way back are spans from the record's own times", () => {
    const placed = followed();
    const at = 1_767_225_600_000;
    const approval = { state: "rejected", since: at } as never;
    const undo = { state: "owed", call: aCall({ state: "sent", sentAt: at + 5 }), reason: null } as const;
    const rows = [aRow(1, {}, { approval }), aRow(2, {}, { undo })];
    const unwind = { at: at + 1 } as never;
    const review = { n: 1, reason: "halted", since: at + 2 } as never;
    const record = aRecord({ status: "failed", rollback: "complete", createdAt: at, endedAt: at + 9 });
    const taken = [
      { what: "approval", seq: 1, n: 1, state: "rejected" },
      { what: "interrupted", seq: 2 },
    ] as const;
    const before = { record: { ...record, endedAt: null, unwind, review }, rows };
    placed.facts.emit(committed({ record, rows, before, entry: aLogEntry(4, { at: at + 9, taken }) }));
    expect(spans.map(({ name, startMs, endMs, failed }) => [name, startMs - at, endMs - at, failed])).toEqual([
      ["approval reserve", 0, 9, true],
      ["undo reserve", 5, 9, true],
      ["review", 2, 9, true],
      ["unwind order", 1, 9, false],
      ["run order", 0, 9, true],
    ]);
  });

  test("what is used of the API is what it has", async () => {
    const api = await import("@opentelemetry/api");
    expectTypeOf(api.trace.getTracer("").startSpan).returns.toExtend<
      ReturnType<ReturnType<Otel["trace"]["getTracer"]>["startSpan"]>
    >();
    expectTypeOf(api.trace.getTracer).returns.toExtend<ReturnType<Otel["trace"]["getTracer"]>>();
  });
});
