/**
 * Spans of this process, sent as OTLP over HTTP to OTEL_EXPORTER_OTLP_ENDPOINT (`http://traces:4318`). Owns the SDK and its end; which spans
 * there are is Reprise's (docs/telemetry.md). Its packages are optional: loaded by whoever wants traces, and by nobody else.
 */
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

/** Registers it for this process. What it answers sends what is left, and takes it away again. */
export function sendTraces(service: string): () => Promise<void> {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": process.env["OTEL_SERVICE_NAME"] ?? service }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return async () => {
    await provider.shutdown();
    trace.disable();
    context.disable();
  };
}
