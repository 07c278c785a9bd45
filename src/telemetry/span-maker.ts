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
   * Its attributes are put together, and copied by the SDK, only where somebody may look at them: below a place that is not sampled
   * a sampler is shown none.
   */
  under({ context, isRoot, isDeclined }: Parent, name: string, options: SpanOptions, attributes: () => Given): Span {
    if (!isDeclined) {
      const given = { kind: kinds.internal, ...options, attributes: attributes() };
      return this.#tracer.startSpan(name, isRoot ? { ...given, root: true } : given, context);
    }
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
