/**
 * Logs, metrics and traces of one process, made of one set of facts. Owns what there is of them; the composition root tells
 * them what happens and where to look. Nothing of it is loaded that is not asked for.
 */
import type { Logger } from "pino";
import type { ConsumerFactory, Facts, Tracing, WakeUps } from "../core/index.ts";
import type { Saga } from "../saga/index.ts";
import { combineFacts } from "./facts.ts";
import { type GaugeSource, Gauges } from "./gauges.ts";
import { type LogOptions, pinoLogger, runLogger, type StepLogLine } from "./logger.ts";
import { Metrics, type MetricsOptions } from "./metrics.ts";
import { countedConsumers, countedWakeUps } from "./nudges.ts";
import { loadOtel, type Otel } from "./otel.ts";
import type { TraceOptions } from "./trace-parents.ts";
import { runTracing } from "./tracing.ts";

/** What is to be told; what is left out is not. */
export interface TelemetryOptions {
  /** Lines by pino. */
  readonly logs?: LogOptions | true;
  /** Numbers for Prometheus. */
  readonly metrics?: MetricsOptions | true;
  /** Spans by OpenTelemetry: needs `@opentelemetry/api`, and an SDK that the process has registered. */
  readonly traces?: TraceOptions | true;
}

/** Logs, metrics and traces of a process. One for all its clients and workers; close it after them. */
export interface Telemetry {
  /** All metrics in the OpenMetrics text format; empty where none were asked for. Never rejects because a store is away. */
  metricsText(): Promise<string>;
  /** The content type of it. */
  readonly metricsContentType: string;
  /** For `createClient` and `createWorker`: what is told and asked in one namespace. */
  at(place: TelemetryPlace): PlacedTelemetry;
  close(): void;
}

export interface TelemetryPlace {
  readonly namespace: string;
  readonly sagas: readonly Saga[];
}

/** The ends that the composition root joins. */
export interface PlacedTelemetry {
  readonly facts: Facts;
  readonly tracing: Tracing | null;
  /** What steps log; `null`: logs were not asked for. */
  readonly log: ((line: StepLogLine) => void) | null;
  /** Gauges are read from there until it is called back. */
  watch(source: GaugeSource): () => void;
  wakeUps(wakeUps: WakeUps): WakeUps;
  consumers(factory: ConsumerFactory): ConsumerFactory;
}

const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/**
 * Makes the telemetry of a process: give it to `createClient` and `createWorker`.
 *
 * @throws RepriseError CONFIG_INVALID: traces without `@opentelemetry/api`, or with a share that is none.
 */
export function createTelemetry({ logs, metrics, traces }: TelemetryOptions): Telemetry {
  const logger = logs === undefined ? null : pinoLogger(logs === true ? {} : logs);
  const counted = metrics === undefined ? null : new Metrics(metrics === true ? {} : metrics);
  const gauges = counted === null ? null : new Gauges(counted);
  const otel = traces === undefined ? null : loadOtel();
  const parts = { logger, counted, gauges, otel, traces: traces === true ? {} : (traces ?? {}) };
  return {
    metricsContentType: openMetrics,
    metricsText: async () => {
      await gauges?.look();
      return counted === null ? "" : await counted.registry.metrics();
    },
    at: (place) => placed(parts, place),
    close: () => gauges?.close(),
  };
}

interface Parts {
  readonly logger: Logger | null;
  readonly counted: Metrics | null;
  readonly gauges: Gauges | null;
  readonly otel: Otel | null;
  readonly traces: TraceOptions;
}

function placed(
  { logger, counted, gauges, otel, traces }: Parts,
  { namespace, sagas }: TelemetryPlace,
): PlacedTelemetry {
  counted?.know(namespace, sagas);
  const traced = otel === null ? null : runTracing(otel, namespace, traces);
  const activeTrace = traced?.activeTrace ?? (() => null);
  const logged = logger === null ? null : runLogger(logger, { namespace, activeTrace });
  return {
    facts: combineFacts(counted?.facts, traced?.facts, logged?.facts),
    tracing: traced?.tracing ?? null,
    log: logged?.step ?? null,
    watch: (source) => gauges?.watch(source) ?? (() => undefined),
    wakeUps: (wakeUps) => (counted === null ? wakeUps : countedWakeUps(counted, wakeUps)),
    consumers: (factory) => (counted === null ? factory : countedConsumers(counted, factory)),
  };
}
