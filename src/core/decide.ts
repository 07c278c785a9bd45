/**
 * `begin` makes a run's first record, `decide` gives the commit to write. Everything that happens to a run is decided
 * here and in the files beside it, as pure functions of the run, the facts and a time (design section 2).
 *
 * Invariants: D1 same run, facts and input: same decision. D2 a cancel that is at hand is taken before any outcome. D3 facts
 * are folded in the order in which they were learnt. D4 every decision ends in `finish`, so status, waits and the wanted
 * time always follow from the record.
 */
import { interrupt, probed, settle } from "./calls.ts";
import type { BeginInput, DecideInput, Decision, DriverFact } from "./decision.ts";
import { digestOf, hashOf } from "./digest.ts";
import { type Draft, draftOf, isParked, note, park, patchCall } from "./draft.ts";
import { finish } from "./finish.ts";
import { grantDue } from "./grant.ts";
import { receive, takeControls, takeInbox } from "./inbox.ts";
import type { PermitState } from "./ports.ts";
import type { LogEntry, Run, RunRecord } from "./run.ts";
import { hasEnded } from "./run.ts";
import { beginMachine, feed, tell } from "./turn.ts";
import { stepUnwind } from "./unwind.ts";

export type * from "./decision.ts";

/** Owner deaths before the first outcome, with nothing sent, before a run is parked. */
const poisonLimit = 3;
/** Rounds of inbox, timers and unwind within one decision; a bound, not a policy. */
const maxRounds = 1_000;

/** The first record of a run, and the first entry of its log. */
export function begin(input: BeginInput): { readonly record: RunRecord; readonly log: LogEntry } {
  const { saga } = input.machine;
  const digest = digestOf(JSON.stringify(["", 1, "running", null, input.hash]));
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
    regionEntries: {},
    timers: [],
    waitingFor: null,
    review: null,
    reviews: 0,
    cancel: null,
    paused: false,
    unwind: null,
    interruptions: 0,
    seen: 0,
    attributes: {},
    createdAt: input.now,
    startAt: input.startAt,
    endedAt: null,
    logDigest: digest,
  };
  const taken = [{ what: "created" }] as const;
  return { record, log: { revision: 1, at: input.now, from: null, to: "running", taken, actor: "client", fence: 0, digest } };
}

/** What follows from `facts` for `run`, now. */
export function decide(run: Run, facts: readonly DriverFact[], input: DecideInput): Decision {
  const draft = draftOf(run, input);
  for (const fact of facts) if (fact.type === "inbox") receive(draft, fact.entries);
  if (run.inbox.length > 0) receive(draft, run.inbox);
  if (hasEnded(run.record.status)) return afterTheEnd(draft);
  takeControls(draft);
  for (const fact of facts) takeFact(draft, fact);
  settleDown(draft);
  grantDue(draft);
  return finish(draft);
}

/** An ended run is moved by a late result that contradicts, and by nothing else yet. */
function afterTheEnd(draft: Draft): Decision {
  takeInbox(draft);
  return finish(draft);
}

function takeFact(draft: Draft, fact: DriverFact): void {
  switch (fact.type) {
    case "acquired":
      return takeOver(draft, fact.takenFrom, fact.permits);
    case "result":
      return settle(draft, fact.seq, fact.send, fact.side, fact.result, "answer");
    case "probed":
      return probed(draft, fact.seq, fact.side, fact);
    case "permitted":
      for (const permit of fact.permits) takePermitted(draft, permit);
      return;
    case "stopping":
      draft.stopping = true;
      return;
    case "inbox":
    case "tick":
      return;
  }
}

// ---- taking over

type TakenFrom = Extract<DriverFact, { type: "acquired" }>["takenFrom"];

function takeOver(draft: Draft, takenFrom: TakenFrom, permits: readonly PermitState[]): void {
  const { record } = draft;
  const blocked = record.snapshot === null ? null : draft.input.machine.blocked(record.snapshot);
  if (blocked !== null) return parkBlocked(draft, blocked);
  const died = takenFrom?.died ?? false;
  const sent = draft.rows.filter((row) => isForeign(draft, row.call) || isForeign(draft, row.undo?.call ?? null));
  if (died && sent.length === 0) countDeath(draft);
  for (const row of sent) {
    if (isForeign(draft, row.call)) interrupt(draft, row.seq, "action", died);
    if (isForeign(draft, row.undo?.call ?? null)) interrupt(draft, row.seq, "undo", died);
  }
  takeOverOffers(draft, permits);
}

