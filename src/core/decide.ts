/**
 * `begin` makes a run's first record, `decide` gives the commit to write. Everything that happens to a run is decided
 * here and in the files beside it, as pure functions of the run, the facts and a time (design section 2).
 *
 * Invariants: D1 same run, facts and input: same decision. D2 a cancel that is at hand is taken before any outcome. D3 facts
 * are folded in the order in which they were learnt. D4 every decision ends in `finish`, so status, waits and the wanted
 * time always follow from the record. D5 a run that is driven by another version's machine moves to it first, or is left to
 * others as it was.
 */

import { readAttributes } from "./attributes.ts";
import { keepTime } from "./bounds/budget-limits.ts";
import { newBudgets, takeSpend } from "./bounds/budgets.ts";
import { passDeadline } from "./bounds/deadlines.ts";
import { askForMore, shareOut, withShares } from "./bounds/shares.ts";
import { probed } from "./calls/find-out.ts";
import { grantDue } from "./calls/grant.ts";
import { keepProgress } from "./calls/progress.ts";
import { settle } from "./calls/settle.ts";
import { parkPoisoned, takeOver, takePermits } from "./calls/take-over.ts";
import { takeTool } from "./calls/tools.ts";
import { isToMove, moveFirst } from "./change/migrate.ts";
import { takeRemembered } from "./change/rollback.ts";
import { lookedAt } from "./company/children.ts";
import { claimed, orderIntents, published } from "./company/claims.ts";
import { awaitsTurn, limitOf, takeTurnAnswer, takeTurnGiven } from "./company/limits.ts";
import type { BeginInput, DecideInput, Decision, DriverFact } from "./decision.ts";
import { entryDigest, hashOf } from "./digest.ts";
import { type Draft, draftOf, isParked, note } from "./draft.ts";
import { finish } from "./finish.ts";
import { attend, goForward } from "./forward.ts";
import { holdMissing } from "./hold.ts";
import { receive, takeControls, takeNext, takeWords } from "./inbox.ts";
import { passApprovalTime } from "./people/approvals.ts";
import type { LogEntry, Run, RunRecord, Timer } from "./run/index.ts";
import { hasEnded } from "./run/index.ts";
import { sizeOf } from "./size.ts";
import { beginMachine, feed } from "./turn.ts";
import { goOnFromSavepoint } from "./unwind/rewind.ts";
import { isToBeUndone, takeUndo } from "./unwind/undo.ts";
import { goBack } from "./unwind/unwind.ts";

export type * from "./decision.ts";

/** Rounds of inbox, timers and rows within one decision; what is left after them is left to the next one. */
const maxRounds = 1_000;

/** The first record of a run, and the first entry of its log. */
export function begin(input: BeginInput): { readonly record: RunRecord; readonly log: LogEntry } {
  const { saga } = input.machine;
  const first = { revision: 1, to: "running", taken: [{ what: "created" }] } as const;
  const digest = entryDigest(input.hash, first, null);
  const record: RunRecord = {
    format: 1,
    tenant: input.tenant,
    id: input.id,
    saga: saga.name,
    version: saga.version,
    hash: input.hash,
    pool: saga.pool,
    priority: input.priority,
    input: input.input,
    inputHash: hashOf(input.input),
    revision: 1,
    status: "running",
    rollback: "none",
    cause: null,
    snapshot: null,
    output: null,
    rows: 0,
    open: [],
    asks: [],
    regionEntries: {},
    timers: [],
    waitingFor: null,
    review: null,
    reviews: 0,
    cancel: null,
    paused: false,
    unwind: null,
    interruptions: 0,
    replays: input.replays ?? 0,
    replayOf: input.replayOf ?? null,
    savepoints: [],
    parent: input.parent ?? null,
    limit: limitOf(saga, input.input),
    budgets: withShares(newBudgets(saga, input.input), input.shares),
    deadlineAt: saga.deadline === null ? null : input.startAt + saga.deadline.ms,
    trace: input.trace ?? null,
    migratedFrom: null,
    logFrom: 1,
    logMark: null,
    knownTo: null,
    seen: 0,
    attributes: {},
    bytes: sizeOf(input.input),
    createdAt: input.now,
    startAt: input.startAt,
    endedAt: null,
    logDigest: digest,
  };
  return { record, log: { ...first, at: input.now, from: null, actor: "client", fence: 0, digest } };
}

