/**
 * `npm test`: the static checks, every kind of test, the evidence the tests left; `--size full` runs the scenarios in
 * their stated sizes. The last line is a plain `<n> passed, <m> failed`: every test counts once, and so does every
 * check, file or suite that failed as a whole; m is 0 exactly when the exit code is.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { root, runParts, staticParts } from "./parts.mjs";

const size = process.argv.includes("full") ? "full" : "short";
const evidence = "scripts/evidence.mjs";

// Lines of an earlier run would speak for tests that did not run in this one.
rmSync(join(root, "test/.evidence.jsonl"), { force: true });
console.log("Static checks");
const failedParts = await runParts(staticParts);
console.log(`\nTests (${size} size)`);
const report = join(tmpdir(), `reprise-test-${process.pid}.json`);
const tests = await runTests();
const evidenceFailed = await checkEvidence();
rmSync(report, { force: true });

const failedAsWhole = [...failedParts, ...tests.failedAsWhole, ...(evidenceFailed ? ["evidence"] : [])];
if (failedAsWhole.length > 0) console.log(`\nFailed as a whole: ${failedAsWhole.join(", ")}`);
if (tests.skipped > 0) console.log(`\n${tests.skipped} skipped`);
const failed = tests.failed + failedAsWhole.length;
console.log(`\n${tests.passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function runTests() {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const code = await run(join(root, "node_modules/.bin/vitest"), ["run", ...reporters]);
  const counted = count(report);
  // An error outside any test (an unhandled rejection, a global setup) fails the run without failing a test.
  const unexplained = code !== 0 && counted.failed + counted.failedAsWhole.length === 0;
  return unexplained ? { ...counted, failedAsWhole: [`vitest (exit code ${code})`] } : counted;
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
  return (await run(process.execPath, [evidence, report])) !== 0;
}

function run(file, args) {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd: root,
      env: { ...process.env, REPRISE_SIZE: size },
      stdio: ["ignore", "inherit", "inherit"],
    });
    child.on("error", () => resolve(127));
    child.on("close", (code) => resolve(code ?? 1));
  });
}
