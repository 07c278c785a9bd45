/**
 * `npm run test:planted [-- name ...] [--write]`: plants one bug at a time and runs the files that claim it until the first red. Exit
 * 1 where a bug goes unnoticed. `--write`: keeps what was found in the table of `docs/proof.md`.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PlantedBug, plantedBugs } from "./bugs.ts";
import { type Found, writeTable } from "./table.ts";

interface Finding {
  readonly bug: string;
  readonly red: Red | null;
  readonly seconds: number;
}

interface Red {
  readonly title: string;
  readonly file: string;
  /** Seeds that it took, where it was a seed that found it. */
  readonly seeds: number | null;
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly title: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** As `test/simulation/seeds.test.ts` begins. */
const firstSeed = 1_000;
const wanted = process.argv.slice(2).filter((name) => name !== "--write");
const bugs = wanted.length === 0 ? plantedBugs : plantedBugs.filter((bug) => wanted.includes(bug.name));
const findings: Finding[] = [];
for (const bug of bugs) {
  const finding = await hunt(bug);
  findings.push(finding);
  const { red } = finding;
  const after = red?.seeds == null ? "" : ` after ${red.seeds} seeds`;
  const verdict = red === null ? "NOT FOUND" : `found by "${red.title}" in ${red.file}${after}`;
  console.log(`${bug.name.padEnd(28)} ${String(finding.seconds).padStart(6)} s  ${verdict}`);
}
const missed = findings.filter((finding) => finding.red === null).length;
if (process.argv.includes("--write")) writeTable(plantedBugs, findings.flatMap(foundOf));
console.log(`${findings.length - missed} passed, ${missed} failed`);
process.exitCode = missed === 0 ? 0 : 1;

function foundOf({ bug, red }: Finding): readonly Found[] {
  return red === null ? [] : [{ bug, by: red.file, seeds: red.seeds }];
}

async function hunt(bug: PlantedBug): Promise<Finding> {
  const started = performance.now();
  let red: Red | null = null;
  for (const file of bug.claimed) {
    red = await firstRed(bug, file);
    if (red !== null) break;
  }
  return { bug: bug.name, red, seconds: Math.round((performance.now() - started) / 100) / 10 };
}

/** The first test of `file` whose assertion fails while the bug is planted. */
async function firstRed(bug: PlantedBug, file: string): Promise<Red | null> {
  const dir = mkdtempSync(join(tmpdir(), "reprise-planted-run-"));
  const report = join(dir, "report.json");
  const [, project = ""] = file.split("/");
  const args = ["run", file, "--project", project, "--bail=1", "--reporter=json", `--outputFile.json=${report}`];
  await run(args, { REPRISE_PLANT: bug.name, REPRISE_CONTRACT: "memory" });
  const { testResults }: Report = JSON.parse(readFileSync(report, "utf8"));
  rmSync(dir, { recursive: true, force: true });
  const tests = testResults.flatMap((result) => result.assertionResults);
  if (tests.length === 0) throw new Error(`${file} ran no test with ${bug.name} planted`);
  const red = tests.find((test) => test.status === "failed");
  return red === undefined ? null : { title: red.title, file, seeds: seedsIn(red.failureMessages.join("\n")) };
}

/** Which of the seeds of a run it was, from 1; `null`: it was none. */
function seedsIn(message: string): number | null {
  const seed = /\bseed (\d+) \{/.exec(message)?.[1];
  return seed === undefined ? null : Number(seed) - firstSeed + 1;
}

function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("node_modules/.bin/vitest", [...args], { env: { ...process.env, ...env }, stdio: "ignore" });
    child.once("error", reject).once("close", () => resolve());
  });
}
