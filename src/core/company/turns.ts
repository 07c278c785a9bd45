/**
 * Whose turn it is among the runs of one key, as a port (`concurrency` of a saga). At most `limit` runs of a key have a turn at
 * once, the others stand in line. Owns the words; adapters are the stores.
 *
 * 1. A run has a turn from when it was answered `MINE` until it is given. Nothing else ends one: no age, no lost process.
 * 2. The line is in order of start: by the time they were started, in one ms by when they first asked. Who stands further
 *    back gets no turn while somebody before it has not taken, or left, its own.
 * 3. Every request may be sent again: it is answered the same and changes nothing. A run that has given its turn (or its place)
 *    and asks all the same, late, is `GONE`; that is remembered for `turnForgottenMs`, and after that whoever waits behind it sees
 *    that it has ended.
 * 4. A request of a world that is gone changes nothing. A run asks under its revision, and no revision is given twice: what is given
 *    under an older one than it has asked under since is not given, and a run that has given and asks under a newer one was brought
 *    back: it stands in line again. Numbers are remembered for `turnForgottenMs` after the last request of the line.
 */
import type { Json } from "../../saga/index.ts";
import { hashOf } from "../digest.ts";
import type { RunRef } from "../run/index.ts";

/** Which line: a tenant, and the hash of saga and key. */
export interface TurnRef {
  readonly tenant: string;
  readonly hash: string;
}

/** The line of a saga's runs that have this key, whatever their version. */
export function turnOf(tenant: string, saga: string, key: Json): TurnRef {
  return { tenant, hash: hashOf(["limit", saga, key]) };
}

export interface AskTurnCommand {
  readonly turn: TurnRef;
  readonly run: RunRef["id"];
  /** When it was started, in ms of store time; what a run asks first decides its place. */
  readonly startedAt: number;
  /** So many at once, as this run was told; a whole number from 1. */
  readonly limit: number;
  /** The revision of the run when it asks. */
  readonly asked: number;
}

/** A run in line, or with a turn, and the newest number under which it has asked; `null`: none is remembered. */
export interface InLine {
  readonly run: string;
  readonly asked: number | null;
}

/** `MINE`: until it is given. `WAIT`: it stands in line. `GONE`: it has given it before. */
export type AskTurnAnswer =
  | { readonly answer: "MINE" | "GONE" }
  | {
      readonly answer: "WAIT";
      /** How many stand before it in line. */
      readonly ahead: number;
      /** The first of those that have a turn, and of those before it in line: ended ones are to be given for. */
      readonly before: readonly InLine[];
    };

export interface GiveTurnCommand {
  readonly turn: TurnRef;
  readonly run: RunRef["id"];
  readonly limit: number;
  /** The newest number under which it can have asked, as far as whoever gives knows; `null`: it counts whatever it has asked since. */
  readonly asked: number | null;
}

/** `next`: who may ask now, in order; to be told, again each time this is sent. */
export interface GiveTurnAnswer {
  readonly next: readonly string[];
}

/** An answer with the store's time. */
type Timed<Answer> = Answer & { readonly now: number };

/** The one place where lines are kept. */
export interface Turns {
  askTurn(command: AskTurnCommand): Promise<Timed<AskTurnAnswer>>;
  giveTurn(command: GiveTurnCommand): Promise<Timed<GiveTurnAnswer>>;
}
