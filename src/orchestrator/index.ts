/**
 * The composition root: introduces the rooms to each other. What is wrong in the options or in the environment is refused at once.
 */

export { type CreateClientOptions, checkDeploy, createClient } from "./client.ts";
export type { AdminOptions } from "./ground.ts";
export { type CreateIdempotencyOptions, createIdempotency } from "./idempotency.ts";
export { inspectPlace } from "./inspect.ts";
export type { PlaceOptions } from "./place.ts";
export { type CreateSupervisorOptions, createSupervisor, type Supervisor } from "./supervisor.ts";
export { type CreateWorkerOptions, createWorker, type QueueOptions } from "./worker.ts";
