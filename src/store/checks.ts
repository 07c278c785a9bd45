/** Refusals that both adapters word alike. */
import { type AskTurnCommand, type Commit, idPattern, type LogEntry, runKey } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { maxEntriesWaiting, maxIntentOwnerChars, maxTurnLimit } from "./limits.ts";

/** The record and the log entry of a commit are the revision after the one it expects, and after what is lost between. */
export function assertNext({ run, expects, record, log, lost }: Commit): void {
  const next = expects + lost.length + 1;
  if (record.revision === next && log.revision === next && lost.every(isAfter(expects))) return;
  throw new RepriseError(
    "RECORD_CORRUPT",
    `a commit of run ${runKey(run)} on revision ${expects} must write the next`,
    {
      details: { run: runKey(run), expects, record: record.revision, log: log.revision },
    },
  );
}

function isAfter(expects: number): (entry: LogEntry, at: number) => boolean {
  return ({ revision }, at) => revision === expects + 1 + at;
}

/** New rows follow the ledger without a gap. */
export function gapIn(commit: Commit): RepriseError {
  const seqs = commit.rows.map((row) => row.seq);
  return new RepriseError(
    "RECORD_CORRUPT",
    `the rows of a commit of run ${runKey(commit.run)} leave a gap in its ledger`,
    {
      details: { run: runKey(commit.run), seqs },
    },
  );
}

/** A busy sender is stopped before the run's inbox grows without end. */
export function inboxFull(member: string): RepriseError {
  return new RepriseError(
    "PAYLOAD_TOO_LARGE",
    `run ${member} already keeps ${maxEntriesWaiting} entries nobody has taken`,
    {
      details: { run: member, maxEntriesWaiting },
    },
  );
}

/** An owner's name becomes part of what is stored: it is bounded, and it is not empty. */
export function assertIntentOwner(owner: string): void {
  if (owner.length >= 1 && owner.length <= maxIntentOwnerChars) return;
  throw new RepriseError("ID_INVALID", `the owner of an intent is named by 1 to ${maxIntentOwnerChars} characters`, {
    details: { owner: owner.slice(0, 80), maxIntentOwnerChars },
  });
}

/** Who stands in a line is a run, and its limit is one that was declared. */
export function assertTurn({ run, limit }: Pick<AskTurnCommand, "run" | "limit">): void {
  if (!idPattern.test(run)) {
    throw new RepriseError("ID_INVALID", "whoever takes turns is a run, named by its id", {
      details: { run: run.slice(0, 80) },
    });
  }
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxTurnLimit) return;
  throw new RepriseError("INPUT_INVALID", `a limit is a whole number from 1 to ${maxTurnLimit}`, {
    details: { limit },
  });
}
