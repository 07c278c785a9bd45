/** Telemetry of a measured worker: everything is made, and thrown away where it would leave the process. */
import { context, createContextKey, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createTelemetry, type Telemetry } from "reprise";
import type { Tells } from "./contestant.ts";
import { instrumented } from "./work.ts";

const nowhere = {
  export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
  shutdown: () => Promise.resolve(),
};

const own = createContextKey("bench");

/** Of the worker, for the life of the process; none where it tells nothing. */
export function told(tells: Tells): Telemetry | undefined {
  if (tells !== "lines") context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  if (tells === "contexts") {
    instrumented.around = (work) => context.with(context.active().setValue(own, true), work);
    return undefined;
  }
  const lines = { logs: { write: () => undefined }, metrics: true } as const;
  if (tells === "lines") return createTelemetry(lines);
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(nowhere)] }));
  return createTelemetry({ ...lines, traces: { untracedRatio: tells === "some" ? 0.1 : 1 } });
}
