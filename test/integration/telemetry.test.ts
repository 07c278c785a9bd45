/** Logs, metrics and spans of real runs: they agree with what happened, and nothing secret is in them. */
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { createClient, createTelemetry, fail, notApplied, saga, step, type Telemetry } from "../../src/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { followSpans, type TestSpan } from "../support/spans.ts";
import { top, until } from "./top.ts";

const canary = "sk_live_4eC39HqLyjWDarjtT1zdp7dc";
const word = "hunter2canary";

const input = z.object({ id: z.string(), key: z.string(), refuse: z.boolean() });
const reserve = step("reserve", {
  input,
  output: z.object({ token: z.string() }),
  effect: "keyed",
  action: ({ log, attempt }) => {
    log.info(`reserving with ${canary}`, { password: word, header: `Bearer ${canary}`, attempt });
    if (attempt === 1) throw notApplied(`401 with api_key=${word}`, { code: canary });
    return { token: canary };
  },
  retry: { attempts: 3, initial: "1ms" },
  compensate: () => undefined,
});
const charge = step("charge", {
  input,
  effect: "keyed",
  action: ({ input: { refuse } }) => {
    if (refuse) throw fail(`declined, authorization: Bearer ${canary}`);
  },
  compensate: () => undefined,
});
const paying = saga("paying", {
  version: 1,
  input,
  slo: { completion: 0.9, latency: { within: "1m" }, unwind: 0.99 },
})
  .step(reserve, (view) => view.input)
  .step(charge, (view) => view.input)
  .build();

const lines: string[] = [];
const spans: TestSpan[] = [];
let telemetry: Telemetry;
let unfollow: () => void;

beforeEach(() => {
  lines.length = 0;
  spans.length = 0;
  unfollow = followSpans((span) => spans.push(span));
  telemetry = createTelemetry({
    logs: { level: "debug", write: (line) => lines.push(line) },
    metrics: { labels: { zone: "b" }, tenants: 1 },
    traces: true,
  });
});
afterEach(() => {
  unfollow();
  telemetry.close();
});

