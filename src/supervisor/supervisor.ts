/**
 * Watches over a namespace from outside of its workers: looks every few seconds, tells alerts, and says that it is there. Owns when
 * it looks and whom it tells; what is an alert is core's (`core/fleet/watch.ts`). Invariants: S1 one look at a time; one that fails,
 * or is not answered in time, is an observation too. S2 it changes nothing but its own heartbeat. S3 of several one tells; the others look, and one of them goes
 * on when it falls silent. S4 whatever its ports do, it goes on looking.
 */
import {
  type Alert,
  type BeatAnswer,
  beatMs,
  type Clock,
  firingIn,
  type Heartbeat,
  nothingSeen,
  nothingToRecover,
  recoveryAfter,
  type Seen,
  type Thresholds,
  type WatchState,
  waitingMs,
  watch,
} from "../core/index.ts";

export interface SupervisorPorts {
  readonly clock: Clock;
  /** Rejects where the store is away. */
  look(): Promise<Seen>;
  beat(heartbeat: Heartbeat): Promise<Pick<BeatAnswer, "tells">>;
  /** Must not wait; should it throw, the others are told all the same. */
  tell(alert: Alert): void;
  trouble(where: string, error: unknown): void;
}

export interface SupervisorOptions {
  readonly id: string;
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly everyMs: number;
  readonly thresholds: Thresholds;
}

/** A look asks many things one after the other, each of which the store answers within a second or not at all. */
const lookWithinMs = 20_000;
const beatWithinMs = 5_000;

/** What a supervisor has seen last. */
export interface SupervisorHealth {
  readonly state: "starting" | "ready" | "stopped";
  /** Another supervisor tells, and this one goes on when that is gone. */
  readonly isStandby: boolean;
  /** How long ago its last look was answered; `null`: none was. */
  readonly lookedMs: number | null;
  /** How long ago its last look came to an end, answered or not; `null`: none did. */
  readonly triedMs: number | null;
  readonly seen: Seen | null;
  /** Leases of dead workers: how long they wait by now (0: none do), and how long the last of them did. */
  readonly recovery: { readonly waitingMs: number; readonly lastMs: number | null };
  readonly firing: readonly { readonly key: string; readonly severity: Alert["severity"] }[];
}

export class Watchman {
  readonly #ports: SupervisorPorts;
  readonly #options: SupervisorOptions;
  readonly #startedAt: number;
  #state: WatchState = nothingSeen;
  #seen: Seen | null = null;
  #lookedAt: number | null = null;
  #triedAt: number | null = null;
  #cancel: () => void = () => undefined;
  #looking: Promise<void> = Promise.resolve();
  #recovery = nothingToRecover;
  #stopped = false;
  /** Another one tells. What is not known does not count: two words are better than none. */
  #isStandby = false;

  constructor(ports: SupervisorPorts, options: SupervisorOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#startedAt = ports.clock.monotonicMs();
  }

  start(): void {
    this.#looking = this.#round();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#looking;
  }

  health(): SupervisorHealth {
    const [looked, tried] = [this.#lookedAt, this.#triedAt];
    const now = this.#ports.clock.monotonicMs();
    return {
      state: this.#stopped ? "stopped" : looked === null ? "starting" : "ready",
      isStandby: this.#isStandby,
      lookedMs: looked === null ? null : now - looked,
      triedMs: tried === null ? null : now - tried,
      seen: this.#seen,
      recovery: {
        waitingMs: waitingMs(this.#recovery, now),
        lastMs: this.#recovery.lastMs,
      },
      firing: firingIn(this.#state),
    };
  }

  async #round(): Promise<void> {
    const { clock } = this.#ports;
    await this.#beat();
    this.#seen = await this.#within("look", lookWithinMs, () => this.#ports.look());
    const at = clock.monotonicMs();
    this.#triedAt = at;
    if (this.#seen !== null) {
      this.#lookedAt = at;
      this.#recovery = recoveryAfter(this.#recovery, this.#seen.workers, at);
    }
    const observed = { at, seen: this.#seen, isStandby: this.#isStandby };
    const { state, alerts } = watch(this.#state, observed, this.#options.thresholds);
    this.#state = state;
    for (const alert of alerts) this.#tell(alert);
    if (this.#stopped) return;
    this.#cancel = clock.after(Math.min(this.#options.everyMs, beatMs), () => this.start());
  }

  #tell(alert: Alert): void {
    try {
      this.#ports.tell(alert);
    } catch (error) {
      this.#ports.trouble("alert", error);
    }
  }

  /** `null`: it failed, or was not answered in time. */
  async #within<Answer>(where: string, ms: number, ask: () => Promise<Answer>): Promise<Answer | null> {
    let cancel = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      cancel = this.#ports.clock.after(ms, () => reject(new Error(`no answer within ${ms} ms`)));
    });
    try {
      return await Promise.race([ask(), late]);
    } catch (error) {
      this.#ports.trouble(where, error);
      return null;
    } finally {
      cancel();
    }
  }

  async #beat(): Promise<void> {
    const { id, name, host, pid, version } = this.#options;
    const upMs = Math.round(this.#ports.clock.monotonicMs() - this.#startedAt);
    const nothing = {
      pools: [],
      queues: [],
      sagas: [],
      runs: [],
      slots: { busy: 0, total: 0 },
      idleMs: null,
      stuckMs: 0,
    };
    const own = {
      role: "supervisor",
      state: "ready",
      lagMs: 0,
      rssBytes: process.memoryUsage.rss(),
      storeMs: null,
    } as const;
    const beat = { id, name, host, pid, version, upMs, ...own, ...nothing };
    const heard = await this.#within("heartbeat", beatWithinMs, () => this.#ports.beat(beat));
    this.#isStandby = heard !== null && !heard.tells;
  }
}
