export { type ConnectionOptions, type RedisConnections, redisConnections } from "./connections.ts";
export * from "./ensure.mjs";
