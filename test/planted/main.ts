/**
 * `npm run test:planted [-- name ...]`: plants one bug at a time and runs the files that claim it until the first red. Exit 1
 * where a bug goes unnoticed, or where a file is red for another reason than a failed assertion.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PlantedBug, plantedBugs } from "./bugs.ts";

interface Finding {
  readonly bug: string;
  readonly foundBy: string | null;
  readonly seconds: number;
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly status: string; readonly title: string }[];
  }[];
}

const wanted = process.argv.slice(2);
const bugs = wanted.length === 0 ? plantedBugs : plantedBugs.filter((bug) => wanted.includes(bug.name));
const findings: Finding[] = [];
for (const bug of bugs) {
  const finding = await hunt(bug);
  findings.push(finding);
  const verdict = finding.foundBy === null ? "NOT FOUND" : `found by ${finding.foundBy}`;
  console.log(`${bug.name.padEnd(28)} ${String(finding.seconds).padStart(6)} s  ${verdict}`);
}
const missed = findings.filter((finding) => finding.foundBy === null).length;
console.log(`${findings.length - missed} passed, ${missed} failed`);
process.exitCode = missed === 0 ? 0 : 1;

async function hunt(bug: PlantedBug): Promise<Finding> {
  const started = performance.now();
  let foundBy: string | null = null;
  for (const file of bug.claimed) {
    foundBy = await firstRed(bug, file);
    if (foundBy !== null) break;
  }
  return { bug: bug.name, foundBy, seconds: Math.round((performance.now() - started) / 100) / 10 };
}

/** The first test of `file` whose assertion fails while the bug is planted. */
async function firstRed(bug: PlantedBug, file: string): Promise<string | null> {
  const dir = mkdtempSync(join(tmpdir(), "reprise-planted-run-"));
  const report = join(dir, "report.json");
  const args = ["run", file, "--bail=1", "--reporter=json", `--outputFile.json=${report}`];
  await run(args, { REPRISE_PLANT: bug.name, REPRISE_CONTRACT: "memory" });
  const { testResults }: Report = JSON.parse(readFileSync(report, "utf8"));
  rmSync(dir, { recursive: true, force: true });
  const tests = testResults.flatMap((result) => result.assertionResults);
  if (tests.length === 0) throw new Error(`${file} ran no test with ${bug.name} planted`);
  const red = tests.find((test) => test.status === "failed");
  return red === undefined ? null : `"${red.title}" in ${file}`;
}

function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("node_modules/.bin/vitest", [...args], { env: { ...process.env, ...env }, stdio: "ignore" });
    child.once("error", reject).once("close", () => resolve());
  });
}
