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

/** One for the process, as processes have one: the storage of another would be another shape of every promise. */
const contexts = new AsyncLocalStorageContextManager();
let open: Telemetry | null = null;

const own = createContextKey("bench");

/** Of the worker; none where it tells nothing. */
export function told(tells: Tells): Telemetry | undefined {
  if (tells === "contexts") {
    context.setGlobalContextManager(contexts.enable());
    instrumented.around = (work) => context.with(context.active().setValue(own, true), work);
    return undefined;
  }
  if (tells !== "lines") {
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(nowhere)] }));
    context.setGlobalContextManager(contexts.enable());
  }
  const lines = { logs: { write: () => undefined }, metrics: true } as const;
  const traces = { untracedRatio: tells === "some" ? 0.1 : 1 };
  open = createTelemetry(tells === "lines" ? lines : { ...lines, traces });
  return open;
}

/** What is measured next in this process pays for nothing of it. */
export function untold(): void {
  open?.close();
  open = null;
  instrumented.around = null;
  trace.disable();
  context.disable();
}
