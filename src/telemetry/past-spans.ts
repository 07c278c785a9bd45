/** Spans of what is over: told by the commit that says so, from the record's own times. Owns which of a commit's moves are one. */
import { type CommittedFact, operationId } from "../core/index.ts";
import { callUnderWay, type Move } from "./moves.ts";
import { type Attributes, nameOf } from "./span-maker.ts";

/** A span from a time of the record, ms since 1970, to the commit. */
export interface PastSpan {
  readonly name: string;
  readonly since: number;
  readonly about: Attributes;
  readonly failed: boolean;
}

export function pastSpans(fact: CommittedFact, move: Move, namespace: string): readonly PastSpan[] {
  const { record, entry, before } = fact;
  switch (move.is) {
    case "interrupted": {
      const { row } = move;
      const call = callUnderWay(before.rows[row.seq - 1]);
      const side = before.rows[row.seq - 1]?.undo?.call == null ? "action" : "undo";
      const about = {
        "reprise.step": row.step,
        "reprise.seq": row.seq,
        "reprise.operation_id": operationId(namespace, record, row, side),
        "reprise.outcome": "interrupted",
        "reprise.worker": entry.actor,
      };
      return [{ name: nameOf(side, row.step), since: call?.sentAt ?? entry.at, about, failed: true }];
    }
    case "approval": {
      const { approval, step, seq } = move.row;
      if (approval === null || approval.state === "asking") return none;
      const { state, since } = approval;
      const about = { "reprise.step": step, "reprise.seq": seq, "reprise.outcome": state };
      return [{ name: `approval ${step}`, since, about, failed: state !== "approved" }];
    }
    case "unparked": {
      const { reason, since } = move.review;
      return [{ name: "review", since, about: { "reprise.reason": reason }, failed: true }];
    }
    case "ended": {
      const { status, rollback, cause, saga, createdAt } = record;
      const unwind = before.record.unwind ?? record.unwind;
      const about = { "reprise.status": status, "reprise.rollback": rollback, "reprise.cause": cause?.kind ?? "" };
      const run = { name: `run ${saga}`, since: createdAt, about, failed: status !== "completed" };
      if (unwind === null) return [run];
      return [{ name: `unwind ${saga}`, since: unwind.at, about, failed: rollback !== "complete" }, run];
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
      return none;
  }
}

const none: readonly PastSpan[] = [];
