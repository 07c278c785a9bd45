/**
 * What the spans of a run hang on: the place its record names, or one made of its id; long after its start a new trace, linked to the
 * first. Owns which of them.
 */
import type { RunRecord } from "../core/index.ts";
import type { Otel, OtelContext, Span, SpanContext } from "./otel.ts";
import { parseTraceparent, placeOf, type TracePlace } from "./traceparent.ts";

export interface TraceOptions {
  /** A run taken up later than this after its start goes on in a new, linked trace, ms: an hour unless given. */
  readonly longAfterMs?: number;
  /**
   * Of the runs that nobody followed when they were started this share is sampled, 0 to 1: all unless given. Whoever follows a start
   * decides for its run, by the sampler of that process; samplers of workers go by that where they are parent-based, as is usual.
   */
  readonly untracedRatio?: number;
}

export interface Link {
  readonly context: SpanContext;
}

/** What a span hangs on. */
export interface Parent {
  readonly context: OtelContext;
  /** It begins a trace, and nobody has decided yet whether that is recorded; the links say what it goes on from. */
  readonly isRoot: boolean;
  readonly links: readonly Link[];
}

/** What is remembered of a run: finding a place may cost a hash, a context is a map, and every call wants both. */
export interface KnownParents {
  /** Where it was started; `null`: nobody has asked yet. */
  first: Parent | null;
  /** Where it goes on that was taken up long after its start. */
  later: Parent | null;
}

export class TraceParents {
  readonly #otel: Otel;
  readonly #namespace: string;
  readonly #longAfterMs: number;
  readonly #untracedRatio: number;

  constructor(otel: Otel, namespace: string, { longAfterMs, untracedRatio }: Required<TraceOptions>) {
    this.#otel = otel;
    this.#namespace = namespace;
    this.#longAfterMs = longAfterMs;
    this.#untracedRatio = untracedRatio;
  }

  parentOf(record: RunRecord, now: number, known: KnownParents): Parent {
    if (known.later !== null) return known.later;
    if (this.isLong(record, now)) {
      return { context: this.#otel.ROOT_CONTEXT, isRoot: true, links: [this.linkTo(record)] };
    }
    known.first ??= { context: this.#contextOf(record), isRoot: false, links: none };
    return known.first;
  }

  isLong({ createdAt }: RunRecord, now: number): boolean {
    return now - createdAt > this.#longAfterMs;
  }

  /** From now on its spans hang on this one. */
  after(span: Span): Parent {
    return { context: this.#otel.trace.setSpan(this.#otel.ROOT_CONTEXT, span), isRoot: false, links: none };
  }

  /** To where the run was started. */
  linkTo(record: RunRecord): Link {
    return { context: { ...this.#placeOf(record), isRemote: true } };
  }

  #contextOf(record: RunRecord): OtelContext {
    return this.#otel.trace.setSpanContext(this.#otel.ROOT_CONTEXT, this.linkTo(record).context);
  }

  #placeOf({ tenant, id, trace }: RunRecord): TracePlace {
    return parseTraceparent(trace) ?? placeOf(`${this.#namespace}/${tenant}/${id}`, this.#untracedRatio);
  }
}

const none: readonly Link[] = [];
