/**
 * Who has done what: acts of people, and of programs in their name. Owns which requests are acts, and what is kept of one; the port by
 * which they are kept. Invariants: A1 an act on a run, a plan, a schedule or a worker is kept by the write that it is, so that there is
 * neither without the other. A2 an act is kept when its run is gone, as long as it is among the newest `maxActsKept` of its shard. A3
 * nothing follows from it.
 */
import type { InboxBody, RunRef, Shown, VerbCommand } from "../run/index.ts";

/** Acts of one shard; of more the newest. */
export const maxActsKept = 10_000;
/** Who an application is that does not say who asks it: what it signals is traffic, and no act. */
export const unnamed = "client";

export interface Act {
  /** A word: `kill`, `approve`, `resolve`, `replay`, `drain`, ... */
  readonly act: string;
  readonly by: string;
  /** `null`: none was asked for. */
  readonly reason: string | null;
  /** `null`: it is not about a run. */
  readonly run: RunRef | null;
  /** What else it is about: a plan, a worker, a schedule, an event; `null`: nothing. */
  readonly about: string | null;
}

export interface KeptAct extends Act {
  readonly id: string;
  /** Store time. */
  readonly at: number;
}

export interface ActsQuery {
  /** Store time: none that is older. */
  readonly since?: number;
  readonly cursor?: string;
  readonly limit: number;
}

export interface ActsPage {
  /** Newest first. */
  readonly acts: readonly KeptAct[];
  readonly cursor: string | null;
}

/** Where acts are kept. */
export interface ActShelf {
  /** Keeps one that no other write is. */
  note(act: Act): Promise<void>;
  acts(query: ActsQuery): Promise<ActsPage>;
}

/** What is done to a run by a request, by whoever sends it; `null`: it is nobody's act. */
export function actOf(run: RunRef, by: string, body: InboxBody): Act | null {
  const said = saidBy(by, body);
  return said === null ? null : { act: said.act, by, reason: said.reason, run, about: said.about ?? null };
}

interface Said {
  readonly act: string;
  readonly reason: string | null;
  readonly about?: string | null;
}

function saidBy(by: string, body: InboxBody): Said | null {
  switch (body.type) {
    case "event":
      return by === unnamed ? null : { act: "signal", reason: body.reason ?? null, about: body.event };
    case "cancel":
      return { act: body.mode === "compensate" ? "cancel" : body.mode, reason: body.reason };
    case "control":
      return { act: body.control, reason: body.reason };
    case "undo":
      return { act: "undo", reason: body.reason, about: planOf(body) };
    case "verb":
      return { act: body.verb.verb, reason: reasonOf(body.verb), about: planOf(body) ?? objectOf(body.verb) };
    case "decide":
      return decided(body.decision);
    case "migrate":
      return { act: "migrate", reason: body.reason, about: `version ${body.to}` };
    case "settle":
    case "late":
    case "child":
    case "share":
    case "turn":
    case "intent":
      return null;
  }
}

function planOf({ plan }: Shown): string | null {
  return plan === undefined ? null : `plan ${plan}`;
}

function reasonOf(verb: VerbCommand): string | null {
  if (verb.verb === "resolve") return verb.evidence;
  return "reason" in verb ? verb.reason : null;
}

function objectOf(verb: VerbCommand): string | null {
  switch (verb.verb) {
    case "resolve":
      return verb.as;
    case "rewind":
      return verb.to;
    case "raise":
      return `${verb.budget} to ${verb.to}`;
    case "probe":
    case "retry":
    case "skip":
    case "discard":
    case "compensate":
    case "close":
      return null;
  }
}

function decided(word: Extract<InboxBody, { readonly type: "decide" }>["decision"]): Said {
  switch (word.is) {
    case "approve":
    case "reject":
      return { act: word.is, reason: word.reason };
    case "delegate":
      return { act: word.is, reason: word.reason, about: word.to };
    // What is asked and answered stands in the run.
    case "ask_back":
    case "answer":
      return { act: word.is, reason: null };
  }
}
