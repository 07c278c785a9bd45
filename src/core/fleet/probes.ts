/** What a worker answers to whoever asks whether it lives and whether it serves. Decides; the worker says how it is. */
import { isWedged, wedgedAfterMs } from "./liveness.ts";

export interface WorkerHealth {
  /** `starting`: not everything was checked yet. */
  readonly state: "starting" | "ready" | "draining" | "stopped";
  /** For how long it has taken nothing though the store answers. */
  readonly stuckMs: number;
  /** The last question to the store was answered. */
  readonly storeAnswers: boolean;
  /** The longest that its event loop was held up lately. */
  readonly lagMs: number;
  /** How old a supervisor's last heartbeat is; `null`: none was heard of lately. */
  readonly supervisedMs: number | null;
}

/** Why its process should be replaced; `null`: it lives. A store that is away is no reason: another process would not reach it either. */
export function deathOf({ state, stuckMs }: WorkerHealth): string | null {
  if (state !== "ready" || !isWedged(stuckMs)) return null;
  return `a queue was not read for ${Math.round(stuckMs / 1_000)} s though Redis answers (${wedgedAfterMs / 1_000} s are borne)`;
}

/** Why it does not serve; `null`: it does. */
export function absenceOf({ state, storeAnswers }: WorkerHealth): string | null {
  switch (state) {
    case "starting":
      return "it is starting";
    case "draining":
      return "it is draining";
    case "stopped":
      return "it has stopped";
    case "ready":
      return storeAnswers ? null : "Redis does not answer";
  }
}
