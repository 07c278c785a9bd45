/**
 * The end of a decision: the commit that says what has changed, and what the driver does next. Invariant: the lease is
 * given back in the same write after which nothing is left to do.
 */

import { keepLogShort } from "./change/log-base.ts";
import { type Commit, listingsOf } from "./commit.ts";
import { orderTurn } from "./company/limits.ts";
import type { Decision } from "./decision.ts";
import { entryDigest } from "./digest.ts";
import { type Draft, isDirty, isParked } from "./draft.ts";
import { openApprovalSlots } from "./people/approvals.ts";
import { keepUntilOf, withExpiry } from "./retention.ts";
import type { LogEntry, Row, RunRecord } from "./run/index.ts";
import { hasEnded } from "./run/index.ts";
import { conclude } from "./status.ts";
import { attentionOf } from "./wanted.ts";

/** Makes the decision of a draft. */
export function finish(draft: Draft): Decision {
  const isWritten = isDirty(draft);
  if (isWritten && !draft.handsOver) conclude(draft);
  if (draft.before.missing === undefined && !draft.handsOver) orderTurn(draft);
  const { hold, wanted, due } = attentionOf(draft);
  const { inbox } = draft;
  const commit = isWritten ? commitOf(draft, due, !hold) : null;
  const next = hold ? "hold" : commit === null ? "release" : "released";
  return {
    commit,
    // What `evolve` makes of it, without the copies.
    run: commit === null ? { ...draft.before, inbox } : { record: commit.record, rows: draft.rows, inbox },
    calls: draft.calls,
    offers: draft.offers,
    claims: draft.claims,
    publishes: draft.publishes,
    turn: draft.turn,
    abort: draft.abort,
    wanted: hold ? wanted : due,
    // biome-ignore lint/suspicious/noThenProperty: a word, never a function, so nobody takes it for a promise
    then: next,
  };
}

function commitOf(draft: Draft, due: number | null, release: boolean): Commit {
  const { before, input, revision } = draft;
  keepLogShort(draft);
  const log = logOf(draft);
  const record: RunRecord = Object.assign(draft.record, { revision, logDigest: log.digest });
  const keepUntil = keepUntilOf(draft);
  return {
    commitId: input.commitId,
    run: { tenant: record.tenant, id: record.id },
    expects: before.record.revision,
    record,
    rows: changedRows(draft),
    log,
    lost: draft.lost,
    consumed: draft.consumed,
    seen: record.seen,
    ...withExpiry(memberships(before.record, record), draft, keepUntil),
    keepUntil,
    openSlots: [...(record.review === null ? [] : [`review:${record.review.n}`]), ...openApprovalSlots(draft)],
    now: input.now,
    due,
    release,
    mustSee: draft.mustSee || release || isParked(draft) || hasEnded(record.status),
    withdraw: draft.withdraw,
    settledPermits: draft.settledPermits,
    abortPermits: draft.abortPermits,
  };
}

/** A row that was written is another value than before. */
function changedRows({ before, rows }: Draft): readonly Row[] {
  return rows.filter((row, index) => row !== before.rows[index]);
}

function memberships(before: RunRecord, after: RunRecord): Pick<Commit, "leave" | "join"> {
  const isSame = before.status === after.status && before.attributes === after.attributes;
  const isSameSaga = before.hash === after.hash && before.version === after.version;
  if (isSame && isSameSaga && before.asks.length > 0 === after.asks.length > 0) return { leave: [], join: [] };
  const left = listingsOf(before);
  const joined = listingsOf(after);
  return {
    leave: left.filter((list) => !joined.includes(list)),
    join: joined.filter((list) => !left.includes(list)),
  };
}

function logOf({ before, input, record, taken, revision }: Draft): LogEntry {
  const { status: to, snapshot } = record;
  return {
    revision,
    at: input.now,
    from: before.record.status,
    to,
    taken,
    actor: input.actor,
    fence: input.fence,
    digest: entryDigest(before.record.logDigest, { revision, to, taken }, snapshot),
  };
}
