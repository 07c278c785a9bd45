/** One trace tells a whole run, although the worker that began it was killed in the middle of a call. */
import { trace } from "@opentelemetry/api";
import { BullMQOtel } from "bullmq-otel";
import { afterEach, expect, test } from "vitest";
import { createClient, createTelemetry } from "../../src/index.ts";
import { withOrders } from "../support/fault-child.ts";
import { owned, spawnChild, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";
import { followSpans, type TestSpan } from "../support/spans.ts";
import { type TraceOrders, type TraceSaid, traced } from "./telemetry-words.ts";

const { own, release } = owned();
afterEach(release);

const childFile = new URL("./telemetry.child.ts", import.meta.url);
const isReady = (message: unknown): message is Extract<TraceSaid, { ready: string }> =>
  Object.hasOwn(message as object, "ready");
const isSpan = (message: unknown): message is Extract<TraceSaid, { span: TestSpan }> =>
  Object.hasOwn(message as object, "span");

test("one trace follows a run from its caller through kill -9, another worker and the way back", async () => {
  const redis = own(await startRedisServer());
  const mine: TestSpan[] = [];
  own({ close: followSpans((span) => mine.push(span)) });
  const place = { redis: redis.url, namespace: "traces" };
  const telemetry = createTelemetry({ traces: true });
  const client = own(createClient({ ...place, sagas: [traced], telemetry, queueTelemetry: new BullMQOtel({}) }));
  const boot = async (dies: boolean) => {
    const child = own(await spawnChild(childFile, withOrders({ ...place, dies } satisfies TraceOrders)));
    const { ready } = await child.nextMessage(isReady, 60_000);
    return { child, id: ready };
  };

  const victim = await boot(true);
  const run = await trace.getTracer("shop").startActiveSpan("POST /orders", async (span) => {
    const started = await client.start(traced, { id: "o-1" }, { id: "r1" });
    span.end();
    return started;
  });
  expect(await victim.child.exit).toEqual({ code: null, signal: "SIGKILL" });
  const heir = await boot(false);
  const theirs = () => heir.child.messages.filter(isSpan).map(({ span }) => span);
  await expect(run.result({ timeout: "60s" })).rejects.toThrow("no truck");
  await waitFor(() => theirs().some(({ name }) => name === "run traced"), { what: "its last span", timeoutMs: 20_000 });

  const request = mine.find(({ name }) => name === "POST /orders");
  const start = mine.find(({ name }) => name === "start traced");
  expect(start).toMatchObject({ traceId: request?.traceId, parent: request?.spanId });
  const own1 = theirs().filter(({ attributes }) => attributes["reprise.run"] === "r1");
  expect(own1.map(({ name }) => name).sort()).toEqual(
    [
      "step charge", // as the dead worker had sent it
      "step charge",
      "step ship",
      "undo charge",
      "undo reserve",
      "unwind traced",
      "run traced",
    ].sort(),
  );
  expect(new Set(own1.map(({ traceId }) => traceId))).toEqual(new Set([request?.traceId]));
  expect(new Set(own1.map(({ parent }) => parent))).toEqual(new Set([start?.spanId]));
  const [cut, again] = own1.filter(({ name }) => name === "step charge");
  expect([cut?.attributes["reprise.outcome"], cut?.failed]).toEqual(["interrupted", true]);
  expect(again?.attributes).toMatchObject({ "reprise.outcome": "succeeded", "reprise.committed": true });
  expect(again?.attributes["reprise.operation_id"]).toBe(cut?.attributes["reprise.operation_id"]);
  expect(again?.attributes["reprise.worker"]).toBe(heir.id);
  // BullMQ's own span of the job that the start has added.
  const added = mine.find(({ name }) => name.includes("pool-default"));
  expect(added?.traceId).toBe(request?.traceId);
}, 180_000);
