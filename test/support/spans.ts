/** An OpenTelemetry SDK for a test process: what ends is told, with all that a test asks of a span. */
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

export interface TestSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parent: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly string[];
  readonly failed: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

/** Registers it for this process, with a sampler that goes by the parent unless given; call back what it gives to take it away again. */
export function followSpans(hear: (span: TestSpan) => void, sampler?: Sampler): () => void {
  const exporter = {
    export: (spans: readonly ReadableSpan[], done: (result: { code: number }) => void) => {
      for (const span of spans) hear(spanOf(span));
      done({ code: 0 });
    },
    shutdown: () => Promise.resolve(),
  };
  const own = sampler === undefined ? {} : { sampler };
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ ...own, spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return () => {
    trace.disable();
    context.disable();
  };
}

function spanOf(span: ReadableSpan): TestSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    name: span.name,
    traceId,
    spanId,
    parent: span.parentSpanContext?.spanId ?? null,
    attributes: { ...span.attributes },
    links: span.links.map((link) => link.context.traceId),
    failed: span.status.code === 2,
    startMs: msOf(span.startTime),
    endMs: msOf(span.endTime),
  };
}

function msOf([seconds, nanos]: readonly [number, number]): number {
  return seconds * 1_000 + nanos / 1e6;
}
