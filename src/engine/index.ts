/** The door of the engine: workers that advance runs, and the real clock and ids. */
export type { StepLine, StepLogSink } from "./call-context.ts";
export type { TellHook } from "./couriers.ts";
export { probeFact, thrownResult, undoResult } from "./outcome.ts";
export type { EngineSettings } from "./settings.ts";
export { systemClock, systemIds } from "./system-clock.ts";
export { systemVitals, type Vitals } from "./vitals.ts";
export { engineWorker, type PulsePlace, type Worker, type WorkerOptions, type WorkerParts } from "./worker.ts";
