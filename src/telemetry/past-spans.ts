/** Spans of what is over: told by the commit that says so, from the record's own times. Owns which of a commit's moves are one. */
import { type CommittedFact, operationId } from "../core/index.ts";
import { callUnderWay, type Move } from "./moves.ts";
import { failedStatus } from "./otel.ts";
import { type Attributes, aboutRun, nameOf, type SpanMaker } from "./span-maker.ts";
import type { TraceParents } from "./trace-parents.ts";

export class PastSpans {
  readonly #spans: SpanMaker;
  readonly #parents: TraceParents;
  readonly #namespace: string;

  constructor(spans: SpanMaker, parents: TraceParents, namespace: string) {
    this.#spans = spans;
    this.#parents = parents;
    this.#namespace = namespace;
  }

  tell(fact: CommittedFact, move: Move): void {
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
    const told = () => ({ ...aboutRun(record), "reprise.revision": record.revision, ...attributes });
    const parent = this.#parents.parentOf(record, entry.at);
    const span = this.#spans.under(parent, name, { startTime: since, links: [...parent.links] }, told);
    if (failed) span.setStatus(failedStatus);
    span.end(Math.max(since, entry.at));
  }
}
