/**
 * How a row comes by its intent, and what it owes the registry afterwards (design section 6, Intents, order of writes (a) to
 * (f)). Owns the states of a `RowIntent`; the registry itself is the store's, what a review asks is `reviews.ts`'s.
 *
 * Invariants: N1 a row that says `claiming` is committed before its claim is sent, so every claim has an owner on record. N2
 * what became of a claim is published when it is recorded, and until then the row is open: no claim is freed by age. N3 an
 * outcome that was reused belongs to its owner: it is neither published nor undone here. N4 no row claims anew before its
 * last claim is settled.
 */
import { decodeOutput, type Json } from "../../saga/index.ts";
import { mayProceed } from "../calls/clearance.ts";
import { answerReview } from "../calls/closing.ts";
import { planAgain } from "../calls/find-out.ts";
import type { ClaimOrder, DriverFact, PublishOrder } from "../decision.ts";
import { hashOf } from "../digest.ts";
import { consume, type Draft, isParked, note, patchCall, patchRow, rowAt, stepOf } from "../draft.ts";
import { intentOwner, wordOwed } from "../rows.ts";
import type { InboxBody, InboxEntry, IntentState, IntentWord, Proof, Row, RowIntent } from "../run/index.ts";
import { countChange } from "../size.ts";
import { type IntentOutcome, intentOf } from "./intents.ts";

/** How long a waiter lets pass before it asks again, where it will be told and where there was no room for it. */
const askAgainMs = { heard: 30_000, unheard: 5_000 } as const;

type Claimed = Extract<DriverFact, { readonly type: "claimed" }>;

/** Must the row get its intent (again) before its action may be granted? */
export function needsClaim({ intent }: Row): boolean {
  return intent !== null && (intent.state !== "mine" || intent.said !== null);
}

/** Says that the row asks for its intent from now on; the request follows once that is committed. */
export function claim(draft: Draft, { seq, intent }: Row): void {
  const before = intent as RowIntent;
  const isOver = before.claim === 0 || before.said !== null;
  const now: RowIntent = { ...before, state: "free", claim: before.claim + (isOver ? 1 : 0), said: null };
  patchRow(draft, seq, { intent: now });
  patchCall(draft, { seq, side: "action" }, { state: "claiming", nextAt: null });
  note(draft, { what: "intent", seq, state: "free" });
}

/** The claims to be sent (again), and the words to be published, once this decision is written. */
export function orderIntents(draft: Draft): void {
  if (draft.stopping) return;
  for (const seq of draft.open) {
    const row = rowAt(draft, seq);
    if (isClaimDue(draft, row)) draft.claims.push(claimOrder(draft, row));
    const word = wordOwed(row);
    if (word !== null && !isUnderWay(draft, seq)) draft.publishes.push(publishOrder(draft, row, word));
  }
}

/** A word that overtook its claim would be about nothing, and the claim that comes after it nobody's for ever. */
function isUnderWay({ input }: Draft, seq: number): boolean {
  return input.inFlight.has(`publish:${seq}`) || input.inFlight.has(`claim:${seq}`);
}

function isClaimDue(draft: Draft, row: Row): boolean {
  const { call, seq } = row;
  if (call.state !== "claiming" || draft.input.inFlight.has(`claim:${seq}`)) return false;
  return mayProceed(draft, row, "action") && (call.nextAt ?? 0) <= draft.input.now;
}

function claimOrder(draft: Draft, row: Row): ClaimOrder {
  const { tenant } = draft.record;
  const { key, claim: number } = row.intent as RowIntent;
  const { seq } = row;
  const owner = intentOwner(draft.record, row);
  return { seq, claim: number, intent: intentOf(tenant, "step", key), owner, argsHash: hashOf(row.input) };
}

function publishOrder(draft: Draft, row: Row, word: IntentWord): PublishOrder {
  const { tenant } = draft.record;
  const { key, claim: number } = row.intent as RowIntent;
  const became: IntentOutcome = word === "succeeded" ? { state: word, outcome: row.output } : { state: word };
  const owner = intentOwner(draft.record, row);
  return { seq: row.seq, claim: number, intent: intentOf(tenant, "step", key), owner, became };
}

// ---- the registry's answers

/** The registry has answered a claim. */
export function claimed(draft: Draft, { seq, claim: number, answer, theirs }: Claimed): void {
  const row = draft.rows[seq - 1];
  if (row?.call.state !== "claiming" || row.intent?.claim !== number) return;
  switch (answer.answer) {
    case "MINE":
      become(draft, row, { state: "mine", owner: null, since: null });
      return goOn(draft, seq);
    case "GONE":
      patchRow(draft, seq, { intent: { ...row.intent, said: "withdrawn" } });
      return goOn(draft, seq);
    case "BUSY":
      return wait(draft, row, row.intent, answer);
    case "DONE":
      return reuse(draft, row, answer.owner, answer.outcome);
    case "CONFLICT":
      become(draft, row, { state: "conflict", owner: answer.owner, theirs });
      if (row.tool !== null) refuse(draft, seq);
  }
}

function become(draft: Draft, { seq, intent }: Row, patch: Partial<RowIntent> & { readonly state: IntentState }): void {
  const next = { ...(intent as RowIntent), ...patch };
  patchRow(draft, seq, { intent: next });
  const { state, owner } = next;
  note(draft, { what: "intent", seq, state, ...(owner === null ? {} : { owner }) });
}

