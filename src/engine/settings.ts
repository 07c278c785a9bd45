import { type DecideSettings, maxNoticesKept } from "../core/index.ts";

/** Bounds and waits of the engine, all in ms unless the name says otherwise (design section 5, Defaults). */
export interface EngineSettings extends DecideSettings {
  readonly leaseMs: number;
  readonly renewMs: number;
  /** Trust in a lease ends this long before the lease does. */
  readonly marginMs: number;
  readonly sweepMs: number;
  /** How often parked runs are compared with what is shown of them. */
  readonly deadLetterSweepMs: number;
  /** How often runs are looked for whose time is over. */
  readonly retentionSweepMs: number;
  /** How long an id that somebody gave is not free again after its run was deleted; `null`: for ever. */
  readonly idsKeptMs: number | null;
  /** Calls may go on this long after `stop`. */
  readonly shutdownMs: number;
  readonly maxPayloadBytes: number;
}

/** Most runs taken from one shard's due index at once; a full sweep is followed by another at once. */
export const sweepLimit = 100;
/** How soon the sweep looks again while runs wait for room in the queue. */
export const refillMs = 50;
/** Runs deleted together, and the pause before the next: whoever starts a run meanwhile does not wait for thousands. */
export const purging = { atOnce: 50, pauseMs: 25 } as const;
/** A pulse missing in two polls at least this far apart is a dead process. */
export const pulseGapMs = 900;
/** A run that this worker cannot serve is handed back for this long, doubling up to the second number. */
export const handBackMs = { first: 1_000, most: 30_000 } as const;
/** How long a suspect run waits for its turn before it is handed back. */
export const suspectWaitMs = 2_000;
/** Pauses between two sendings of one request that was not answered. */
export const resendMs = { first: 50, most: 1_000 } as const;
/** What is owed to a hook: how often it is looked for, of how many runs of a shard, how long nobody else takes, how much is kept. */
export const couriers = {
  ...{ pollMs: 500, limit: 250, leaseMs: 10_000, marginMs: 2_000, most: maxNoticesKept },
  /** How often what nobody reads is held to the most. */
  trimMs: 10_000,
  /** Kept of what a receiver said when it did not take a notice. */
  maxWhyChars: 200,
} as const;
