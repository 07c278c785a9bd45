export { type ConnectionOptions, type RedisClient, type RedisConnections, redisConnections } from "./connections.ts";
export * from "./ensure.mjs";
export { examineServers, inspectServers } from "./examine.ts";
