/** What the late spans of a run are made of. Owns what they say from their beginning on, and what they hang on. */
import type { RunRecord, TracedCall } from "../core/index.ts";
import type { Followed } from "./followed-runs.ts";
import type { SpanSource } from "./late-spans.ts";
import { kinds, type Span, type SpanContext } from "./otel.ts";
import { aboutRun, nameOf, type SpanMaker } from "./span-maker.ts";
import type { Parent, TraceParents } from "./trace-parents.ts";

/** By whom they are made. */
export interface Makers {
  readonly spans: SpanMaker;
  readonly parents: TraceParents;
}

abstract class RunSource implements SpanSource {
  protected readonly makers: Makers;
  readonly #run: Followed;
  readonly #later: Parent | null;

  constructor(makers: Makers, run: Followed) {
    this.makers = makers;
    this.#run = run;
    this.#later = run.later;
  }

  abstract make(since: number): Span;

  /** Where the run went on when the source was made, not where it may by now. */
  protected parentAt(record: RunRecord, now: number): Parent {
    return this.#later ?? this.makers.parents.parentOf(record, now, this.#run);
  }
}

export class CallSource extends RunSource {
  readonly #call: TracedCall;
  readonly #delivered: SpanContext | null;

  /** `delivered`: the job that brought the run here, where BullMQ is followed too. */
  constructor(makers: Makers, run: Followed, call: TracedCall, delivered: SpanContext | null) {
    super(makers, run);
    this.#call = call;
    this.#delivered = delivered;
  }

  make(startTime: number): Span {
    const { record, row, kind, now } = this.#call;
    const parent = this.parentAt(record, now);
    const links = this.#delivered === null ? [...parent.links] : [...parent.links, { context: this.#delivered }];
    const options = { kind: kinds.client, startTime, links };
    return this.makers.spans.under(parent, nameOf(kind, row.step), options, () => aboutCall(this.#call));
  }
}

/** Of what a commit says is over. */
export class PastSource extends RunSource {
  readonly #record: RunRecord;
  readonly #name: string;
  readonly #now: number;

  constructor(makers: Makers, run: Followed, { record, name, now }: PastSourceParts) {
    super(makers, run);
    this.#record = record;
    this.#name = name;
    this.#now = now;
  }

  make(startTime: number): Span {
    const parent = this.parentAt(this.#record, this.#now);
    const options = { kind: kinds.internal, startTime, links: [...parent.links] };
    return this.makers.spans.under(parent, this.#name, options, () => aboutRun(this.#record));
  }
}

export interface PastSourceParts {
  readonly record: RunRecord;
  readonly name: string;
  readonly now: number;
}

function aboutCall({ record, row, attempt, operationId, owner }: TracedCall) {
  return {
    ...aboutRun(record),
    "reprise.step": row.step,
    "reprise.seq": row.seq,
    "reprise.attempt": attempt,
    "reprise.operation_id": operationId,
    "reprise.effect": row.call.effect,
    "reprise.worker": owner,
  } as const;
}
