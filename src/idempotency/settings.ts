/** How long things last, as users write it and in ms. */
import { RepriseError } from "../errors.ts";
import { type Duration, durationMs } from "../saga/index.ts";

export interface IdempotencyTimes {
  /** How long a stored answer is replayed; afterwards its key is new. `"24h"` unless given. */
  readonly window?: Duration | undefined;
  /**
   * Longer than `fn` ever takes, and than the other side may still apply what it was sent: a request that has not answered
   * after this is taken for interrupted. `"60s"` unless given.
   */
  readonly claimFor?: Duration | undefined;
  /** How long it is remembered that nobody knows; at least `window`. `"30d"` unless given. */
  readonly unknownFor?: Duration | undefined;
}

export interface IdempotencySettings {
  readonly windowMs: number;
  readonly claimMs: number;
  readonly unknownMs: number;
  /** An answer larger than this as JSON cannot be kept. */
  readonly maxPayloadBytes: number;
  /** How long to wait until a claim is durable, where the store needs a barrier for that. */
  readonly barrierMs: number;
  readonly allowForgetfulStore: boolean;
}

/** The times in ms. Throws CONFIG_INVALID with every problem found. */
export function readTimes(
  given: IdempotencyTimes,
  commandTimeoutMs: number,
): Pick<IdempotencySettings, "windowMs" | "claimMs" | "unknownMs"> {
  const problems: string[] = [];
  const read = (what: string, duration: Duration): number => {
    try {
      return durationMs(duration, what);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
      return Number.NaN;
    }
  };
  const windowMs = read("window", given.window ?? "24h");
  const claimMs = read("claimFor", given.claimFor ?? "60s");
  const unknownMs = read("unknownFor", given.unknownFor ?? "30d");
  if (windowMs < 1) problems.push("window must be at least 1 ms");
  if (claimMs <= commandTimeoutMs) {
    problems.push(`claimFor (${claimMs} ms) must be more than a Redis command may take (${commandTimeoutMs} ms)`);
  }
  if (unknownMs < Math.max(windowMs, claimMs)) {
    problems.push(`unknownFor (${unknownMs} ms) must be at least window (${windowMs}) and claimFor (${claimMs})`);
  }
  if (problems.length === 0) return { windowMs, claimMs, unknownMs };
  throw new RepriseError("CONFIG_INVALID", `idempotency cannot be set up: ${problems.join("; ")}`, {
    details: { problems },
  });
}
