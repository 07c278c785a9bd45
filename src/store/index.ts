/** The door of the store: two adapters of the port `Store`. */
export { memoryStore } from "./memory-store.ts";
export type { BarrierOption } from "./redis/barrier.ts";
export { straysIn } from "./redis/strays.ts";
export { type RedisStoreOptions, redisStore } from "./redis-store.ts";