describe("two runs, one of which fails", () => {
  async function play() {
    const { worker, namespace } = top([paying]);
    const place = { redis: inject("redisUrl"), shards: inject("shards"), namespace, sagas: [paying], telemetry };
    const client = createClient(place);
    await worker({ telemetry, log: undefined });
    const good = await client.start(paying, { id: "a", key: canary, refuse: false }, { id: "good" });
    const bad = await client.start(paying, { id: "b", key: canary, refuse: true }, { id: "bad" });
    await client.start(paying, { id: "a", key: canary, refuse: false }, { id: "good" });
    await Promise.allSettled([good.result(), bad.result()]);
    const ended = () => spans.filter(({ name }) => name === "run paying").length === 2;
    await until(ended);
    return { client, namespace };
  }
  const logged = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);

  test("logs tell them with run, saga, step, operation and trace", async () => {
    const { client } = await play();
    const spoken = logged().find(({ msg, run }) => run === "good" && String(msg).startsWith("reserving"));
    expect(spoken).toMatchObject({ level: "info", tenant: "default", saga: "paying@1", step: "reserve" });
    expect(spoken?.["operationId"]).toMatch(/\/default\/good\/reserve\/1$/);
    const start = spans.find(({ name }) => name === "start paying");
    expect(spoken?.["traceId"]).toBe(start?.traceId);
    const told = logged().flatMap(({ run, msg, level }) => (run === "bad" && level !== "debug" ? [msg] : []));
    expect(told).toEqual(expect.arrayContaining(["run started", "run unwinds", "compensation done", "run failed"]));
    await client.close();
  });

  test("metrics count them, what was prevented, and what the objectives make of it", async () => {
    const { client, namespace } = await play();
    const text = await telemetry.metricsText();
    const value = (name: string, ...labels: readonly string[]) => {
      const line = text
        .split("\n")
        .find(
          (each) =>
            /^[{ ]/.test(each.slice(name.length)) &&
            each.startsWith(name) &&
            labels.every((label) => each.includes(label)),
        );
      return Number(line?.split(" ").at(-1));
    };
    expect(telemetry.metricsContentType).toMatch(/^application\/openmetrics-text/);
    expect(text.endsWith("# EOF\n")).toBe(true);
    expect(value("reprise_runs_started_total", 'saga="paying"', 'zone="b"', `reprise_ns="${namespace}"`)).toBe(2);
    expect(value("reprise_runs_ended_total", 'status="completed"')).toBe(1);
    expect(value("reprise_runs_ended_total", 'status="failed"', 'rollback="complete"')).toBe(1);
    expect(value("reprise_duplicates_prevented_total", 'how="start"')).toBe(1);
    expect(value("reprise_calls_total", 'step="reserve"', 'result="not_applied"', 'effect="keyed"')).toBe(2);
    expect(value("reprise_compensations_total", 'step="reserve"', 'state="done"')).toBe(1);
    expect(value("reprise_slo_events_total", 'objective="completion"', 'verdict="good"')).toBe(1);
    expect(value("reprise_slo_events_total", 'objective="completion"', 'verdict="bad"')).toBe(1);
    expect(value("reprise_slo_target", 'objective="unwind"')).toBe(0.99);
    expect(value("reprise_tenant_runs_started_total", 'tenant="default"')).toBe(2);
    expect(value("reprise_store_up")).toBe(1);
    expect(value("reprise_slots", 'kind="wake"')).toBe(50);
    expect(value("reprise_nudges_total", 'kind="wake"')).toBeGreaterThanOrEqual(2);
    expect(value("reprise_commit_seconds_count")).toBeGreaterThan(4);
    expect(text).not.toMatch(/="(good|bad)"(?<!verdict="(good|bad)")/); // no run is a label

    const report = await client.slo({ saga: "paying" });
    expect(report).toMatchObject({ runs: 2, ended: 2, isWhole: true });
    const standing = new Map(report.objectives.map((objective) => [objective.name, objective]));
    expect(standing.get("completion")).toMatchObject({ good: 1, total: 2, isMet: false });
    expect(standing.get("unwind")).toMatchObject({ good: 1, total: 1, isMet: true });
    expect(standing.get("latency")).toMatchObject({ good: 1, total: 1, isMet: true });
    await expect(client.slo({ saga: "paying", limit: 1 })).resolves.toMatchObject({ runs: 1, isWhole: false });
    await client.close();
  });

  test("I13 a planted secret is in no line, no metric and no span", async () => {
    const { client } = await play();
    const all = [...lines, await telemetry.metricsText(), ...spans.map((span) => JSON.stringify(span))];
    expect(all.length).toBeGreaterThan(20);
    expect(all.filter((text) => text.includes(canary) || text.includes(word))).toEqual([]);
    const checks = [
      `${lines.length} log lines, ${spans.length} spans and all metrics hold none of the planted secrets`,
    ];
    const arrivals = spans.filter(({ name }) => /^(step|undo) /.test(name)).length;
    leaveEvidence("I13", { arrivals, checks });
    await client.close();
  });
});

test("a run taken up long after its start goes on in a trace of its own, linked to the first", async () => {
  const late = createTelemetry({ traces: { longAfterMs: 1 } });
  const { worker, namespace } = top([paying]);
  const place = { redis: inject("redisUrl"), shards: inject("shards"), namespace, sagas: [paying], telemetry: late };
  const client = createClient(place);
  const run = await client.start(paying, { id: "a", key: "-", refuse: false }, { id: "late", delay: "50ms" });
  await worker({ telemetry: late });
  await run.result();
  const resumed = await until(() => spans.find(({ name }) => name === "resume paying"));
  const start = spans.find(({ name }) => name === "start paying");
  await until(() => spans.some(({ name }) => name === "run paying"));
  expect([resumed.parent, resumed.links]).toEqual([null, [start?.traceId]]);
  const others = spans.filter(
    ({ attributes, name }) => attributes["reprise.run"] === "late" && name !== "resume paying",
  );
  expect(others.length).toBeGreaterThanOrEqual(4);
  expect(new Set(others.map(({ parent }) => parent))).toEqual(new Set([resumed.spanId]));
  await client.close();
});
