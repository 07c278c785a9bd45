/**
 * What the spans of a run hang on: the place its record names, or one made of its id; long after its start a new trace, linked to the
 * first. Owns which of them; remembers what was asked for lately, since a place may cost a hash and a context a map, and every call
 * wants both.
 */
import { type RunRecord, type RunRef, runKey } from "../core/index.ts";
import type { Otel, OtelContext, Span, SpanContext } from "./otel.ts";
import { parseTraceparent, placeOf, sampledFlag, type TracePlace } from "./traceparent.ts";

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
  readonly isRoot: boolean;
  /** Whoever began the trace has decided against it: nobody records what hangs on this, unless a sampler overrides that. */
  readonly isDeclined: boolean;
  readonly links: readonly Link[];
}

/** Runs whose new traces are remembered, at most. */
const maxLater = 20_000;
/** Runs whose parents are remembered, at most: more than are worked on at once. */
const maxKnown = 1_000;

export class TraceParents {
  readonly #otel: Otel;
  readonly #namespace: string;
  readonly #longAfterMs: number;
  readonly #untracedRatio: number;
  /** Where runs go on that were taken up long after their start. */
  readonly #later = new Map<string, Parent>();
  readonly #known = new Map<string, Parent>();

  constructor(otel: Otel, namespace: string, { longAfterMs, untracedRatio }: Required<TraceOptions>) {
    this.#otel = otel;
    this.#namespace = namespace;
    this.#longAfterMs = longAfterMs;
    this.#untracedRatio = untracedRatio;
  }

  parentOf(record: RunRecord, now: number): Parent {
    const key = runKey(record);
    const later = this.#later.get(key);
    if (later !== undefined) return later;
    if (this.isLong(record, now)) {
      return { context: this.#otel.ROOT_CONTEXT, isRoot: true, isDeclined: false, links: [this.linkTo(record)] };
    }
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const place = { ...this.#placeOf(record), isRemote: true };
    const parent = under(this.#otel.trace.setSpanContext(this.#otel.ROOT_CONTEXT, place), place);
    keep(this.#known, key, parent, maxKnown);
    return parent;
  }

  /** To where the run was started. */
  linkTo(record: RunRecord): Link {
    return { context: { ...this.#placeOf(record), isRemote: true } };
  }

  isLong({ createdAt }: RunRecord, now: number): boolean {
    return now - createdAt > this.#longAfterMs;
  }

  /** From now on its spans hang on this one. */
  goOn(run: RunRef, span: Span): void {
    const context = this.#otel.trace.setSpan(this.#otel.ROOT_CONTEXT, span);
    keep(this.#later, runKey(run), under(context, span.spanContext()), maxLater);
  }

  forget(run: RunRef): void {
    const key = runKey(run);
    this.#later.delete(key);
    this.#known.delete(key);
  }

  #placeOf({ tenant, id, trace }: RunRecord): TracePlace {
    return parseTraceparent(trace) ?? placeOf(`${this.#namespace}/${tenant}/${id}`, this.#untracedRatio);
  }
}

const none: readonly Link[] = [];

function under(context: OtelContext, { traceFlags }: Pick<SpanContext, "traceFlags">): Parent {
  return { context, isRoot: false, isDeclined: (traceFlags & sampledFlag) === 0, links: none };
}

/** The oldest goes where there would be too many. */
function keep<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) return void map.delete(oldest);
}