function isForeign(draft: Draft, call: { readonly state: string; readonly fence: number | null } | null): boolean {
  return call?.state === "sent" && call.fence !== null && call.fence !== draft.input.fence;
}

function countDeath(draft: Draft): void {
  draft.record.interruptions += 1;
  note(draft, { what: "resumed", note: "the worker that held it died" });
  if (draft.record.interruptions < poisonLimit) return;
  const message = `its worker died ${poisonLimit} times in a row while driving it`;
  park(draft, { reason: "poison", message, seq: null, side: null, evidence: null, verbs: ["retry", "close"] });
}

function parkBlocked(draft: Draft, why: string): void {
  park(draft, { reason: "blocked", message: why, seq: null, side: null, evidence: null, verbs: ["retry", "close"] });
}

/** Offered rows: with a live permit somebody is at it; with an expired one it was sent; with none it is offered again. */
function takeOverOffers(draft: Draft, permits: readonly PermitState[]): void {
  for (const row of draft.rows) {
    const permit = permits.find((candidate) => candidate.seq === row.seq && candidate.send === row.call.send);
    const remote = row.call.state === "offered" || (row.call.state === "sent" && row.call.fence === null);
    if (!remote) continue;
    if (permit?.expired) expirePermit(draft, permit);
    else if (permit !== undefined) draft.permits.set(row.seq, { until: permit.until });
    else if (row.call.state === "offered") offerAgain(draft, row.seq, row.call.send);
    else interrupt(draft, row.seq, "action", false);
  }
}

function expirePermit(draft: Draft, permit: PermitState): void {
  takePermitted(draft, permit);
  draft.settledPermits.push(permit.seq);
  interrupt(draft, permit.seq, "action", false);
}

function offerAgain(draft: Draft, seq: number, send: number): void {
  const row = draft.rows[seq - 1];
  const queue = row === undefined ? null : (draft.input.machine.saga.steps[row.step]?.queue ?? null);
  if (queue !== null) draft.offers.push({ seq, send, side: "action", queue });
}

/** A permit means that the offered row is sent. */
function takePermitted(draft: Draft, permit: PermitState): void {
  const row = draft.rows[permit.seq - 1];
  if (row === undefined || row.call.send !== permit.send || row.call.state !== "offered") return;
  const firstSentAt = row.call.firstSentAt ?? permit.sentAt;
  patchCall(draft, permit.seq, "action", { state: "sent", fence: null, sentAt: permit.sentAt, firstSentAt, deadline: permit.deadline, nextAt: null });
  note(draft, { what: "sent", seq: permit.seq });
  draft.permits.set(permit.seq, { until: permit.until });
}

// ---- until nothing follows any more

function settleDown(draft: Draft): void {
  if (draft.record.snapshot === null && draft.record.unwind === null && !isParked(draft)) beginMachine(draft);
  for (let round = 0; round < maxRounds; round += 1) {
    const before = draft.taken.length + draft.consumed.length + draft.changed.size;
    takeInbox(draft);
    tellAgain(draft);
    fireTimer(draft);
    if (draft.record.unwind !== null && !isParked(draft)) stepUnwind(draft);
    if (before === draft.taken.length + draft.consumed.length + draft.changed.size) return;
  }
}

/** Outcomes that could not be told before (a defect, a pause, a parked run). */
function tellAgain(draft: Draft): void {
  if (isParked(draft) || draft.record.paused) return;
  for (const row of draft.rows) {
    const final = row.call.state === "succeeded" || row.call.state === "not_applied";
    if (final && !row.told && !isParked(draft)) tell(draft, row.seq);
  }
}

/** The earliest timer that is due; one a round, since each may cancel the others. */
function fireTimer(draft: Draft): void {
  const { record, input } = draft;
  if (record.unwind !== null || record.paused || isParked(draft)) return;
  const due = record.timers.filter((timer) => timer.at <= input.now).sort((a, b) => a.at - b.at)[0];
  if (due === undefined) return;
  record.timers = record.timers.filter((timer) => timer !== due);
  note(draft, { what: "timer", id: due.id });
  if (!feed(draft, { type: "timer", event: due.event })) record.timers = [...record.timers, due];
}
