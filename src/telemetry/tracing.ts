/**
 * Runs as traces. Owns which spans there are and what they hang on. A run keeps the traceparent it was started under; every span
 * of it, in whichever process and after whatever crash, hangs on that, so that one trace tells the whole run.
 *
 * Invariants: T1 what tells of an outcome ends when that is committed: a call whose worker has lost the run says that it is not.
 * T2 a call that a crash has cut off is told by whoever takes the run over, from the record. T3 a run taken up later than
 * `longAfterMs` after its start goes on in a new trace, linked to the first: no backend keeps one open for a week. T4 no
 * attribute is set but those of `Attributes`; no message, input or output ever is. T5 nothing here fails what it watches.
 */
import { type CommittedFact, type Fact, type Facts, runKey, type TracedCall, type Tracing } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { callUnderWay, movesOf } from "./moves.ts";
import { failedStatus, kinds, type Otel, type Span, type SpanContext } from "./otel.ts";
import { PastSpans } from "./past-spans.ts";
import { type Attributes, aboutRun, nameOf, SpanMaker } from "./span-maker.ts";
import { type TraceOptions, TraceParents } from "./trace-parents.ts";
import { traceparentOf } from "./traceparent.ts";

export interface RunTracing {
  readonly tracing: Tracing;
  readonly facts: Facts;
  /** The trace that is active here and now; `null`: none is. */
  readonly activeTrace: () => string | null;
}

const standard: Required<TraceOptions> = { longAfterMs: 3_600_000, untracedRatio: 1 };
/** Runs whose calls under way are remembered; the oldest are told to be uncommitted beyond it. */
const maxRuns = 20_000;

interface OpenCall {
  readonly call: TracedCall;
  readonly span: Span;
}

/** Throws CONFIG_INVALID. */
export function runTracing(otel: Otel, namespace: string, options: TraceOptions): RunTracing {
  const { untracedRatio = 1 } = options;
  if (!(untracedRatio >= 0 && untracedRatio <= 1)) {
    throw new RepriseError("CONFIG_INVALID", `traces.untracedRatio is ${untracedRatio}: it is a share, 0 to 1`);
  }
  const spans = new RunSpans(otel, namespace, { ...standard, ...options });
  return {
    tracing: { start: (run, work) => spans.start(run, work), call: (call, work) => spans.call(call, work) },
    facts: { emit: (fact) => spans.hear(fact) },
    activeTrace: () => spans.active()?.traceId ?? null,
  };
}

class RunSpans {
  readonly #otel: Otel;
  readonly #spans: SpanMaker;
  readonly #parents: TraceParents;
  readonly #past: PastSpans;
  readonly #open = new Map<string, OpenCall[]>();

  constructor(otel: Otel, namespace: string, options: Required<TraceOptions>) {
    this.#otel = otel;
    this.#spans = new SpanMaker(otel);
    this.#parents = new TraceParents(otel, namespace, options);
    this.#past = new PastSpans(this.#spans, this.#parents, namespace);
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
    const span = this.#spans.make(`start ${saga}`, { kind: kinds.producer, attributes: about });
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

  call<Result>(call: TracedCall, work: () => Promise<Result>): Promise<Result> {
    const span = this.#callSpan(call);
    const called = this.#within(span, work);
    // Not sampled: what is below it hears that too, and nobody hears of it.
    if (!span.isRecording()) return called;
    if (call.routed) endWith(called, span);
    // (No look at what it answers: that would be a promise a call more, and each is dear while a context follows them.)
    else this.#keep(call, span);
    return called;
  }

  #callSpan({ record, row, kind, attempt, operationId: id, owner, now }: TracedCall): Span {
    // The job that brought the run here, where BullMQ is followed too.
    const delivered = this.active();
    const attributes = () => ({
      "reprise.run": record.id,
      "reprise.tenant": record.tenant,
      "reprise.saga": record.saga,
      "reprise.version": record.version,
      "reprise.step": row.step,
      "reprise.seq": row.seq,
      "reprise.attempt": attempt,
      "reprise.operation_id": id,
      "reprise.effect": row.call.effect,
      "reprise.worker": owner,
    });
    const parent = this.#parents.parentOf(record, now);
    const links = [...parent.links, ...(delivered === null ? [] : [{ context: delivered }])];
    return this.#spans.under(parent, nameOf(kind, row.step), { kind: kinds.client, links }, attributes);
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
    this.#drop(runKey(run));
    this.#parents.forget(run);
    if (!this.#parents.isLong(record, now)) return;
    const links = [this.#parents.linkTo(record)];
    const span = this.#spans.make(`resume ${record.saga}`, { root: true, attributes: aboutRun(record), links });
    span.end();
    this.#parents.goOn(run, span);
  }

  #committed(fact: CommittedFact): void {
    this.#endCalls(fact);
    for (const move of movesOf(fact)) this.#past.tell(fact, move);
    if (fact.record.endedAt !== null) this.#parents.forget(fact.run);
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

  #within<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
    const { context, trace } = this.#otel;
    return context.with(trace.setSpan(context.active(), span), work);
  }
}

/** What came of a call that is routed is written by the driver of the run, elsewhere. */
function endWith(called: Promise<unknown>, span: Span): void {
  called.then(
    () => span.end(),
    () => {
      span.setStatus(failedStatus);
      span.end();
    },
  );
}
