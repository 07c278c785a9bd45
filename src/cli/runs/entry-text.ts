/** Owns: what an entry of a run's log says, in a few words each. */
import type { LogEntry, Row, Taken } from "../../core/index.ts";
import type { Out } from "../base/out.ts";

type Named = Pick<Row, "seq" | "step">;

/** Its facts one after the other. */
export function entryText({ taken }: LogEntry, rows: readonly Named[], out: Out): string {
  return taken.map((each) => out.text(takenText(each, rows, out))).join(", ");
}

function takenText(taken: Taken, rows: readonly Named[], out: Out): string {
  const step = "seq" in taken && typeof taken.seq === "number" ? (rows[taken.seq - 1]?.step ?? `row ${taken.seq}`) : "";
  const note = "note" in taken && taken.note !== undefined ? `: ${taken.note}` : "";
  switch (taken.what) {
    case "outcome":
      return `${step} ${taken.outcome} (${taken.proof})`;
    case "told":
      return taken.failure === null ? `told of ${step}` : `told that ${step} failed`;
    case "probed":
      return `asked about ${step}: ${taken.answer}${note === "" ? "" : ` (${taken.note})`}`;
    case "undo":
      return `undo of ${step} ${taken.state}${note}`;
    case "event":
      return `event ${taken.type} ${out.value(taken.payload)}`;
    case "timer":
      return `timer ${taken.id}`;
    case "verb":
      return `${taken.verb} by ${taken.by}`;
    case "control":
      return `${taken.mode ?? taken.control} by ${taken.by}: ${taken.reason}`;
    case "approval":
      return `approval of ${step} ${taken.state}${taken.by === undefined ? "" : ` by ${taken.by}`}${note}`;
    case "child":
      return `child of ${step} is ${taken.status}`;
    case "budget":
      return `budget ${taken.name} used ${taken.used}${taken.passed === undefined ? "" : `, ${taken.passed} limit passed`}`;
    case "migrated":
      return `version ${taken.from} to ${taken.to} by ${taken.by}`;
    case "late":
      return `late word on ${step}: ${taken.outcome}`;
    case "intent":
      return `intent of ${step} ${taken.state}`;
    case "published":
      return `published ${step} ${taken.became}`;
    case "rewound":
      return `stands at ${taken.state} again`;
    case "turn_taken":
      return `turn ${taken.state}`;
    case "unconsumed":
    case "discarded":
      return `${taken.what} ${taken.slot}`;
    case "sent":
    case "offered":
    case "withdrawn":
    case "abandoned":
    case "taken_back":
    case "interrupted":
    case "progress":
    case "tool":
      return `${step} ${taken.what}`;
    case "deadline":
      return step === "" ? "its time is over" : `the time of ${step} is over`;
    case "stood":
      return "the log can be read from here";
    case "restored":
      return `restored, as a worker remembered it: ${taken.note}`;
    case "created":
    case "begun":
    case "resumed":
    case "forgotten":
    case "parked":
    case "unwinding":
    case "ended":
    case "defect":
    case "refused":
    case "missing":
      return `${taken.what}${note}`;
  }
}
