/** How spans are made and called. Invariant: no attribute is set but those of `Attributes` (T4 of tracing.ts). */
import type { RunRecord, TracedCall } from "../core/index.ts";
import { kinds, type Otel, type OtelContext, type Span, type SpanOptions } from "./otel.ts";
import type { Parent } from "./trace-parents.ts";

/** Everything that a span may say. */
export interface Attributes {
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

type Given = Attributes & NonNullable<SpanOptions["attributes"]>;

interface Options extends SpanOptions {
  readonly attributes: Given;
}

export class SpanMaker {
  readonly #otel: Otel;
  readonly #tracer: ReturnType<Otel["trace"]["getTracer"]>;

  constructor(otel: Otel) {
    this.#otel = otel;
    this.#tracer = otel.trace.getTracer("reprise");
  }

  /** Hangs on what is active here and now, unless a context is given. */
  make(name: string, options: Options, context: OtelContext = this.#otel.context.active()): Span {
    return this.#tracer.startSpan(name, { kind: kinds.internal, ...options }, context);
  }

  /**
   * Below a place whoever began the trace has decided whether it is recorded, and attributes are set once that is known: those that an
   * SDK is given beforehand it copies three times, to show them to a sampler that goes by the parent.
   */
  under({ context, isRoot }: Parent, name: string, options: SpanOptions, attributes: () => Given): Span {
    if (isRoot) return this.#tracer.startSpan(name, { ...options, root: true, attributes: attributes() }, context);
    const span = this.#tracer.startSpan(name, options, context);
    if (span.isRecording()) span.setAttributes(attributes());
    return span;
  }
}

export function aboutRun({ tenant, id, saga, version }: RunRecord) {
  return { "reprise.run": id, "reprise.tenant": tenant, "reprise.saga": saga, "reprise.version": version } as const;
}

export function nameOf(kind: TracedCall["kind"], step: string): string {
  return kind === "action" ? `step ${step}` : `${kind} ${step}`;
}
