/**
 * What is used of `@opentelemetry/api`, by its shape: the package is an optional peer, and a user who has not installed it
 * must not need it to compile. `test/types/telemetry.test.ts` holds the real one against it.
 */
import { createRequire } from "node:module";
import { RepriseError } from "../errors.ts";

export interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

export type SpanAttributes = Record<string, string | number | boolean>;

export interface Span {
  spanContext(): SpanContext;
  isRecording(): boolean;
  setAttributes(attributes: SpanAttributes): unknown;
  setStatus(status: { code: number }): unknown;
  /** ms since 1970; now unless given. */
  end(at?: number): void;
}

export interface SpanOptions {
  readonly kind?: number;
  readonly root?: boolean;
  readonly startTime?: number;
  readonly attributes?: SpanAttributes;
  readonly links?: { context: SpanContext }[];
}

/** What it holds is the API's business. */
export interface OtelContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): OtelContext;
  deleteValue(key: symbol): OtelContext;
}

export interface Otel {
  readonly context: {
    active(): OtelContext;
    with<Result>(context: OtelContext, work: () => Result): Result;
  };
  readonly trace: {
    getTracer(
      name: string,
      version?: string,
    ): {
      startSpan(name: string, options?: SpanOptions, context?: OtelContext): Span;
    };
    getSpan(context: OtelContext): Pick<Span, "spanContext"> | undefined;
    setSpan(context: OtelContext, span: Span): OtelContext;
    setSpanContext(context: OtelContext, place: SpanContext): OtelContext;
    isSpanContextValid(place: SpanContext): boolean;
  };
  readonly ROOT_CONTEXT: OtelContext;
}

/** Of `SpanKind` and `SpanStatusCode`. */
export const kinds = { internal: 0, client: 2, producer: 3 } as const;
export const failedStatus = { code: 2 } as const;

const load = createRequire(import.meta.url);

/** Loads the peer. Throws CONFIG_INVALID where it is not installed. */
export function loadOtel(): Otel {
  try {
    // By its shape, see above.
    return load("@opentelemetry/api") as Otel;
  } catch (cause) {
    throw new RepriseError("CONFIG_INVALID", "traces need @opentelemetry/api: npm install @opentelemetry/api", {
      cause,
    });
  }
}
