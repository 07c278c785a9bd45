export * from "./ensure.mjs";
export { type ConnectionOptions, type RedisClient, type RedisConnections, redisConnections } from "./connections.ts";
export type { Pulse, PulsePlace } from "./pulse.ts";
