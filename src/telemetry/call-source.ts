/** What the span of a call is made of, whenever that is. Owns what it says from its beginning on, and what it hangs on. */
import type { TracedCall } from "../core/index.ts";
import type { Followed } from "./followed-runs.ts";
import type { SpanSource } from "./late-spans.ts";
import { kinds, type Span, type SpanContext } from "./otel.ts";
import { aboutRun, nameOf, type SpanMaker } from "./span-maker.ts";
import type { Parent, TraceParents } from "./trace-parents.ts";

/** By whom spans are made. */
export interface Makers {
  readonly spans: SpanMaker;
  readonly parents: TraceParents;
}

export class CallSource implements SpanSource {
  readonly #makers: Makers;
  readonly #run: Followed;
  readonly #call: TracedCall;
  readonly #delivered: SpanContext | null;
  /** Where the run went on when it was called, not where it may by now. */
  readonly #later: Parent | null;

  /** `delivered`: the job that brought the run here, where BullMQ is followed too. */
  constructor(makers: Makers, run: Followed, call: TracedCall, delivered: SpanContext | null) {
    this.#makers = makers;
    this.#run = run;
    this.#call = call;
    this.#delivered = delivered;
    this.#later = run.later;
  }

  make(startTime: number): Span {
    const { record, row, kind, now } = this.#call;
    const { spans, parents } = this.#makers;
    const parent = this.#later ?? parents.parentOf(record, now, this.#run);
    const links = this.#delivered === null ? [...parent.links] : [...parent.links, { context: this.#delivered }];
    const options = { kind: kinds.client, startTime, links };
    return spans.under(parent, nameOf(kind, row.step), options, () => aboutCall(this.#call));
  }
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
