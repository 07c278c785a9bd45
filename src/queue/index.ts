/** The door of the queue: nudges over BullMQ. */
export { bullmqWakeUps } from "./bullmq-queue.ts";
export { bullmqCanaries } from "./canaries.ts";
export { bullmqConsumers } from "./consumer.ts";
export { bullmqDeadLetters } from "./dead-letters.ts";
export type { QueueTelemetry } from "./queues.ts";
export { bullmqTicks } from "./schedules.ts";
