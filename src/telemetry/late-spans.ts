/**
 * Spans that an SDK is asked for late: when somebody looks at the context that a call is made in, or when the call is over. Most calls
 * never ask where they are, and all there is to say of one is said at once then. Owns when a span is made; what it says is its source's.
 *
 * Invariants: L1 whoever looks finds the SDK's own span, under its own id. L2 it tells when things happened, not when it was made.
 * L3 an SDK that throws when something is over is not heard of: nobody waits there who could be told.
 */
import { failedStatus, type Otel, type OtelContext, type Span, type SpanAttributes } from "./otel.ts";

/** What a span is made of. */
export interface SpanSource {
  /** Asks the SDK for it, as begun at that time, ms since 1970. */
  make(since: number): Span;
}

export class LateSpan {
  readonly #since = Date.now();
  readonly #began = performance.now();
  /** Until there is a span: what holds on to a context (a pool that was made in it) must not hold the run. */
  #source: SpanSource | null;
  #span: Span | null = null;

  constructor(source: SpanSource) {
    this.#source = source;
  }

  /** The SDK's, from now on. */
  get span(): Span {
    this.#span ??= (this.#source as SpanSource).make(this.#since); // it is there until the span is
    this.#source = null;
    return this.#span;
  }

  /** It is over. */
  end(told: SpanAttributes, isFailed: boolean): void {
    tell(() => this.span, told, isFailed, this.#since + performance.now() - this.#began);
  }
}

/** Tells of what is over; `until`: ms since 1970. */
export function tell(make: () => Span, told: SpanAttributes, isFailed: boolean, until: number): void {
  try {
    const span = make();
    if (!span.isRecording()) return;
    span.setAttributes(told);
    if (isFailed) span.setStatus(failedStatus);
    span.end(until);
  } catch {
    // Nobody is left to be told.
  }
}

/** The context of a call: as good as the API's own, and made into one as soon as anybody looks at it. */
export class LateContext {
  readonly #otel: Otel;
  readonly #around: OtelContext;
  readonly #late: LateSpan;
  #own: OtelContext | null = null;

  constructor(otel: Otel, around: OtelContext, late: LateSpan) {
    this.#otel = otel;
    this.#around = around;
    this.#late = late;
  }

  getValue(key: symbol): unknown {
    return this.#made().getValue(key);
  }

  setValue(key: symbol, value: unknown): OtelContext {
    return this.#made().setValue(key, value);
  }

  deleteValue(key: symbol): OtelContext {
    return this.#made().deleteValue(key);
  }

  #made(): OtelContext {
    this.#own ??= this.#otel.trace.setSpan(this.#around, this.#late.span);
    return this.#own;
  }
}
