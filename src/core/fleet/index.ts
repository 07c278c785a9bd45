/** Workers together: what they say of themselves, and what that means. Decides; asks nobody. */
export * from "./heartbeat.ts";
export * from "./liveness.ts";
export * from "./probes.ts";
export * from "./worker-state.ts";
