export {
  type CoverOptions,
  coverPaths,
  type PathAnswer,
  type PathFailure,
  type PathsReport,
  type PathTransition,
} from "./cover-paths.ts";
export { crashSweep, type SweepFailure, type SweepOptions, type SweepReport } from "./crash-sweep.ts";
export {
  type CallFault,
  FakeWorld,
  type FakeWorldOptions,
  type Fault,
  type FaultKind,
  type HeldHandle,
  type ServiceProfile,
  type WorldArrival,
  type WorldCall,
  type WorldClock,
  type WorldEffect,
  type WorldEntry,
  WorldRefusal,
  type WorldReply,
} from "./fake-world.ts";
export { type CallOptions, WorldCallError, type WorldClient, worldClient } from "./fake-world-client.ts";
export { type HeldRemotely, type WorldControl, worldControl } from "./fake-world-control.ts";
export { serveFakeWorld, type WorldServer } from "./fake-world-server.ts";
export { type Fact, fact, type Given, type GivenOptions, given, type Stands } from "./given.ts";
export { type SagaMatchers, sagaMatchers } from "./matchers.ts";
export { type ReplayedLog, replayLog } from "./replay-log.ts";
export { type DecidingOptions, type SimulateOptions, Simulation, simulate } from "./simulate.ts";
