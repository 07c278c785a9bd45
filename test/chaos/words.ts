/** The words that the harness of chaos and the processes it starts share. Owns no behaviour. */
import type { Settings } from "../../src/config.ts";
import type { Fault } from "../../src/testing/index.ts";
import { type Plan, settings as patient } from "../support/fault-plan.ts";

export const namespace = "chaos";
export const tenant = "t";

/** As for the fault tests: a takeover takes seconds, and a busy machine does not look like a dead worker. */
export const settings: Settings = { ...patient };

/** What a worker process is told when it starts. */
export interface WorkerOrders {
  readonly redis: string;
  readonly world: string;
  /** Where it writes that it is about to die (`Hit`). */
  readonly hits: string;
  /** Where it writes every commit that was acknowledged (`Acked`). */
  readonly acked: string;
  /** Where it writes every run that it took over (`TakenOver`). */
  readonly taken: string;
  /** Before a deploy there is only the first version of an order. */
  readonly version: 1 | 2;
  readonly allowForgetfulStore: boolean;
  /** Its wall clock is wrong by so much. */
  readonly skewMs: number;
}

/** A commit that the store has acknowledged, as the process that sent it wrote it down. */
export interface Acked {
  readonly id: string;
  readonly revision: number;
  readonly digest: string;
  readonly at: number;
  readonly owner: string;
  /** Calls that it granted. */
  readonly sends: number;
}

/** A run that somebody had in hand and did not give back, as the process that has it now wrote it down. Store time. */
export interface TakenOver {
  readonly id: string;
  readonly from: string;
  readonly at: number;
}

export type WorkerRequest = { readonly arm: Plan | null } | { readonly blockMs: number };
export interface WorkerReady {
  readonly ready: string;
}

export interface WorldOrders {
  readonly file: string;
}

export type WorldRequest = { readonly script: readonly Fault[] } | { readonly asks: number; readonly about: string };
export type WorldReply = { readonly url: string } | { readonly asked: number; readonly effects: number };
