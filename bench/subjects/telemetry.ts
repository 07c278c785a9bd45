/** Telemetry of a measured worker: everything is made, and thrown away where it would leave the process. */
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createTelemetry, type Telemetry } from "reprise";
import type { Tells } from "./contestant.ts";

const nowhere = {
  export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
  shutdown: () => Promise.resolve(),
};

let open: Telemetry | null = null;

export function told(tells: Tells): Telemetry {
  if (tells !== "lines") {
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(nowhere)] }));
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
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
  trace.disable();
  context.disable();
}
