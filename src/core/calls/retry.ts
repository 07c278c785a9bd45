/**
 * When to try again, when to ask again, and how long a call may take. Pure arithmetic on policy, attempt and one random
 * number.
 */
import type { CallSpec, RetryPolicy } from "../../saga/index.ts";
import type { DecideSettings } from "../decision.ts";

/** Probes asked about one send before a person is asked. */
export const maxProbes = 5;
/** Offsets of the last two probes after the deadline, and the least gap between two probes. */
const afterDeadlineMs = { first: 5_000, second: 30_000 } as const;
const minProbeGapMs = 1_000;
/** The least gap before each probe while somebody who is not gone may still send it: what stands still for less is outlasted. */
const heldGapsMs = [0, 1_000, 5_000, 15_000, 30_000] as const;

/** From the grant until nobody can make the outside apply it any more (design section 6, Deadline). */
export function windowMs({ startWithinMs, abortGraceMs }: WindowSettings, spec: CallSpec): number {
  return startWithinMs + spec.timeoutMs + abortGraceMs + spec.latenessMs;
}
type WindowSettings = Pick<DecideSettings, "startWithinMs" | "abortGraceMs">;

/** Delay before the next attempt, given how many were counted so far. */
export function backoffMs(policy: RetryPolicy, counted: number, random: number): number {
  const full = Math.min(policy.maxMs, policy.initialMs * growth(policy.backoff, Math.max(1, counted)));
  return Math.round(policy.jitter ? full * random : full);
}

function growth(backoff: RetryPolicy["backoff"], attempts: number): number {
  switch (backoff) {
    case "fixed":
      return 1;
    case "linear":
      return attempts;
    case "exponential":
      return 2 ** Math.min(attempts - 1, 30);
  }
}

/**
 * When probe number `asked` (0-based) is due: at once, half-way to the deadline, at it, 5 s and 30 s after it; never
 * sooner than a second after the last answer, or than `heldGapsMs` where somebody may still send it (`isHeld`). `null`: no
 * more probes.
 */
export function nextProbeAt(asked: number, now: number, deadline: number, isHeld: boolean): number | null {
  if (asked === 0) return now;
  if (asked >= maxProbes) return null;
  // There is one for each of `maxProbes`.
  const gapMs = isHeld ? (heldGapsMs[asked] as number) : minProbeGapMs;
  return Math.max(now + gapMs, probeMark(asked, now, deadline));
}

function probeMark(asked: number, now: number, deadline: number): number {
  if (asked === 1) return now + Math.round((deadline - now) / 2);
  if (asked === 2) return deadline;
  return deadline + (asked === 3 ? afterDeadlineMs.first : afterDeadlineMs.second);
}
