export * from "./ensure.mjs";
