/**
 * The words that a fault test and the processes it starts share: where a process is to die, what it says just before,
 * and what is asked of it by IPC. Owns no behaviour.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Settings } from "../../src/config.ts";
import { RepriseError } from "../../src/errors.ts";

/**
 * Crash points as `reliability.md` 3.1 names them and issue 2 locates them. P07, P08 and half of C03 are made by the
 * world, which needs no plan. I01 to I06 lie between the writes (a) to (f) of an intent (design section 6), T01 to T06 between those
 * of a turn. H01 to H07 are the requests between a parent and its child: before and after it is started (H01, H02), before it is
 * looked at (H03), before and after it is asked to go back (H04, H05), before and after it leaves word that it has moved (H06, H07).
 * M01 and M02 are before and after the commit in which a run moves to another version. `granted` is no crash point: the commit that says `sent` was answered, the call not begun.
 */
export type Point =
  | "P00"
  | "P01"
  | "P02"
  | "P03"
  | "P04"
  | "P05"
  | "P06"
  | "P09"
  | "P10"
  | "P11"
  | "P12"
  | "P13"
  | "P14"
  | "C01"
  | "C02"
  | "C03"
  | "C04"
  | "C05"
  | "I01"
  | "I02"
  | "I03"
  | "I04"
  | "I05"
  | "I06"
  | "T01"
  | "T02"
  | "T03"
  | "T04"
  | "T05"
  | "T06"
  | "H01"
  | "H02"
  | "H03"
  | "H04"
  | "H05"
  | "H06"
  | "H07"
  | "M01"
  | "M02"
  | "granted";

/** Where a process is to end (or to stand still until it is resumed). */
export interface Plan {
  readonly point: Point;
  /** The step, where the point is one of a call. */
  readonly step?: string;
  /** Of the times the point is passed, the one that is meant. 1 when left out. */
  readonly nth?: number;
  readonly signal?: "SIGKILL" | "SIGSTOP";
  /** No signal: whoever passes stands still at the point, every time, until the harness kills the process. */
  readonly holds?: boolean;
  /** No signal: what is asked there fails, once. */
  readonly throws?: boolean;
  /** No signal: what is asked there takes so much longer, once. */
  readonly lateMs?: number;
}

/** Written just before the signal: exactly which point was hit. */
export interface Hit {
  readonly pid: number;
  readonly point: Point;
  readonly step: string | null;
  readonly nth: number;
  /** `null`: it was held. */
  readonly signal: "SIGKILL" | "SIGSTOP" | "throw" | "late" | null;
}

/** What a child process is told when it starts. */
export interface Orders {
  readonly redis: string;
  readonly world: string;
  /** Where hits are written: a file, because a message could die with its process. */
  readonly hits: string;
  readonly plan: Plan | null;
  readonly sagas: SagaSet;
}

/** Which sagas a stage plays (fault-sets.ts). */
export type SagaSet = "crashes" | "matrix";

/** What a worker process is asked. One process may serve many namespaces, each by a worker of its own. */
export type WorkerRequest = { readonly serve: string } | { readonly leave: string };
/** What it answers. `owner` is the incarnation that the log names as actor. */
export type WorkerReply =
  | { readonly ready: true }
  | { readonly serving: string; readonly owner: string; readonly pid: number }
  | { readonly left: string };

/** What a client process is asked. */
export interface ClientRequest {
  readonly namespace: string;
  readonly saga: string;
  readonly id: string;
  readonly refuse: boolean;
  /** Sends this event instead of starting the run. */
  readonly signal?: string;
}
export type ClientReply = { readonly ready: true } | { readonly answered: string };

export const tenant = "t";

/**
 * Short bounds, so that a takeover takes seconds. A busy machine must not look like a dead worker: a process has
 * 1.2 s (lease - margin) of silence before it stops trusting itself.
 */
export const settings: Settings = {
  leaseMs: 2_000,
  renewMs: 200,
  marginMs: 800,
  commandTimeoutMs: 600,
  sweepMs: 150,
  deadLetterSweepMs: 30_000,
  inlineWaitMs: 300,
  startWithinMs: 1_500,
  barrierMs: 800,
  abortGraceMs: 300,
  quiesceMs: 1_000,
  intentWaitMs: 10_000,
  shutdownMs: 3_000,
  maxPayloadBytes: 65_536,
  maxRunBytes: 64_000_000,
  logEntries: 2_000,
  retentionMs: null,
  retentionSweepMs: 30_000,
  idsKeptMs: null,
  artifactThresholdBytes: 32_000,
  maxReplays: 10,
};

/** For the harness, and clients, who have no lease to lose: on a full machine they are slow, never wrong. */
export const harnessTimeoutMs = 5_000;

/** Counts how often each point is passed, and carries the plan out. */
export class Gate {
  readonly #file: string;
  #plan: Plan | null;
  #passed = 0;

  constructor({ plan, hits }: Pick<Orders, "plan" | "hits">) {
    this.#plan = plan;
    this.#file = hits;
  }

  /** Another plan from now on, or none. */
  arm(plan: Plan | null): void {
    this.#plan = plan;
    this.#passed = 0;
  }

  /** Never resolves at the place where the process is to die. */
  async pass(point: Point, step: string | null = null): Promise<void> {
    const plan = this.#plan;
    if (plan === null || plan.point !== point || (plan.step ?? step) !== step) return;
    this.#passed += 1;
    if (plan.holds !== true && this.#passed !== (plan.nth ?? 1)) return;
    const signal = signalOf(plan);
    const hit: Hit = { pid: process.pid, point, step, nth: this.#passed, signal };
    appendFileSync(this.#file, `${JSON.stringify(hit)}\n`);
    if (signal === "throw") throw failureAt(point);
    if (signal === "late") return await sleep(plan.lateMs);
    if (signal !== null) process.kill(process.pid, signal);
    if (signal !== "SIGSTOP") await new Promise<never>(() => undefined);
  }
}

function signalOf({ holds, throws, lateMs, signal }: Plan): Hit["signal"] {
  if (holds === true) return null;
  if (throws === true) return "throw";
  return lateMs === undefined ? (signal ?? "SIGKILL") : "late";
}

/** As the port would say it: nobody knows whether it was done. */
function failureAt(point: Point): Error {
  const message = `the connection broke at ${point}`;
  const isOutside = point === "P06" || point === "P09" || point === "C02" || point === "C03";
  return isOutside
    ? Object.assign(new Error(message), { code: "ECONNRESET" })
    : new RepriseError("STORE_UNAVAILABLE", message);
}