/** What follows from `facts` for `run`, now. */
export function decide(run: Run, facts: readonly DriverFact[], input: DecideInput): Decision {
  const draft = draftOf(run, input);
  hear(draft, facts);
  if (run.missing !== undefined) {
    holdMissing(draft, run.missing, facts);
    return finish(draft);
  }
  if (facts.some(({ type }) => type === "turn_given")) takeTurnGiven(draft);
  if (isToMove(draft) && !moveFirst(draft)) {
    draft.handsOver = true;
    return finish(draft);
  }
  const isOver = hasEnded(run.record.status);
  if (isOver && !isReopened(draft, facts)) return finish(draft);
  takeControls(draft);
  for (const fact of facts) if (!isOver || fact.type !== "result") takeFact(draft, fact);
  settleDown(draft);
  readAttributes(draft);
  shareOut(draft);
  grantDue(draft);
  askForMore(draft);
  orderIntents(draft);
  return finish(draft);
}

/** What all facts say of the inbox, of permits, of stopping and of what was forgotten is known before anything is decided: it may have come last. */
function hear(draft: Draft, facts: readonly DriverFact[]): void {
  for (const fact of facts) {
    if (fact.type === "stopping") draft.stopping = true;
    if (fact.type === "inbox") receive(draft, fact.entries);
    if (fact.type === "acquired" && fact.remembered !== undefined) takeRemembered(draft, fact.remembered);
    if (fact.type === "acquired" || fact.type === "permitted") takePermits(draft, fact.permits);
  }
  receive(draft, []);
}

/** An ended run is moved by a late result that contradicts it, by a request to undo it, and by nothing else. */
function isReopened(draft: Draft, facts: readonly DriverFact[]): boolean {
  for (const fact of facts) if (fact.type === "result") settle(draft, { ...fact, proof: "late" });
  takeWords(draft);
  return draft.open.length > 0 || isToBeUndone(draft);
}

function takeFact(draft: Draft, fact: DriverFact): void {
  switch (fact.type) {
    case "acquired":
      return takeOver(draft, fact);
    case "result":
      settle(draft, { ...fact, proof: "answer" });
      return attend(draft, fact.seq);
    case "child":
      lookedAt(draft, fact);
      return attend(draft, fact.seq);
    case "probed":
      probed(draft, fact, fact);
      return attend(draft, fact.seq);
    case "progress":
      return keepProgress(draft, fact);
    case "spend":
      return takeSpend(draft, fact);
    case "tool":
      return takeTool(draft, fact);
    case "claimed":
      claimed(draft, fact);
      return attend(draft, fact.seq);
    case "published":
      return published(draft, fact);
    case "turn":
      return takeTurnAnswer(draft, fact);
    case "turn_given":
    case "stopping":
    case "permitted":
    case "inbox":
    case "tick":
      return;
  }
}

/** Until nothing follows any more. */
function settleDown(draft: Draft): void {
  for (let round = 0; round < maxRounds; round += 1) if (!takeRound(draft)) return;
  draft.more = true;
}

/** One round; `true`: there may be more to do. */
function takeRound(draft: Draft): boolean {
  const writes = draft.writes;
  const { record, input } = draft;
  parkPoisoned(draft);
  passDeadline(draft);
  keepTime(draft);
  const mayBegin = record.startAt <= input.now && !awaitsTurn(draft);
  if (record.snapshot === null && record.unwind === null && !isParked(draft) && mayBegin) beginMachine(draft);
  if (record.unwind === null) goForward(draft);
  if (record.unwind !== null) draft.next = goBack(draft, record.unwind);
  goOnFromSavepoint(draft);
  return takeNext(draft) || passApprovalTime(draft) || fireTimer(draft) || takeUndo(draft) || draft.writes !== writes;
}

/** The earliest timer that is due; one a round, since each may cancel the others. `false`: none is. */
function fireTimer(draft: Draft): boolean {
  const { record, input } = draft;
  if (record.unwind !== null || record.paused || isParked(draft) || awaitsTurn(draft)) return false;
  const due = earliest(record.timers.filter((timer) => timer.at <= input.now));
  if (due === undefined) return false;
  record.timers = record.timers.filter((timer) => timer !== due);
  note(draft, { what: "timer", id: due.id });
  if (!feed(draft, { type: "timer", event: due.event })) record.timers = [...record.timers, due];
  return true;
}

function earliest(timers: readonly Timer[]): Timer | undefined {
  return timers.reduce<Timer | undefined>(
    (first, timer) => (first === undefined || timer.at < first.at ? timer : first),
    undefined,
  );
}
