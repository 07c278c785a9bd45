/** Workers together: what they say of themselves, and what that means. Decides; asks nobody. */
export {
  defaultThresholds,
  type Seen,
  type ServerFacts,
  type Thresholds,
} from "./alarms.ts";
export { type Finding, findingsIn, type InspectedServerFacts, type Installation } from "./findings.ts";
export * from "./heartbeat.ts";
export * from "./liveness.ts";
export * from "./probes.ts";
export { nothingToRecover, recoveryAfter, waitingMs } from "./recovery.ts";
export { type Alert, firingIn, nothingSeen, type WatchState, watch } from "./watch.ts";
export * from "./worker-state.ts";
