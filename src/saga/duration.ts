/** Lengths of time as users write them. Invariant: what leaves here is a finite whole number of ms. */
import { RepriseError } from "../errors.ts";

type Unit = "ms" | "s" | "m" | "h" | "d";

/** A length of time: `"200ms"`, `"10s"`, `"5m"`, `"24h"`, `"7d"`, or a number of ms. */
export type Duration = number | `${number}${Unit}`;

const unitMs: Readonly<Record<Unit, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const durationPattern = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** Longest duration anywhere. */
export const maxDurationMs = 366 * unitMs.d;
/** A duration in whole ms. Throws `DEFINITION_INVALID` naming `what` where it is none. */
export function durationMs(duration: Duration, what: string): number {
  const ms = typeof duration === "number" ? duration : parsedMs(duration);
  if (ms !== null && Number.isInteger(ms) && ms >= 0 && ms <= maxDurationMs) return ms;
  throw new RepriseError(
    "DEFINITION_INVALID",
    `${what}: ${JSON.stringify(duration) ?? String(duration)} is not a duration. Write a whole number of ms or one of ` +
      `"200ms", "10s", "5m", "24h", "7d", at most 366 days.`,
    { details: { what, duration } },
  );
}

function parsedMs(text: unknown): number | null {
  const match = typeof text === "string" ? durationPattern.exec(text) : null;
  if (match === null) return null;
  // The pattern has exactly these two groups.
  const ms = Number(match[1]) * unitMs[match[2] as Unit];
  const whole = Math.round(ms);
  return Math.abs(ms - whole) < 1e-6 ? whole : null;
}
