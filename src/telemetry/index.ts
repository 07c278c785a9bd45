/** The door of telemetry: each observes committed facts, and none is loaded that is not asked for. */
export { type AlertRule, type AlertRules, sloAlertRules } from "./alert-rules.ts";
export { combineFacts } from "./facts.ts";
export type { LogLevel, LogOptions } from "./logger.ts";
export type { MetricsOptions } from "./metrics.ts";
export { createTelemetry, type PlacedTelemetry, type Telemetry, type TelemetryOptions } from "./telemetry.ts";
export type { TraceOptions } from "./trace-parents.ts";
