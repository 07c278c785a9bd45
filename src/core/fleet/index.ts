/** Workers together: what they say of themselves, and what that means. Decides; asks nobody. */
export {
  type Alarm,
  defaultThresholds,
  type Seen,
  type ServerFacts,
  type Thresholds,
} from "./alarms.ts";
export * from "./heartbeat.ts";
export * from "./liveness.ts";
export * from "./probes.ts";
export { type Alert, firingIn, nothingSeen, type Observation, type WatchState, watch } from "./watch.ts";
export * from "./worker-state.ts";
