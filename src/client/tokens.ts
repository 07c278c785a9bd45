/**
 * Links to decide by, for mail and chat: a secret bound to one asking of one run, to what was shown, to one person, and to a time.
 * Owns what such a token is and what it is good for.
 *
 * Invariants: L1 the store holds the hash of a token, never the token. L2 reading one changes nothing. L3 a token takes one word:
 * the same word again is answered as before, another one is refused. L4 it decides nothing that its person could not decide by
 * themselves.
 */
import { contentHashOf, hashOf, isAsking, objectionToWord, type Principal, type RunRef } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { type Duration, durationMs, type Json } from "../saga/index.ts";
import { type PendingApproval, pendingOf } from "./approvals.ts";
import { checkedDuration, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import {
  type ApprovalRef,
  checkDecision,
  checkedPrincipal,
  type Decided,
  type DecisionWord,
  gone,
  sendDecision,
  stale,
} from "./decide.ts";
import { keep } from "./plan.ts";
import { notFound } from "./send.ts";

/** The longest a token may be good for. */
const maxTokenMs = durationMs("30d", "a token");

/** What a token is for: `shown` where it was looked at before. */
export type TokenFor = Pick<ApprovalRef, "seq" | "n"> & Partial<Pick<ApprovalRef, "shown">>;

export interface TokenOptions {
  /** Who decides by it. */
  readonly for: Principal;
  /** How long it is good for, 30 days at most; it is never longer than what it decides on is asked. */
  readonly expires: Duration;
}

/** What a token is good for. */
export interface TokenView {
  readonly for: Principal;
  /** Store time, ms. */
  readonly expiresAt: number;
  /** It has decided something already. */
  readonly isUsed: boolean;
  readonly tenant: string;
  readonly run: string;
  /** What it decides on, as it is now; `null`: it is not asked any more, or not as it was then. */
  readonly approval: PendingApproval | null;
  /** Who has decided meanwhile, and what, as far as somebody has. */
  readonly decided: { readonly by: string; readonly decision: string } | null;
}

/** As it lies in the store. */
interface Kept {
  readonly kind: "decision_token";
  readonly run: RunRef;
  readonly ref: ApprovalRef;
  readonly for: Principal;
}

export async function makeToken(
  connection: Connection,
  run: RunRef,
  wanted: TokenFor,
  options: TokenOptions,
): Promise<string> {
  const person = checkedPrincipal(options.for);
  const forMs = checkedDuration(options.expires, "expires");
  if (forMs <= 0 || forMs > maxTokenMs)
    throw invalid("INPUT_INVALID", "expires", "it is more than nothing and 30 days at most");
  const store = await connection.store();
  const row = (await store.ledger(run))[wanted.seq - 1];
  const approval = row?.approval ?? null;
  if (row === undefined && (await store.read(run)) === null) throw notFound(run);
  const ref = { seq: wanted.seq, n: wanted.n, shown: wanted.shown ?? approval?.shown ?? "" };
  if (row === undefined || approval === null || !isAsking(row)) throw gone(run, ref, "it asks nobody there");
  if (approval.n !== ref.n || approval.shown !== ref.shown) throw stale(run, ref, approval);
  const now = await connection.storeNow();
  const objection = objectionToWord(approval, {
    as: person,
    word: { is: "reject", reason: "" },
    isEdited: false,
    at: now,
  });
  if (objection !== null) {
    throw new RepriseError("APPROVAL_FORBIDDEN", objection.message, {
      details: { ...run, ...ref, why: objection.why },
    });
  }
  const { ids } = connection.ports;
  const token = ids.next() + ids.next();
  const body: Kept = { kind: "decision_token", run, ref, for: person };
  await keep(connection, placeOf(token), body, Math.min(now + forMs, approval.expiresAt ?? Number.POSITIVE_INFINITY));
  return token;
}

/** What a token is good for; nothing is changed. Throws TOKEN_GONE. */
export async function readToken(connection: Connection, token: string): Promise<TokenView> {
  const { kept, expiresAt, isUsed } = await lookUp(connection, token);
  const { run, ref } = kept;
  const store = await connection.store();
  const record = await store.read(run);
  const row = (await store.ledger(run))[ref.seq - 1];
  const approval = row?.approval ?? null;
  const isOpen = row !== undefined && isAsking(row) && approval?.n === ref.n && approval.shown === ref.shown;
  const vote = approval?.votes.at(-1);
  return {
    ...{ for: kept.for, expiresAt, isUsed, tenant: run.tenant, run: run.id },
    approval: isOpen && record !== null ? pendingOf(connection, record, row, await connection.storeNow()) : null,
    decided: vote === undefined || isOpen ? null : { by: vote.by, decision: vote.decision },
  };
}

/** Decides by it. Throws TOKEN_GONE, TOKEN_USED, and what `run.decide` throws. */
export async function decideByToken(connection: Connection, token: string, word: DecisionWord): Promise<Decided> {
  const { kept } = await lookUp(connection, token);
  const checked = await checkDecision(connection, kept.run, kept.ref, word, kept.for);
  const place = placeOf(token);
  // What is said is JSON, but for what was left out.
  const commandId = hashOf([place, JSON.parse(JSON.stringify(checked.word)) as Json]);
  const taken = await (await connection.store()).takePlan({ id: place, by: kept.for.id, commandId });
  connection.heard(taken.now);
  if (taken.answer === "ABSENT") throw tokenGone();
  if (taken.answer === "TAKEN") {
    throw new RepriseError("TOKEN_USED", "this link was used already, for another answer: a link takes one answer", {
      details: { ...kept.run, seq: kept.ref.seq, by: taken.by },
    });
  }
  return await sendDecision(connection, checked, commandId);
}

async function lookUp(connection: Connection, token: string) {
  const isToken = typeof token === "string" && /^[A-Za-z0-9]{20,200}$/.test(token);
  const found = isToken ? await (await connection.store()).getPlan(placeOf(token)) : null;
  if (found === null || found.answer === "ABSENT") throw tokenGone();
  // `makeToken` put it there: nothing else is kept under the hash of a token.
  return { kept: found.body as unknown as Kept, expiresAt: found.expiresAt, isUsed: found.taken !== null };
}

function placeOf(token: string): string {
  return contentHashOf(`decision token\n${token}`);
}

function tokenGone(): RepriseError {
  return new RepriseError("TOKEN_GONE", "this link has expired, or there never was one: ask for a new one");
}
