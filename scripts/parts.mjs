/** Runs independent checks, side by side or one by one: one line for each with its time, the full output of those that fail. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

export const root = join(import.meta.dirname, "..");
const trees = ["src", "sagas", "workers"].filter((tree) => existsSync(join(root, tree)));
const bin = join(root, "node_modules/.bin");

/** The checks that look at the text and never run it; slowest first. */
export const staticParts = [
  { name: "types", command: ["tsc", "--noEmit"] },
  { name: "format and lint", command: ["biome", "ci", "--colors=off", "."] },
  { name: "dependency rules", command: ["depcruise", "--config", ".dependency-cruiser.cjs", ...trees] },
  { name: "dead code", command: ["knip", "--no-progress"] },
];

export const packagePart = { name: "package", command: ["tsdown"] };

/** Answers the names of the parts that failed. `oneByOne`: beside something else, which it leaves a core to. */
export async function runParts(parts, { say = console.log, oneByOne = false } = {}) {
  const report = (part) => reportOn(part, say);
  const results = [];
  if (oneByOne) for (const part of parts) results.push(await report(part));
  else results.push(...(await Promise.all(parts.map(report))));
  return results.filter((result) => result.code !== 0).map((result) => result.name);
}

async function reportOn(part, say) {
  const started = performance.now();
  const { code, output } = await capture(part);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  say(`${code === 0 ? "ok    " : "FAILED"} ${part.name.padEnd(18)} ${seconds.padStart(5)} s`);
  if (code !== 0) say(`${output.trimEnd()}\n`);
  return { name: part.name, code };
}

function capture({ command: [program, ...args], env = {} }) {
  return new Promise((resolve) => {
    let output = "";
    const child = spawn(join(bin, program), args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const keep = (text) => {
      output += text;
    };
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);
    child.on("error", (error) => resolve({ code: 127, output: error.message }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}
