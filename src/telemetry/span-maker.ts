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

interface Options extends SpanOptions {
  readonly attributes: Attributes & NonNullable<SpanOptions["attributes"]>;
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

  under({ context, isRoot }: Parent, name: string, options: Options): Span {
    return this.make(name, isRoot ? { ...options, root: true } : options, context);
  }
}

export function aboutRun({ tenant, id, saga, version }: RunRecord) {
  return { "reprise.run": id, "reprise.tenant": tenant, "reprise.saga": saga, "reprise.version": version } as const;
}

export function nameOf(kind: TracedCall["kind"], step: string): string {
  return kind === "action" ? `step ${step}` : `${kind} ${step}`;
}
