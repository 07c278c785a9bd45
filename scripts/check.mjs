/** `npm run check`: everything that needs no server, side by side, in under 30 s. */
import { performance } from "node:perf_hooks";
import { runParts, staticParts } from "./parts.mjs";

// The type tests are read by `tsc` like everything else.
const projects = ["unit", "contract", "simulation"].flatMap((name) => ["--project", name]);
const tests = {
  name: "tests",
  command: ["vitest", "run", ...projects],
  env: { REPRISE_CONTRACT: "memory", REPRISE_SIZE: "quick" },
};

const started = performance.now();
const failed = await runParts([tests, ...staticParts]);
const seconds = ((performance.now() - started) / 1000).toFixed(1);
console.log(failed.length === 0 ? `\nAll good in ${seconds} s` : `\nFailed: ${failed.join(", ")} (${seconds} s)`);
process.exitCode = failed.length === 0 ? 0 : 1;
