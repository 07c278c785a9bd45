/** A worker that is followed by OpenTelemetry, and tells every span that ends. */
import { BullMQOtel } from "bullmq-otel";
import { createTelemetry, createWorker } from "../../src/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { followSpans } from "../support/spans.ts";
import { type TraceOrders, type TraceSaid, traced } from "./telemetry-words.ts";

const { dies, ...place } = readOrders<TraceOrders>();
listen(async () => undefined);
followSpans((span) => say<TraceSaid>({ span }));
const telemetry = createTelemetry({ traces: true, logs: { write: () => undefined } });
const queueTelemetry = new BullMQOtel({});
const worker = createWorker({ ...place, sagas: [traced], services: { dies }, telemetry, queueTelemetry });
await worker.start();
say<TraceSaid>({ ready: worker.id });
