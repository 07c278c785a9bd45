/** Gauges say what is so now, or nothing; and what rates are taken of begins at nought. */
import { afterEach, expect, test, vi } from "vitest";
import { order } from "../../sagas/index.ts";
import type { Store } from "../../src/core/index.ts";
import { Gauges } from "../../src/telemetry/gauges.ts";
import { createTelemetry } from "../../src/telemetry/index.ts";
import { Metrics } from "../../src/telemetry/metrics.ts";
import { aRow } from "../support/records.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
  vi.useRealTimers();
});

const now = 100_000;
const open = [{ structure: "order@1#a", runs: 2 }];
const answers = {
  load: async () => ({ due: 7, oldestDueAt: now - 2_000, open, parked: 1, asking: 1, now }),
  durability: async () => "forgetful" as const,
  noticesOwed: async () => ({ hooks: [{ hook: "shop", owed: 3, oldestAt: now - 9_000, lost: 1, failing: 2 }], now }),
  ledger: async () => [aRow(1, {}, { approval: { since: now - 5_000 } as never })],
  listShared: async ({ listings: [listing] }: { listings: readonly string[] }) => ({
    runs:
      listing === "parked"
        ? [{ review: { reason: "unknown_outcome", since: now - 60_000 } }]
        : [{ tenant: "t", id: "r", asks: [1], createdAt: 1 }],
    cursor: null,
  }),
};

/** A place to look at that may be changed between two looks, each of which asks anew. */
function looked() {
  vi.useFakeTimers({ toFake: ["performance"] });
  const metrics = new Metrics({});
  const gauges = new Gauges(metrics);
  closing.push(() => gauges.close());
  const store = { ...answers } as Record<keyof typeof answers, () => Promise<unknown>>;
  // As much of it as is asked.
  const forget = gauges.watch({ store: store as unknown as Store });
  const look = async (): Promise<readonly string[]> => {
    vi.advanceTimersByTime(6_000);
    await gauges.look();
    const lines = (await metrics.registry.metrics()).split("\n");
    return lines.filter(
      (line) => /^reprise_(?!event_loop)[a-z_]+(\{[^}]*\})? /.test(line) && !/_total|_seconds_/.test(line),
    );
  };
  return { store, look, forget };
}

const ofStore = [
  ...["reprise_notifications_owed", "reprise_notification_age_seconds", "reprise_notifications_failing"],
  ...["reprise_notifications_lost", "reprise_ticks_due", "reprise_backlog_seconds", "reprise_runs_open"],
  ...["reprise_runs_parked", "reprise_unknown_outcome_age_seconds", "reprise_approvals_waiting"],
  ...["reprise_approval_age_seconds", "reprise_store_forgetful"],
];
const namesIn = (lines: readonly string[]) => [...new Set(lines.map((line) => line.replace(/[{ ].*/, "")))].sort();

test("a store that goes away takes its figures along: none of them stays as it was last", async () => {
  const { store, look } = looked();
  expect(namesIn(await look())).toEqual([...ofStore, "reprise_store_up"].sort());
  store.load = () => Promise.reject(new Error("away"));
  expect(await look()).toEqual(["reprise_store_up 0"]);
  store.load = answers.load;
  expect(namesIn(await look())).toEqual([...ofStore, "reprise_store_up"].sort());
});

test("one run that cannot be read is no store that does not answer", async () => {
  const { store, look } = looked();
  store.ledger = () => Promise.reject(new Error("RECORD_CORRUPT"));
  const lines = await look();
  expect(lines).toContain("reprise_store_up 1");
  expect(namesIn(lines)).toEqual(
    [...ofStore, "reprise_store_up"].filter((name) => name !== "reprise_approval_age_seconds").sort(),
  );
});

test("what takes longer than a look waits is not known, and the rest is", async () => {
  const { store, look } = looked();
  store.listShared = () => new Promise(() => undefined);
  const lines = await look();
  expect(lines).toEqual(expect.arrayContaining(["reprise_store_up 1", "reprise_ticks_due 7"]));
  expect(lines.filter((line) => /unknown_outcome_age|approval_age/.test(line))).toEqual([]);
});

test("a hook that is known no more is told of no more", async () => {
  const { store, look } = looked();
  expect((await look()).filter((line) => line.includes('hook="shop"'))).toHaveLength(4);
  store.noticesOwed = async () => ({ hooks: [], now });
  expect((await look()).filter((line) => line.includes("hook="))).toEqual([]);
});

test("where nobody looks at a store nothing is said of one", async () => {
  const { look, forget } = looked();
  await look();
  forget();
  expect(await look()).toEqual([]);
});

test("a single halt is seen, however much went well beside it", async () => {
  const metrics = new Metrics({});
  const gauges = new Gauges(metrics);
  closing.push(() => gauges.close());
  await new Promise((resolve) => setTimeout(resolve, 100));
  const until = performance.now() + 600;
  while (performance.now() < until);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await gauges.look();
  const [, worst] = /lag_seconds\{quantile="1"\} (\S+)/.exec(await metrics.registry.metrics()) ?? [];
  expect(Number(worst)).toBeGreaterThan(0.5);
});

test("objectives count from nought: the first event of a process is one more than there were", async () => {
  const telemetry = createTelemetry({ metrics: true });
  closing.push(() => telemetry.close());
  telemetry.at({ namespace: "shop", sagas: [order] });
  const text = await telemetry.metricsText();
  for (const verdict of ["good", "bad"]) {
    const labels = `saga="order",objective="completion",verdict="${verdict}",reprise_ns="shop"`;
    expect(text).toContain(`reprise_slo_events_total{${labels}} 0\n`);
  }
});

test("the oldest question is looked for on every page, not on that of the newest runs", async () => {
  const { store, look } = looked();
  const since = new Map([
    ["new", now - 1_000],
    ["old", now - 50_000],
  ]);
  const asking = (id: string, createdAt: number) => ({ tenant: "t", id, asks: [1], createdAt });
  const asked = (({ listings, cursor }: { listings: readonly string[]; cursor?: string }) => {
    if (listings[0] === "parked") return Promise.resolve({ runs: [], cursor: null });
    if (cursor === undefined) return Promise.resolve({ runs: [asking("new", 9)], cursor: "more" });
    return Promise.resolve({ runs: [asking("old", 2)], cursor: null });
  }) as never;
  store.listShared = asked;
  store.ledger = (({ id }: { id: string }) =>
    Promise.resolve([aRow(1, {}, { approval: { since: since.get(id) } as never })])) as never;
  expect(await look()).toContain("reprise_approval_age_seconds 50");
});
