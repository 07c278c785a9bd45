/**
 * `npm test`: the static checks, every kind of test, the evidence the tests left; `--size full` runs the scenarios in
 * their stated sizes. The last line is a plain `<n> passed, <m> failed`: every test counts once, and so does every
 * check, file or suite that failed as a whole; m is 0 exactly when the exit code is.
 */
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, runParts, staticParts } from "./parts.mjs";

const vitest = join(root, "node_modules/.bin/vitest");
/**
 * Side by side: the tests that wait for real time, one file at a time, and beside them, in what they leave, the static checks
 * and all others.
 */
const lanes = [
  { name: "fault", args: ["--project", "fault"] },
  { name: "others", args: ["--project", "!fault", "--maxWorkers", "1"] },
].map((lane) => {
  const kept = join(tmpdir(), `reprise-test-${process.pid}-${lane.name}`);
  return { ...lane, report: `${kept}.json`, output: `${kept}.log` };
});
const size = process.argv.includes("full") ? "full" : "short";
const evidence = "scripts/evidence.mjs";

// Lines of an earlier run would speak for tests that did not run in this one.
rmSync(join(root, "test/.evidence.jsonl"), { force: true });
console.log(`Tests (${size} size)`);
const tests = await runTests();
const evidenceFailed = await checkEvidence();
for (const lane of lanes) for (const file of [lane.report, lane.output]) rmSync(file, { force: true });

const failedAsWhole = [...tests.failedAsWhole, ...(evidenceFailed ? ["evidence"] : [])];
if (failedAsWhole.length > 0) console.log(`\nFailed as a whole: ${failedAsWhole.join(", ")}`);
if (tests.skipped > 0) console.log(`\n${tests.skipped} skipped`);
const failed = tests.failed + failedAsWhole.length;
console.log(`\n${tests.passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function runTests() {
  const [watched, others] = lanes;
  const said = [];
  const underWay = runParts(staticParts, { say: (line) => said.push(line), oneByOne: true }).then(
    async (failedParts) => ({
      failedParts,
      code: await run(vitest, argsOf(others), others.output),
    }),
  );
  const first = tally(watched, await run(vitest, argsOf(watched)));
  const { failedParts, code } = await underWay;
  console.log(`\nStatic checks\n${said.join("\n")}\n`);
  process.stdout.write(readFileSync(others.output));
  const second = tally(others, code);
  return {
    passed: first.passed + second.passed,
    failed: first.failed + second.failed,
    skipped: first.skipped + second.skipped,
    failedAsWhole: [...failedParts, ...first.failedAsWhole, ...second.failedAsWhole],
  };
}

function argsOf({ args, report }) {
  return ["run", ...args, "--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
}

function tally({ name, report }, code) {
  const counts = count(report);
  // An error outside any test (an unhandled rejection, a global setup) fails the run without failing a test.
  const isUnexplained = code !== 0 && counts.failed + counts.failedAsWhole.length === 0;
  return isUnexplained ? { ...counts, failedAsWhole: [`vitest ${name} (exit code ${code})`] } : counts;
}

function count(report) {
  if (!existsSync(report)) return { passed: 0, failed: 0, skipped: 0, failedAsWhole: [] };
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults } = JSON.parse(
    readFileSync(report, "utf8"),
  );
  const isWhole = (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed");
  const failedAsWhole = testResults.filter(isWhole).map((file) => file.name.replace(`${root}/`, ""));
  return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests, failedAsWhole };
}

async function checkEvidence() {
  console.log("\nEvidence");
  return (await run(process.execPath, [evidence, ...lanes.map(({ report }) => report)])) !== 0;
}

/** `output`: a file that keeps what it says; `null`: it says it here. */
function run(file, args, output = null) {
  return new Promise((resolve) => {
    const kept = output === null ? null : createWriteStream(output);
    const child = spawn(file, args, {
      cwd: root,
      env: { ...process.env, REPRISE_SIZE: size },
      stdio: ["ignore", kept === null ? "inherit" : "pipe", kept === null ? "inherit" : "pipe"],
    });
    if (kept !== null) for (const said of [child.stdout, child.stderr]) said.pipe(kept, { end: false });
    child.on("error", () => resolve(127));
    child.on("close", (code) => {
      if (kept === null) resolve(code ?? 1);
      else kept.end(() => resolve(code ?? 1));
    });
  });
}
