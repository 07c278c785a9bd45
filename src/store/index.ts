/** The door of the store: two adapters of the port `Store`, and the check of ids that faces share with it. */
export { assertId } from "./keys.ts";
export { type MemoryStoreOptions, memoryStore } from "./memory-store.ts";
