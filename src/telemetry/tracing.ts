/**
 * Runs as traces. Owns which spans there are and what they hang on. A run keeps the traceparent it was started under; every span
 * of it, in whichever process and after whatever crash, hangs on that, so that one trace tells the whole run.
 *
 * Invariants: T1 what tells of an outcome ends when that is committed: a call whose worker has lost the run says that it is not.
 * T2 a call that a crash has cut off is told by whoever takes the run over, from the record. T3 a run taken up later than
 * `longAfterMs` after its start goes on in a new trace, linked to the first: no backend keeps one open for a week. T4 no
 * attribute is set but those of `Attributes`; no message, input or output ever is. T5 nothing here fails what it watches.
 */
import type { CommittedFact, Fact, Facts, TracedCall, Tracing } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { CallSource, type Makers } from "./call-source.ts";
import { type Followed, FollowedRuns, type OpenCall } from "./followed-runs.ts";
import { LateContext, LateSpan, tell } from "./late-spans.ts";
import { callUnderWay, movesOf } from "./moves.ts";
import { failedStatus, kinds, type Otel, type OtelContext, type SpanContext } from "./otel.ts";
import { type PastSpan, pastSpans } from "./past-spans.ts";
import { type Attributes, aboutRun, SpanMaker } from "./span-maker.ts";
import { type TraceOptions, TraceParents } from "./trace-parents.ts";
import { traceparentOf } from "./traceparent.ts";

export interface RunTracing {
  readonly tracing: Tracing;
  readonly facts: Facts;
  /** The trace that is active here and now; `null`: none is. */
  readonly activeTrace: () => string | null;
}

const standard: Required<TraceOptions> = { longAfterMs: 3_600_000, untracedRatio: 1 };

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
  readonly #makers: Makers;
  readonly #namespace: string;
  readonly #runs = new FollowedRuns(letGo);

  constructor(otel: Otel, namespace: string, options: Required<TraceOptions>) {
    this.#otel = otel;
    this.#makers = { spans: new SpanMaker(otel), parents: new TraceParents(otel, namespace, options) };
    this.#namespace = namespace;
  }

  active(here: OtelContext = this.#otel.context.active()): SpanContext | null {
    const { trace } = this.#otel;
    const place = trace.getSpan(here)?.spanContext();
    return place !== undefined && trace.isSpanContextValid(place) ? place : null;
  }

  // ---- starts

  async start<Result>(
    { tenant, saga, version }: Parameters<Tracing["start"]>[0],
    work: (trace: string | null) => Promise<Result>,
  ): Promise<Result> {
    const about = { "reprise.tenant": tenant, "reprise.saga": saga, "reprise.version": version };
    const span = this.#makers.spans.make(`start ${saga}`, { kind: kinds.producer, attributes: about });
    const place = span.spanContext();
    // Without an SDK the span is an empty one, and nobody follows.
    const trace = this.#otel.trace.isSpanContextValid(place) ? traceparentOf(place) : null;
    try {
      const { context } = this.#otel;
      return await context.with(this.#otel.trace.setSpan(context.active(), span), () => work(trace));
    } catch (error) {
      span.setStatus(failedStatus);
      throw error;
    } finally {
      span.end();
    }
  }

  // ---- calls

  call<Result>(call: TracedCall, work: () => Promise<Result>): Promise<Result> {
    const run = this.#runs.of(call.record);
    const here = this.#otel.context.active();
    const span = new LateSpan(new CallSource(this.#makers, run, call, this.active(here)));
    const called = this.#otel.context.with(new LateContext(this.#otel, here, span), work);
    if (call.routed) endWith(called, span);
    // (No look at what it answers: that would be a promise a call more, and each is dear while a context follows them.)
    else run.open = [...run.open, { call, span }];
    return called;
  }

  // ---- facts

  hear(fact: Fact): void {
    if (fact.fact === "committed") this.#committed(fact);
    else if (fact.fact === "acquired") this.#acquired(fact);
    else if (fact.fact === "fenced" || fact.fact === "stale" || fact.fact === "lease_lost") {
      const run = this.#runs.find(fact.run);
      if (run !== undefined) letGo(run);
    }
  }

  /** A lease begins: what was open of the run here belonged to one that is over. */
  #acquired({ run: ref, record, now }: Extract<Fact, { fact: "acquired" }>): void {
    const run = this.#runs.of(ref);
    letGo(run);
    run.later = null;
    if (!this.#makers.parents.isLong(record, now)) return;
    const links = [this.#makers.parents.linkTo(record)];
    const span = this.#makers.spans.make(`resume ${record.saga}`, { root: true, attributes: aboutRun(record), links });
    span.end();
    run.later = this.#makers.parents.after(span);
  }

  #committed(fact: CommittedFact): void {
    const { record } = fact;
    const run = this.#runs.of(fact.run);
    if (run.open.length > 0) run.open = run.open.filter((open) => !endedBy(fact, open));
    for (const move of movesOf(fact)) {
      for (const past of pastSpans(fact, move, this.#namespace)) this.#tellPast(fact, past, run);
    }
    if (record.endedAt !== null) this.#runs.delete(fact.run);
  }

  #tellPast({ record, entry }: CommittedFact, { name, since, about, failed }: PastSpan, run: Followed): void {
    const { spans, parents } = this.#makers;
    const make = () => {
      const parent = parents.parentOf(record, entry.at, run);
      const options = { kind: kinds.internal, startTime: since, links: [...parent.links] };
      return spans.under(parent, name, options, () => aboutRun(record));
    };
    tell(make, { "reprise.revision": record.revision, ...about }, failed, Math.max(since, entry.at));
  }
}

/** Its calls are not heard of any more here. */
function letGo(run: Followed): void {
  for (const { span } of run.open) span.end({ "reprise.committed": false } satisfies Attributes, true);
  run.open = [];
}

/** Ends the span of a call whose outcome this commit has put on record. */
function endedBy({ record, rows, entry }: CommittedFact, { call, span }: OpenCall): boolean {
  const { row, kind, send } = call;
  const now = rows[row.seq - 1];
  const made = kind === "undo" ? now?.undo?.call : kind === "action" ? now?.call : callUnderWay(now);
  const isProbed = kind === "probe" && entry.taken.some((taken) => taken.what === "probed" && taken.seq === row.seq);
  const isOver = kind === "probe" ? isProbed : made?.send !== send || made.state !== "sent";
  if (!isOver) return false;
  // A repeat that was granted with the outcome has taken the row's state: what failed is in its error.
  const state = made?.send === send ? made.state : "not_applied";
  const outcome = state === "planned" ? "not_applied" : state;
  const told = { "reprise.outcome": outcome ?? "gone", "reprise.committed": true, "reprise.revision": record.revision };
  span.end(told satisfies Attributes, outcome !== "succeeded");
  return true;
}

/** What came of a call that is routed is written by the driver of the run, elsewhere. */
function endWith(called: Promise<unknown>, span: LateSpan): void {
  called.then(
    () => span.end({}, false),
    () => span.end({}, true),
  );
}
