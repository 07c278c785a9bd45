/**
 * Runs as traces. Owns which spans there are and what they hang on. A run keeps the traceparent it was started under; every span
 * of it, in whichever process and after whatever crash, hangs on that, so that one trace tells the whole run.
 *
 * Invariants: T1 what tells of an outcome ends when that is committed: a call whose worker has lost the run says that it is not.
 * T2 a call that a crash has cut off is told by whoever takes the run over, from the record. T3 a run taken up later than
 * `longAfterMs` after its start goes on in a new trace, linked to the first: no backend keeps one open for a week. T4 no
 * attribute is set but those of `Attributes`; no message, input or output ever is. T5 nothing here fails what it watches.
 */
import {
  type CommittedFact,
  type Fact,
  type Facts,
  operationId,
  type RunRecord,
  type RunRef,
  runKey,
  type TracedCall,
  type Tracing,
} from "../core/index.ts";
import { callUnderWay, type Move, movesOf } from "./moves.ts";
import {
  failedStatus,
  kinds,
  type Otel,
  type OtelContext,
  type Span,
  type SpanContext,
  type SpanOptions,
} from "./otel.ts";
import { parseTraceparent, placeOf, type TracePlace, traceparentOf } from "./traceparent.ts";

/** Everything that a span may say. */
interface Attributes {
  readonly "reprise.run"?: string;
  readonly "reprise.tenant"?: string;
  readonly "reprise.saga"?: string;
  readonly "reprise.version"?: number;
  readonly "reprise.step"?: string;
  readonly "reprise.seq"?: number;
  readonly "reprise.attempt"?: number;
  readonly "reprise.operation_id"?: string;
  readonly "reprise.effect"?: string;
  readonly "reprise.worker"?: string;
  readonly "reprise.outcome"?: string;
  readonly "reprise.committed"?: boolean;
  readonly "reprise.revision"?: number;
  readonly "reprise.status"?: string;
  readonly "reprise.rollback"?: string;
  readonly "reprise.cause"?: string;
  readonly "reprise.reason"?: string;
}

export interface TraceOptions {
  /** A run taken up later than this after its start goes on in a new, linked trace, ms: an hour unless given. */
  readonly longAfterMs?: number;
}

export interface RunTracing {
  readonly tracing: Tracing;
  readonly facts: Facts;
  /** The trace that is active here and now; `null`: none is. */
  readonly activeTrace: () => string | null;
}

const standardLongAfterMs = 3_600_000;
/** Runs whose calls under way, or whose new traces, are remembered; the oldest are told to be uncommitted beyond it. */
const maxRuns = 20_000;

interface OpenCall {
  readonly call: TracedCall;
  readonly span: Span;
}

export function runTracing(
  otel: Otel,
  namespace: string,
  { longAfterMs = standardLongAfterMs }: TraceOptions,
): RunTracing {
  const spans = new RunSpans(otel, namespace, longAfterMs);
  return {
    tracing: { start: (run, work) => spans.start(run, work), call: (call, work) => spans.call(call, work) },
    facts: { emit: (fact) => spans.hear(fact) },
    activeTrace: () => spans.active()?.traceId ?? null,
  };
}

class RunSpans {
  readonly #otel: Otel;
  readonly #tracer: ReturnType<Otel["trace"]["getTracer"]>;
  readonly #namespace: string;
  readonly #longAfterMs: number;
  readonly #open = new Map<string, OpenCall[]>();
  /** Where runs go on that were taken up long after their start. */
  readonly #later = new Map<string, OtelContext>();

  constructor(otel: Otel, namespace: string, longAfterMs: number) {
    this.#otel = otel;
    this.#tracer = otel.trace.getTracer("reprise");
    this.#namespace = namespace;
    this.#longAfterMs = longAfterMs;
  }

  active(): SpanContext | null {
    const { context, trace } = this.#otel;
    const place = trace.getSpan(context.active())?.spanContext();
    return place !== undefined && trace.isSpanContextValid(place) ? place : null;
  }

  // ---- starts

  async start<Result>(
    { tenant, saga, version }: Parameters<Tracing["start"]>[0],
    work: (trace: string | null) => Promise<Result>,
  ): Promise<Result> {
    const about = { "reprise.tenant": tenant, "reprise.saga": saga, "reprise.version": version };
    const span = this.#span(`start ${saga}`, { kind: kinds.producer, attributes: about });
    const place = span.spanContext();
    // Without an SDK the span is an empty one, and nobody follows.
    const trace = this.#otel.trace.isSpanContextValid(place) ? traceparentOf(place) : null;
    try {
      return await this.#within(span, () => work(trace));
    } catch (error) {
      span.setStatus(failedStatus);
      throw error;
    } finally {
      span.end();
    }
  }

