export { type BullmqWakeUpsOptions, bullmqWakeUps } from "./bullmq-queue.ts";
export { type BullmqConsumersOptions, bullmqConsumers } from "./consumer.ts";
