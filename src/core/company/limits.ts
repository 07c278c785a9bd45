/**
 * How a run takes turns with others of its key (`concurrency` of a saga). Owns the states of a `RunLimit`; the line itself is the
 * store's (`turns.ts`).
 *
 * Invariants: L1 a run does nothing before it is on record that the turn is its own: it does not begin, call, or move. L2 it
 * gives its turn, or leaves its place, only when it has ended on record; whoever ends it keeps the lease until the line has heard.
 * L3 parked, paused and going back it keeps its turn. L4 a run that has ended and is moved again takes no other turn.
 * L5 it asks under its revision, and gives under the number of the ask that was answered MINE: in a world that is gone it gives nothing.
 */

import { RepriseError } from "../../errors.ts";
import { type Checked, type Json, type SagaSpec, toJson } from "../../saga/index.ts";
import type { DriverFact, TurnOrder } from "../decision.ts";
import { consume, type Draft, isDirty, note } from "../draft.ts";
import type { InboxEntry, RunLimit, RunRecord } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import { turnOf } from "./turns.ts";

/** How long the first in line lets pass before it asks again by itself; those further back longer, up to the second number. */
const askAgainMs = { first: 30_000, most: 600_000 } as const;

/** The key by which a run with this (encoded) input takes turns; `null`: with nobody. */
export function turnKeyOf({ name, concurrency }: SagaSpec, input: Json): Checked<Json> {
  if (concurrency === null) return { ok: true, value: null };
  try {
    const key = toJson(concurrency.key({ input }));
    if (!key.ok) return { ok: false, problem: `the concurrency key of ${name} is not JSON: ${key.problem}` };
    return key.value === null ? { ok: false, problem: `the concurrency key of ${name} is null` } : key;
  } catch (error) {
    return { ok: false, problem: `the concurrency key of ${name} cannot be computed: ${String(error)}` };
  }
}

/** What a new run keeps of its turn. Throws INPUT_INVALID where its key cannot be had. */
export function limitOf(saga: SagaSpec, input: Json): RunLimit | null {
  if (saga.concurrency === null) return null;
  const key = turnKeyOf(saga, input);
  if (!key.ok) throw new RepriseError("INPUT_INVALID", key.problem, { details: { saga: saga.name } });
  return { key: key.value, limit: saga.concurrency.limit, state: "asking", askAt: null };
}

/** Is it not its turn yet? */
export function awaitsTurn({ record: { limit, unwind } }: Pick<Draft, "record">): boolean {
  return unwind === null && hasNone(limit);
}

/**
 * One that was brought back where it goes back is without its turn, too: it asks (and waits for nothing), so that what it gave in another
 * world is older than what it has asked for, and takes nothing from it.
 */
function hasNone(limit: RunLimit | null): boolean {
  return limit?.state === "asking" || limit?.state === "waiting";
}

/** Does it stand in line, and is there nothing else to be done? */
export function waitsInLine(draft: Draft): boolean {
  return awaitsTurn(draft) && draft.record.limit?.state === "waiting";
}

/** Asks for a turn, or gives it, once this decision is written. */
export function orderTurn(draft: Draft): void {
  const { limit, status } = draft.record;
  if (limit === null || limit.state === "freed") return;
  // As it stands once this decision is written; where nothing is, as it stood before.
  const revision = isDirty(draft) ? draft.revision : draft.before.record.revision;
  const line = lineFor(draft, limit);
  if (hasEnded(status)) {
    const isGiven = draft.input.inFlight.has("turn:give");
    draft.turn = isGiven ? null : { kind: "give", ...line, asked: lastAsked({ limit, revision }) };
  } else if (!draft.stopping && turnTime(draft) <= draft.input.now) {
    draft.turn = { kind: "ask", ...line, asked: revision };
  }
}

function lineFor({ record }: Draft, { key, limit }: RunLimit): Pick<TurnOrder, "turn" | "limit" | "startedAt"> {
  const { tenant, saga, startAt } = record;
  return { turn: turnOf(tenant, saga, key), limit, startedAt: startAt };
}

/**
 * The newest number under which a run that asks no more can have asked. Where its turn is on record: that of the ask which was answered
 * so, for whoever asked before it did not know more (`null`: it is from before there were numbers). Else any up to its revision.
 */
export function lastAsked({ limit, revision }: Pick<RunRecord, "limit" | "revision">): number | null {
  return limit?.state === "mine" ? (limit.asked ?? null) : revision;
}

/** When it is to ask. */
export function turnTime(draft: Draft): number {
  const { limit, startAt } = draft.record;
  const isAsked = draft.input.inFlight.has("turn:ask") || draft.turn !== null;
  if (limit === null || !hasNone(limit) || isAsked) return Number.POSITIVE_INFINITY;
  return Math.max(limit.askAt ?? startAt, startAt);
}

/** The line has answered. */
export function takeTurnAnswer(draft: Draft, { answer, asked }: Extract<DriverFact, { readonly type: "turn" }>): void {
  const { limit } = draft.record;
  if (limit === null || !hasNone(limit)) return;
  if (answer.answer === "MINE") return become(draft, { ...limit, asked }, "mine", null);
  // Who stands far back is told when it comes to the front; it asks only lest that was lost. (GONE is forgotten in the end.)
  const factor = answer.answer === "WAIT" ? 1 + Math.floor(answer.ahead / limit.limit) : 1;
  const askAt = draft.input.now + Math.min(askAgainMs.first * factor, askAgainMs.most);
  become(draft, limit, "waiting", askAt);
}

/** The line has heard that it is over. */
export function takeTurnGiven(draft: Draft): void {
  const { limit, status } = draft.record;
  if (limit !== null && hasEnded(status)) become(draft, limit, "freed", null);
}

function become(draft: Draft, limit: RunLimit, state: RunLimit["state"], askAt: number | null): void {
  const isNews = limit.state !== state;
  draft.record.limit = { ...limit, state, askAt };
  if (isNews) note(draft, { what: "turn_taken", state });
  else draft.writes += 1;
}

/** Somebody says that it may be its turn. `false`: not yet, since an answer is on its way that may be older. */
export function takeTurnWord(draft: Draft, entry: InboxEntry): boolean {
  if (draft.input.inFlight.has("turn:ask")) return false;
  consume(draft, entry);
  const { limit } = draft.record;
  if (limit?.state === "waiting") draft.record.limit = { ...limit, askAt: draft.input.now };
  return true;
}
