/** The door of the store: two adapters of the port `Store`, and the check of ids that faces share with it. */
export { assertId } from "./keys.ts";
export { type MemoryStoreOptions, memoryStore } from "./memory-store.ts";
export type { BarrierOption } from "./redis/barrier.ts";
export type { StoreConnections } from "./redis/connections.ts";
export { type RedisStoreOptions, redisStore } from "./redis-store.ts";
