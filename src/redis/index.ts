export { type ConnectionOptions, type RedisClient, type RedisConnections, redisConnections } from "./connections.ts";
export * from "./ensure.mjs";
export { type ExaminedServer, examineServers } from "./examine.ts";
