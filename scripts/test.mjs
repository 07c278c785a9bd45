/**
 * `npm test`: the static checks, every kind of test, the evidence the tests left; `--size full` runs the scenarios in
 * their stated sizes. The last line is a plain `<n> passed, <m> failed`: every test counts once, and so does every
 * check, file or suite that failed as a whole; m is 0 exactly when the exit code is.
 */
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packagePart, root, runParts, staticParts } from "./parts.mjs";

const vitest = join(root, "node_modules/.bin/vitest");
/** What one project has transformed the others need not transform again; kept for this run only, so that it is never stale. */
const modules = join(tmpdir(), `reprise-test-${process.pid}-modules`);
const shared = ["--experimental.fsModuleCache", `--experimental.fsModuleCachePath=${modules}`];
const apart = ["--exclude", "test/simulation/**", "--exclude", "test/e2e/**"];
/**
 * First the simulation, which computes on both cores and waits for nothing. Then three side by side, of equal length: two in which
 * tests wait for real time, one file at a time, and in what they leave the static checks and the other tests that compute.
 */
const lanes = [
  { name: "simulation", args: ["--project", "simulation", "--maxWorkers", "2", ...shared] },
  { name: "fault", args: ["--project", "fault"] },
  { name: "fault-long and e2e", args: ["--project", "fault-long", "--project", "e2e"] },
  { name: "others", args: ["--project", "!fault*", ...apart, "--maxWorkers", "1", ...shared] },
].map((lane, place) => {
  const kept = join(tmpdir(), `reprise-test-${process.pid}-${place}`);
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
rmSync(modules, { recursive: true, force: true });

const failedAsWhole = [...tests.failedAsWhole, ...(evidenceFailed ? ["evidence"] : [])];
if (failedAsWhole.length > 0) console.log(`\nFailed as a whole: ${failedAsWhole.join(", ")}`);
if (tests.skipped > 0) console.log(`\n${tests.skipped} skipped`);
const failed = tests.failed + failedAsWhole.length;
console.log(`\n${tests.passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function runTests() {
  const [simulation, watched, ends, others] = lanes;
  const simulated = await run(vitest, argsOf(simulation));
  const said = [];
  const check = (parts) => runParts(parts, { say: (line) => said.push(line), oneByOne: true });
  // Built once, before anybody starts what was built.
  const built = check([packagePart]);
  const checked = built.then(() => check(staticParts));
  const underWay = [
    built.then(() => run(vitest, argsOf(ends), ends.output)),
    checked.then(() => run(vitest, argsOf(others), others.output)),
  ];
  const codes = [simulated, await run(vitest, argsOf(watched)), ...(await Promise.all(underWay))];
  console.log(`\nStatic checks\n${said.join("\n")}\n`);
  for (const { output } of [ends, others]) process.stdout.write(readFileSync(output));
  const tallies = lanes.map((lane, at) => tally(lane, codes[at]));
  const sum = (of) => tallies.reduce((total, each) => total + each[of], 0);
  return {
    passed: sum("passed"),
    failed: sum("failed"),
    skipped: sum("skipped"),
    failedAsWhole: [...(await built), ...(await checked), ...tallies.flatMap((each) => each.failedAsWhole)],
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
