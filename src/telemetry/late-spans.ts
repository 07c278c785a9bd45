/**
 * Spans that an SDK is asked for late: when somebody looks at the context that a call is made in, or when many of them have ended. One
 * span made between two commits costs several times what it costs among others (what an SDK needs is in no cache by then), and most calls
 * never ask where they are. Owns when a span is made; what it says is its maker's.
 *
 * Invariants: L1 whoever looks finds the SDK's own span, under its own id. L2 it tells when things happened, not when it was made.
 * L3 what has ended is told within `heldMs`, and before `flush` comes back. L4 an SDK that throws is not heard of: it takes nothing from
 * other spans, and a timer that threw would end the process.
 */
import { failedStatus, type Otel, type OtelContext, type Span, type SpanAttributes } from "./otel.ts";

/** What a span is made of. */
export interface SpanSource {
  /** Asks the SDK for it, as begun at that time, ms since 1970. */
  make(since: number): Span;
}

/** Ended spans that are made at once. */
const batch = 64;
const heldMs = 200;

export class LateSpan {
  readonly #late: LateSpans;
  readonly #since: number;
  readonly #began = performance.now();
  /** Until there is a span: what holds on to a context (a pool that was made in it) must not hold the run. */
  #source: SpanSource | null;
  #span: Span | null = null;
  #told: SpanAttributes | null = null;
  #isFailed = false;
  #until = 0;

  constructor(late: LateSpans, source: SpanSource, since: number) {
    this.#late = late;
    this.#source = source;
    this.#since = since;
  }

  /** The SDK's, from now on. */
  get span(): Span {
    this.#span ??= (this.#source as SpanSource).make(this.#since); // it is there until the span is
    this.#source = null;
    return this.#span;
  }

  /** It is over; `until`: ms since 1970, now unless given. */
  end(told: SpanAttributes, isFailed: boolean, until = this.#since + performance.now() - this.#began): void {
    this.#told = told;
    this.#isFailed = isFailed;
    this.#until = until;
    this.#late.ended(this);
  }

  tell(): void {
    const { span } = this;
    if (!span.isRecording()) return;
    if (this.#told !== null) span.setAttributes(this.#told);
    if (this.#isFailed) span.setStatus(failedStatus);
    span.end(this.#until);
  }
}

export class LateSpans {
  #ended: LateSpan[] = [];
  #timer: NodeJS.Timeout | null = null;

  begin(source: SpanSource, since = Date.now()): LateSpan {
    return new LateSpan(this, source, since);
  }

  ended(span: LateSpan): void {
    this.#ended.push(span);
    if (this.#ended.length >= batch) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), heldMs).unref();
  }

  /** Tells what has ended. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const ended = this.#ended;
    this.#ended = [];
    for (const span of ended) {
      try {
        span.tell();
      } catch {
        // Nobody is left to be told.
      }
    }
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
