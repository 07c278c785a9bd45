/** A run is a value. This folder owns its shapes, and decides nothing; the rest of `core` says what becomes of it. */
export * from "./basics.ts";
export * from "./company.ts";
export * from "./log.ts";
export * from "./people.ts";
export * from "./record.ts";
export * from "./review.ts";
export * from "./row.ts";
export * from "./standing.ts";
export * from "./status.ts";
export * from "./words.ts";