/** What a person was asked about the intent is over; the row wants its grant (or a new claim). */
function goOn(draft: Draft, seq: number): void {
  const place = { seq, side: "action" } as const;
  answerReview(draft, place);
  planAgain(draft, place, draft.input.now);
}

function wait(
  draft: Draft,
  row: Row,
  intent: RowIntent,
  { owner, heard }: { readonly owner: string; readonly heard: boolean },
): void {
  const { now } = draft.input;
  // Who waits for an owner has begun to at some time.
  const since = intent.owner === owner ? (intent.since as number) : now;
  if (intent.owner !== owner) become(draft, row, { state: "busy", owner, since });
  const again = now + (heard ? askAgainMs.heard : askAgainMs.unheard);
  const limit = since + draft.input.settings.intentWaitMs;
  // Asked once more when its patience is over; then a person is (`isImpatient`).
  patchCall(draft, { seq: row.seq, side: "action" }, { nextAt: now < limit ? Math.min(again, limit) : null });
}

/** Somebody has made this effect already: its outcome, as recorded or as a person knows it, is this row's. */
export function reuse(draft: Draft, row: Row, owner: string | null, output: Json, proof: Proof = "intent"): void {
  const { seq } = row;
  const checked = decodeOutput(stepOf(draft, row), output);
  answerReview(draft, { seq, side: "action" });
  become(draft, row, { state: "reused", owner, since: null });
  patchCall(draft, { seq, side: "action" }, { state: "reused", proof, nextAt: null });
  countChange(draft, row.output, output);
  patchRow(draft, seq, { output, unusable: !checked.ok });
}

/** A tool whose intent another run has with other arguments is not made; its caller is told. */
function refuse(draft: Draft, seq: number): void {
  patchCall(draft, { seq, side: "action" }, { state: "withdrawn", nextAt: null });
  patchRow(draft, seq, { told: "nothing" });
}

/** The registry knows what became of the claim, and everybody who listens was told. */
export function published(
  draft: Draft,
  { seq, claim: number, became }: Extract<DriverFact, { type: "published" }>,
): void {
  const row = draft.rows[seq - 1];
  if (row?.intent?.claim !== number || row.intent.said === became) return;
  patchRow(draft, seq, { intent: { ...row.intent, said: became } });
  note(draft, { what: "published", seq, became });
}

// ---- what a person says

/** The row asks for its intent anew, with other arguments where they have changed; the key stays what it is. */
export function claimAnew(draft: Draft, { seq, intent }: Row, isChanged: boolean): void {
  if (intent === null) return;
  const isHeld = intent.state === "mine" && intent.said === null;
  if (isHeld && !isChanged) return;
  const state = isHeld ? "stale" : "free";
  patchRow(draft, seq, { intent: { ...intent, state, owner: null, theirs: null, since: null } });
}

// ---- words of other runs

type IntentBody = Extract<InboxBody, { type: "intent" }>;

/**
 * Hears what became of the intent that a row waits for, or whose outcome it has reused. `false`: not yet, since the answer to
 * a claim is on its way, may be older than the word, and says whose word counts.
 */
export function takeIntentWord(draft: Draft, entry: InboxEntry, body: IntentBody): boolean {
  if (draft.input.inFlight.has(`claim:${body.seq}`)) return false;
  consume(draft, entry);
  hearWord(draft, body, draft.rows[body.seq - 1]);
  return true;
}

function hearWord(draft: Draft, { owner, became }: IntentBody, row: Row | undefined): void {
  if (row?.intent?.owner !== owner) return;
  if (row.call.state === "claiming") return askNow(draft, row);
  if (became !== "undone" || row.call.state !== "reused" || draft.record.unwind !== null) return;
  become(draft, row, { state: "undone" });
}

/** The owner has spoken: its answer is asked for at once, whatever a person was asked meanwhile. */
function askNow(draft: Draft, { seq }: Row): void {
  answerReview(draft, { seq, side: "action" });
  patchCall(draft, { seq, side: "action" }, { nextAt: draft.input.now });
}

/** Does the row wait for the owner of its intent, and for nothing else? */
export function waitsForIntent(draft: Draft, { call, intent }: Row): boolean {
  return call.state === "claiming" && intent?.state === "busy" && !isParked(draft);
}

/** When a row that asks for its intent is to ask again. */
export function claimTime(draft: Draft, row: Row): number {
  const isAsked = draft.input.inFlight.has(`claim:${row.seq}`) || draft.claims.some(({ seq }) => seq === row.seq);
  if (row.call.state !== "claiming" || isAsked || !mayProceed(draft, row, "action")) return Number.POSITIVE_INFINITY;
  return row.call.nextAt ?? draft.input.now;
}

/** When the registry is to hear of a row: at once, from whoever drives the run next where this driver does not tell it. */
export function wordTime(draft: Draft, row: Row): number {
  const isTold = isUnderWay(draft, row.seq) || draft.publishes.some(({ seq }) => seq === row.seq);
  return wordOwed(row) === null || isTold ? Number.POSITIVE_INFINITY : draft.input.now;
}
