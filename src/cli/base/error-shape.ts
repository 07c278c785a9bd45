/** Owns: an error as programs read it, and what a person is told beside its message. */
import { type ErrorCode, errorCodeOf, RepriseError, runbookOf } from "../../errors.ts";
import { Declined, describeError, Interrupted, UsageError } from "../exit.ts";

/** The one document about an error; with `--json` and `--jsonl` it is the last line on stderr. */
export interface ErrorDocument {
  readonly error: {
    /** One of the codes of `errorCodes`, or `USAGE`, `DECLINED`, `INTERRUPTED`, `UNEXPECTED`. */
    readonly code: string;
    readonly message: string;
    /** What to do next; `null`: the message says it. */
    readonly hint: string | null;
    /** The page about it, from the directory of the package; `null`: it has none. */
    readonly runbook: string | null;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

export function errorDocument(error: unknown): ErrorDocument {
  const hint = hintFor(error);
  if (error instanceof RepriseError) {
    const { code, message, runbook, details } = error;
    return { error: { code, message, hint, runbook, details } };
  }
  const code = errorCodeOf(error);
  if (code !== null)
    return { error: { code, message: describeError(error), hint, runbook: runbookOf(code), details: {} } };
  return { error: { code: wordFor(error), message: describeError(error), hint, runbook: null, details: {} } };
}

function wordFor(error: unknown): string {
  if (error instanceof UsageError) return "USAGE";
  if (error instanceof Declined) return "DECLINED";
  return error instanceof Interrupted ? "INTERRUPTED" : "UNEXPECTED";
}

/** The next command, where one is known to help. */
const hints: Partial<Readonly<Record<ErrorCode, string>>> = {
  RUN_NOT_FOUND: "`reprise runs list` shows those of one tenant; another one is named with --tenant",
  SAGA_UNKNOWN: "name the module that exports it under `sagas` in reprise.config.ts",
  RUN_NEEDS_REVIEW: "`reprise dlq show <run>` says what is known and what may be done",
  RUN_FAILED: "`reprise runs timeline <run>` shows what it did and what was undone",
  REVIEW_GONE: "`reprise runs show <run>` says how it stands now",
  REVIEW_TAKEN: "`reprise runs show <run>` says how it stands now",
  RUN_CONFLICT: "`reprise runs show <run>` shows the one that is there; --id names another",
  RUN_ENDED: "`reprise runs show <run>` says how it ended",
  RESULT_TIMEOUT: "`reprise runs watch <run>` waits on",
  VERB_REFUSED: "`reprise dlq show <run>` says what a parked run takes, and the command for each",
  APPROVAL_FORBIDDEN: "`reprise approvals show <id>` says who may decide and how; --by and --role say who does",
  SCHEDULE_NOT_FOUND: "`reprise schedules list` shows those of the namespace",
  WORKER_NOT_FOUND: "`reprise workers list` shows those that were heard of",
  PLAN_TAKEN: "`reprise replay plan <run>` makes a new one",
  STALE_REVISION: "look again, then decide again",
  APPROVAL_GONE: "`reprise approvals list` shows what is asked now",
  APPROVAL_STALE: "`reprise approvals show <id>` shows what would be carried out now",
  PLAN_GONE: "`reprise replay plan <run>` makes a new one",
  PLAN_REFUSED: "`reprise dlq show <run>` says who has to decide what; --override is for whoever means it",
  STORE_UNAVAILABLE:
    "is Redis there? `reprise health` asks it; --redis, REDIS_URL and reprise.config.ts say where it is",
  CURSOR_INVALID: "a cursor is what the page before gave as nextCursor, for the same query",
};

function hintFor(error: unknown): string | null {
  if (!(error instanceof RepriseError)) return null;
  const { code, message, details } = error;
  if (code === "STORE_UNAVAILABLE" && /\b(?:WRONGPASS|NOAUTH|NOPERM)\b/.test(message)) return refusedByRedis;
  if (code === "RUN_NOT_FOUND" && "effect" in details)
    return hintOn("`reprise effects list --run <run>` shows what it has", details);
  const hint = hints[code];
  return hint === undefined ? null : hintOn(hint, details);
}

const refusedByRedis =
  "Redis answers, and does not let us in: user and password stand in the address (redis://<user>:<password>@host:6379), which --redis, REDIS_URL and reprise.config.ts name";

/** With the run that it is about, as every command takes it. */
function hintOn(hint: string, { tenant, run, id = run }: ErrorDocument["error"]["details"]): string {
  const isNamed = typeof tenant === "string" && typeof id === "string";
  return isNamed ? hint.replaceAll("<run>", `${tenant}/${id}`) : hint;
}
