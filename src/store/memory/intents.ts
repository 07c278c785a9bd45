/** Intents in memory: the counterpart of `lua/claim_intent.lua` and `lua/publish_intent.lua`, branch by branch. */
import type {
  ClaimIntentAnswer,
  ClaimIntentCommand,
  IntentWord,
  PublishIntentAnswer,
  PublishIntentCommand,
} from "../../core/index.ts";
import type { Json } from "../../saga/index.ts";
import { assertIntentOwner } from "../checks.ts";
import { maxIntentListeners } from "../limits.ts";

export interface Intent {
  state: "claimed" | "unknown" | "done" | "free";
  readonly generation: number;
  readonly owner: string;
  readonly argsHash: string;
  readonly claimedAt: number;
  /** The claim is over; `null`: never. */
  until: number | null;
  /** Forgotten; `null`: never. */
  keptUntil: number | null;
  /** As text: what is handed out may be changed by whoever gets it. */
  outcome: string;
  readonly freedBy: string | null;
  readonly waiters: Set<string>;
  /** Claims that were given up unowned: one that is still on its way owns nothing. */
  readonly gone: Set<string>;
  /** The generation each of them heard of. */
  readonly reusers: Map<string, number>;
}

/** By `<tenant>:<hash>`. */
export type Intents = Map<string, Intent>;

export function claimIntent(
  intents: Intents,
  member: string,
  command: ClaimIntentCommand,
  now: number,
): ClaimIntentAnswer {
  assertIntentOwner(command.owner);
  const known = keptOf(intents, member, now);
  if (known?.gone.has(command.owner) === true) return { answer: "GONE" };
  if (known === null || known.state === "free") {
    if (known?.owner === command.owner) return { answer: "GONE" };
    return own(intents, member, command, now, known);
  }
  const { owner, argsHash, replaces } = command;
  if (known.argsHash !== argsHash) {
    return { answer: "CONFLICT", owner: known.owner, argsHash: known.argsHash, asked: argsHash };
  }
  if (known.state === "claimed" && known.owner === owner) return renewed(known, command, now);
  const wantsNews = command.listens && owner !== known.owner;
  if (known.state === "done") return done(known, owner, wantsNews);
  const isOver = known.state === "unknown" || (known.until !== null && known.until <= now);
  if (known.owner === replaces && isOver) return own(intents, member, command, now, known);
  return busy(known, known.state, owner, wantsNews);
}

function own(
  intents: Intents,
  member: string,
  { owner, argsHash, claimMs, keepMs }: ClaimIntentCommand,
  now: number,
  before: Intent | null,
): ClaimIntentAnswer {
  const claim: Intent = {
    state: "claimed",
    generation: (before?.generation ?? 0) + 1,
    owner,
    argsHash,
    claimedAt: now,
    until: after(now, claimMs),
    keptUntil: after(now, keepMs),
    outcome: "",
    freedBy: before?.state === "free" ? before.owner : null,
    waiters: before?.waiters ?? new Set(),
    gone: before?.gone ?? new Set(),
    reusers: before?.reusers ?? new Map(),
  };
  claim.waiters.delete(owner);
  claim.reusers.delete(owner);
  intents.set(member, claim);
  return { answer: "MINE", generation: claim.generation };
}

function renewed(known: Intent, { claimMs, keepMs }: ClaimIntentCommand, now: number): ClaimIntentAnswer {
  known.until = after(now, claimMs);
  known.keptUntil = after(now, keepMs);
  return { answer: "MINE", generation: known.generation };
}

function busy(known: Intent, state: "claimed" | "unknown", asker: string, wantsNews: boolean): ClaimIntentAnswer {
  const { owner, generation, claimedAt, until } = known;
  const heard = wantsNews && (known.waiters.has(asker) || hasRoom(known));
  if (heard) known.waiters.add(asker);
  return { answer: "BUSY", owner, generation, state, claimedAt, until, heard };
}

function done(known: Intent, asker: string, wantsNews: boolean): ClaimIntentAnswer {
  const { owner, generation } = known;
  known.waiters.delete(asker);
  const heard = wantsNews && (known.reusers.has(asker) || hasRoom(known));
  if (heard) known.reusers.set(asker, generation);
  // `publishIntent` wrote it.
  return { answer: "DONE", owner, generation, outcome: JSON.parse(known.outcome) as Json, heard };
}

export function publishIntent(
  intents: Intents,
  member: string,
  { owner, became, keepMs }: PublishIntentCommand,
  now: number,
): PublishIntentAnswer {
  assertIntentOwner(owner);
  const known = keptOf(intents, member, now);
  if (known === null) {
    if (isFreeing(became.state)) intents.set(member, spent(owner, now, keepMs));
    return { answer: "FENCED" };
  }
  if (known.owner !== owner) {
    if (known.freedBy === owner) return { answer: "DUP", ...listeners(known, known.generation - 1) };
    if (isFreeing(became.state)) giveUp(known, owner);
    return { answer: "FENCED" };
  }
  const stands =
    known.state === "free" ||
    (known.state === "done" && became.state !== "undone") ||
    (known.state === "unknown" && became.state === "unknown");
  if (stands) return { answer: "DUP", ...listeners(known, known.generation) };
  known.state = became.state === "succeeded" ? "done" : became.state === "unknown" ? "unknown" : "free";
  known.outcome = became.state === "succeeded" ? JSON.stringify(became.outcome) : "";
  known.keptUntil = after(now, keepMs);
  return { answer: "OK", ...listeners(known, known.generation) };
}

function giveUp(known: Intent, owner: string): void {
  known.waiters.delete(owner);
  known.reusers.delete(owner);
  if (hasRoom(known)) known.gone.add(owner);
}

function isFreeing(word: IntentWord): boolean {
  return word !== "succeeded" && word !== "unknown";
}

/** Its claim has not come here, and is answered GONE if it still does. */
function spent(owner: string, now: number, keepMs: number | null): Intent {
  return {
    state: "free",
    generation: 0,
    owner,
    argsHash: "",
    claimedAt: now,
    until: null,
    keptUntil: after(now, keepMs),
    outcome: "",
    freedBy: null,
    waiters: new Set(),
    gone: new Set(),
    reusers: new Map(),
  };
}

function listeners({ waiters, reusers }: Intent, generation: number) {
  const ofIt = [...reusers].filter(([, heardOf]) => heardOf === generation).map(([name]) => name);
  return { generation, waiters: [...waiters].sort(), reusers: ofIt.sort() };
}

function keptOf(intents: Intents, member: string, now: number): Intent | null {
  const known = intents.get(member);
  return known === undefined || (known.keptUntil !== null && known.keptUntil <= now) ? null : known;
}

function after(now: number, ms: number | null): number | null {
  return ms === null ? null : now + ms;
}

function hasRoom({ waiters, reusers, gone }: Intent): boolean {
  return waiters.size + reusers.size + gone.size < maxIntentListeners;
}
