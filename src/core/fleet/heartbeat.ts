/**
 * What a process says of itself every few seconds, and how it is asked to leave. Which workers there are is said by the owners
 * that are registered (`hello`, `serving`); a heartbeat adds how one of them is, and is what is left to see of it when it is gone.
 */
import type { RunRef } from "../run/index.ts";

/** How often a process says how it is. */
export const beatMs = 5_000;
/** A heartbeat older than this is stale: three of them are missing. */
export const staleAfterMs = 15_000;
/** A process that is gone without a goodbye can be seen this long. */
export const heartbeatKeptMs = 600_000;
/** Runs named in one heartbeat. */
export const maxRunsShown = 20;

export interface Heartbeat {
  readonly role: "worker" | "supervisor";
  /** The incarnation: of a worker the `owner` of its leases. */
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  /** Of the program as it was deployed (a release, a commit); empty: not told. */
  readonly version: string;
  readonly state: "ready" | "draining";
  readonly upMs: number;
  readonly pools: readonly string[];
  /** Named step queues. */
  readonly queues: readonly string[];
  /** `<name>@<version>` of all that it can work on. */
  readonly sagas: readonly string[];
  readonly slots: { readonly busy: number; readonly total: number };
  /** Runs that it drives, at most `maxRunsShown`. */
  readonly runs: readonly RunRef[];
  /** The longest that its event loop was held up since the heartbeat before. */
  readonly lagMs: number;
  readonly rssBytes: number;
  /** How long the store took to answer the heartbeat before; `null`: there was none. */
  readonly storeMs: number | null;
  /** How long ago it took its last job; `null`: none yet. */
  readonly idleMs: number | null;
  /** How long the most silent of its consumers has shown no sign of life, though the store answered. */
  readonly stuckMs: number;
  /** What it has done since the heartbeat before; absent: it does not say. */
  readonly pace?: Pace;
}

/** How fast things go, per second. */
export interface Pace {
  /** Runs that were begun. */
  readonly begun: number;
  readonly ended: number;
  /** Outcomes of calls that were committed. */
  readonly steps: number;
}

export interface KeptHeartbeat extends Heartbeat {
  /** Store time. */
  readonly at: number;
}

/** A worker is to take no new runs, finish what it has under way and leave. */
export interface DrainRequest {
  readonly by: string;
  readonly reason: string;
  /** Store time. */
  readonly at: number;
}

export interface DrainCommand {
  readonly worker: string;
  readonly by: string;
  readonly reason: string;
}

/** What a process is told in return for its heartbeat. */
export interface BeatAnswer {
  readonly drain: DrainRequest | null;
  /** When a supervisor was last heard of; `null`: not within `heartbeatKeptMs`. */
  readonly supervisedAt: number | null;
  /** Of several supervisors it is the one that tells: the first, until it is gone or `staleAfterMs` silent. */
  readonly tells: boolean;
}

type Timed<Answer> = Answer & { readonly now: number };

/** Where heartbeats lie. They explain; nothing about a run follows from them. */
export interface Heartbeats {
  /** Takes the place of the one before; forgotten after `heartbeatKeptMs`, or by `goodbye`. */
  beat(heartbeat: Heartbeat): Promise<Timed<BeatAnswer>>;
  /** Of everybody that was heard of within `heartbeatKeptMs`, by id. */
  heartbeats(): Promise<Timed<{ readonly heartbeats: readonly KeptHeartbeat[]; readonly drains: Drains }>>;
  /** Asks a worker to leave; it hears it with its next heartbeat. Of two who ask, the first counts. */
  askToDrain(
    command: DrainCommand,
  ): Promise<Timed<{ readonly answer: "OK" | "ABSENT"; readonly drain: DrainRequest | null }>>;
}

/** Who was asked to leave, by id. */
export type Drains = Readonly<Record<string, DrainRequest>>;
