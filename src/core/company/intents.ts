/**
 * The registry of intents, as a port (design section 6, Intents). An intent is a business key for one effect, unique in a
 * tenant. Whoever claims it first owns it; everybody else hears how it stands. Owns the words; adapters are the stores.
 *
 * 1. A generation of an intent has one owner. Only it publishes, and what it published first stands: after `succeeded`
 *    only `undone` may follow.
 * 2. A claim without `claimMs` is over when its owner publishes, never by age.
 * 3. Every request may be sent again: it is answered the same and changes nothing. Asking keeps nothing alive.
 */
import type { Json } from "../../saga/index.ts";
import { hashOf } from "../digest.ts";
import type { IntentWord } from "../run/index.ts";

/** Which intent: a tenant, and the hash of its key. */
export interface IntentRef {
  readonly tenant: string;
  readonly hash: string;
}

/** The intent of a key. Keys of steps and of requests never meet. */
export function intentOf(tenant: string, kind: "step" | "request", key: Json): IntentRef {
  return { tenant, hash: hashOf([kind, key]) };
}

export interface ClaimIntentCommand {
  readonly intent: IntentRef;
  /**
   * The name of this one claim, 1 to 200 characters: who asks, and raised each time it claims anew. Once it has published
   * that nothing is left outside it may not claim again under this name: a request held up on its way would own for ever.
   */
  readonly owner: string;
  readonly argsHash: string;
  /** Nothing published for so long: the claim is over, and may be replaced by those who know what became of it. */
  readonly claimMs: number | null;
  /** Nothing published for so long: forgotten altogether. `null`: never. */
  readonly keepMs: number | null;
  /** Take it over from this owner, if its claim is over or it has published `unknown`. `null`: from nobody. */
  readonly replaces: string | null;
  /** Be among the `waiters` or `reusers` that a `publishIntent` answers, as far as there is room for. */
  readonly listens: boolean;
}

/**
 * `MINE`: make the effect, then publish; the same owner is answered it again and again. `BUSY`: it has another owner.
 * `DONE`: here is its outcome. `CONFLICT`: it is claimed, or done, with other arguments. `GONE`: this owner has published
 * already. `heard`: the asker is among the listeners; if not, it asks again from time to time.
 */
export type ClaimIntentAnswer =
  | { readonly answer: "MINE"; readonly generation: number }
  | {
      readonly answer: "BUSY";
      readonly owner: string;
      readonly generation: number;
      /** `unknown`: its owner published that it cannot tell. */
      readonly state: "claimed" | "unknown";
      readonly claimedAt: number;
      readonly until: number | null;
      readonly heard: boolean;
    }
  | {
      readonly answer: "DONE";
      readonly owner: string;
      readonly generation: number;
      readonly outcome: Json;
      readonly heard: boolean;
    }
  | { readonly answer: "CONFLICT"; readonly owner: string; readonly argsHash: string; readonly asked: string }
  | { readonly answer: "GONE" };

/** What became of an intent; one that is freed by it has its next claim under a higher generation. */
export type IntentOutcome =
  | { readonly state: "succeeded"; readonly outcome: Json }
  | { readonly state: Exclude<IntentWord, "succeeded"> };

export interface PublishIntentCommand {
  readonly intent: IntentRef;
  readonly owner: string;
  readonly became: IntentOutcome;
  /** How long it is remembered from now on. `null`: for ever. */
  readonly keepMs: number | null;
}

/**
 * `OK`; `DUP`: this owner published before, and that stands. Both carry who listens: `waiters` were answered BUSY and have
 * not asked since, `reusers` were answered DONE under this generation. `FENCED`: it is not this owner's (any more); where it
 * was nobody's, a claim of this owner that is still on its way is answered GONE.
 */
export type PublishIntentAnswer =
  | {
      readonly answer: "OK" | "DUP";
      readonly generation: number;
      readonly waiters: readonly string[];
      readonly reusers: readonly string[];
    }
  | { readonly answer: "FENCED" };

/** An answer with the store's time. */
type Timed<Answer> = Answer & { readonly now: number };

/** The one place where intents are remembered. */
export interface IntentRegistry {
  claimIntent(command: ClaimIntentCommand): Promise<Timed<ClaimIntentAnswer>>;
  publishIntent(command: PublishIntentCommand): Promise<Timed<PublishIntentAnswer>>;
}