  // ---- calls

  async call<Result>(call: TracedCall, work: () => Promise<Result>): Promise<Result> {
    const { record, row, kind, attempt, operationId: id, owner, routed } = call;
    const parent = this.#parentOf(record, call.now);
    const delivered = this.active();
    const span = this.#span(
      nameOf(kind, row.step),
      {
        kind: kinds.client,
        attributes: {
          ...aboutRun(record),
          "reprise.step": row.step,
          "reprise.seq": row.seq,
          "reprise.attempt": attempt,
          "reprise.operation_id": id,
          "reprise.effect": row.call.effect,
          "reprise.worker": owner,
        },
        // The job that brought the run here, where BullMQ is followed too.
        links: [...parent.links, ...(delivered === null ? [] : [{ context: delivered }])],
        ...(parent.isRoot ? { root: true } : {}),
      },
      parent.context,
    );
    if (!routed) this.#keep(call, span);
    try {
      return await this.#within(span, work);
    } catch (error) {
      span.setStatus(failedStatus);
      throw error;
    } finally {
      // What came of it is written by the driver of the run, elsewhere.
      if (routed) span.end();
    }
  }

  #keep(call: TracedCall, span: Span): void {
    const key = runKey(call.record);
    const open = this.#open.get(key) ?? [];
    open.push({ call, span });
    this.#open.set(key, open);
    if (this.#open.size <= maxRuns) return;
    for (const oldest of this.#open.keys()) return this.#drop(oldest);
  }

  /** Its calls are not heard of any more here. */
  #drop(key: string): void {
    for (const { span } of this.#open.get(key) ?? []) {
      span.setAttributes({ "reprise.committed": false } satisfies Attributes);
      span.setStatus(failedStatus);
      span.end();
    }
    this.#open.delete(key);
  }

  // ---- facts

  hear(fact: Fact): void {
    if (fact.fact === "committed") this.#committed(fact);
    else if (fact.fact === "acquired") this.#acquired(fact);
    else if (fact.fact === "fenced" || fact.fact === "stale" || fact.fact === "lease_lost")
      this.#drop(runKey(fact.run));
  }

  /** A lease begins: what was open of the run here belonged to one that is over. */
  #acquired({ run, record, now }: Extract<Fact, { fact: "acquired" }>): void {
    const key = runKey(run);
    this.#drop(key);
    this.#later.delete(key);
    if (!this.#isLong(record, now)) return;
    const span = this.#span(`resume ${record.saga}`, {
      root: true,
      attributes: aboutRun(record),
      links: [linkTo(this.#placeOf(record))],
    });
    span.end();
    this.#later.set(key, this.#otel.trace.setSpan(this.#otel.ROOT_CONTEXT, span));
    if (this.#later.size <= maxRuns) return;
    for (const oldest of this.#later.keys()) return void this.#later.delete(oldest);
  }

  #committed(fact: CommittedFact): void {
    this.#endCalls(fact);
    for (const move of movesOf(fact)) this.#tell(fact, move);
    if (fact.record.endedAt !== null) this.#later.delete(runKey(fact.run));
  }

  #endCalls({ run, record, rows, entry }: CommittedFact): void {
    const key = runKey(run);
    const open = this.#open.get(key);
    if (open === undefined) return;
    const left = open.filter(({ call, span }) => {
      const { row, kind, send } = call;
      const now = rows[row.seq - 1];
      const made = kind === "undo" ? now?.undo?.call : kind === "action" ? now?.call : callUnderWay(now);
      const isProbed =
        kind === "probe" && entry.taken.some((taken) => taken.what === "probed" && taken.seq === row.seq);
      const isOver = kind === "probe" ? isProbed : made?.send !== send || made.state !== "sent";
      if (!isOver) return true;
      // A repeat that was granted with the outcome has taken the row's state: what failed is in its error.
      const state = made?.send === send ? made.state : "not_applied";
      const outcome = state === "planned" ? "not_applied" : state;
      span.setAttributes({
        "reprise.outcome": outcome ?? "gone",
        "reprise.committed": true,
        "reprise.revision": record.revision,
      } satisfies Attributes);
      if (outcome !== "succeeded") span.setStatus(failedStatus);
      span.end();
      return false;
    });
    if (left.length === 0) this.#open.delete(key);
    else this.#open.set(key, left);
  }

  #tell(fact: CommittedFact, move: Move): void {
    const { record, entry, before } = fact;
    switch (move.is) {
      case "interrupted": {
        const { row } = move;
        const call = callUnderWay(before.rows[row.seq - 1]);
        const side = before.rows[row.seq - 1]?.undo?.call == null ? "action" : "undo";
        const attributes = {
          "reprise.step": row.step,
          "reprise.seq": row.seq,
          "reprise.operation_id": operationId(this.#namespace, record, row, side),
          "reprise.outcome": "interrupted",
          "reprise.worker": entry.actor,
        };
        return this.#past(fact, nameOf(side, row.step), call?.sentAt ?? entry.at, attributes, true);
      }
      case "approval": {
        const { approval, step, seq } = move.row;
        if (approval === null || approval.state === "asking") return;
        const attributes = { "reprise.step": step, "reprise.seq": seq, "reprise.outcome": approval.state };
        return this.#past(fact, `approval ${step}`, approval.since, attributes, approval.state !== "approved");
      }
      case "unparked":
        return this.#past(fact, "review", move.review.since, { "reprise.reason": move.review.reason }, true);
      case "ended": {
        const { status, rollback, cause, saga, createdAt, unwind } =
          before.record.unwind === null ? record : { ...record, unwind: before.record.unwind };
        const attributes = {
          "reprise.status": status,
          "reprise.rollback": rollback,
          "reprise.cause": cause?.kind ?? "",
        };
        if (unwind !== null) this.#past(fact, `unwind ${saga}`, unwind.at, attributes, rollback !== "complete");
        return this.#past(fact, `run ${saga}`, createdAt, attributes, status !== "completed");
      }
      case "outcome":
      case "probed":
      case "reused":
      case "absorbed":
      case "undo":
      case "asked":
      case "verb":
      case "control":
      case "budget":
      case "migrated":
      case "parked":
      case "unwinding":
        return;
    }
  }

  /** A span of what is over, from the record's own times. */
  #past({ record, entry }: CommittedFact, name: string, since: number, attributes: Attributes, failed: boolean): void {
    const parent = this.#parentOf(record, entry.at);
    const span = this.#span(
      name,
      {
        startTime: since,
        attributes: { ...aboutRun(record), "reprise.revision": record.revision, ...attributes },
        links: [...parent.links],
        ...(parent.isRoot ? { root: true } : {}),
      },
      parent.context,
    );
    if (failed) span.setStatus(failedStatus);
    span.end(Math.max(since, entry.at));
  }

  // ---- what spans hang on

  #parentOf(
    record: RunRecord,
    now: number,
  ): { context: OtelContext; isRoot: boolean; links: { context: SpanContext }[] } {
    const { trace, ROOT_CONTEXT } = this.#otel;
    const later = this.#later.get(runKey(record));
    if (later !== undefined) return { context: later, isRoot: false, links: [] };
    const place = this.#placeOf(record);
    if (this.#isLong(record, now)) return { context: ROOT_CONTEXT, isRoot: true, links: [linkTo(place)] };
    return { context: trace.setSpanContext(ROOT_CONTEXT, { ...place, isRemote: true }), isRoot: false, links: [] };
  }

  #placeOf({ tenant, id, trace }: Pick<RunRecord, "trace"> & RunRef): TracePlace {
    return parseTraceparent(trace) ?? placeOf(`${this.#namespace}/${tenant}/${id}`);
  }

  #isLong({ createdAt }: RunRecord, now: number): boolean {
    return now - createdAt > this.#longAfterMs;
  }

  #span(name: string, options: SpanOptions & { readonly attributes: Attributes }, parent?: OtelContext): Span {
    return this.#tracer.startSpan(name, { kind: kinds.internal, ...options }, parent ?? this.#otel.context.active());
  }

  #within<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
    const { context, trace } = this.#otel;
    return context.with(trace.setSpan(context.active(), span), work);
  }
}

function aboutRun({ tenant, id, saga, version }: RunRecord): Attributes & Record<string, string | number> {
  return { "reprise.run": id, "reprise.tenant": tenant, "reprise.saga": saga, "reprise.version": version };
}

function linkTo(place: TracePlace): { context: SpanContext } {
  return { context: { ...place, isRemote: true } };
}

function nameOf(kind: TracedCall["kind"], step: string): string {
  return kind === "action" ? `step ${step}` : `${kind} ${step}`;
}
