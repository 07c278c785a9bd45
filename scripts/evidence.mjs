/**
 * Fails where a test's title carries an id of the fault model (`P09`, `C03`, `I3`, `R035`) and `test/.evidence.jsonl` has no
 * line with it, or a line in which nothing was observed. Usage: `evidence.mjs <vitest's JSON reports>`.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const file = join(import.meta.dirname, "../test/.evidence.jsonl");
const pattern = /\b(?:[PCTADVB]\d{2}|R\d{3}|I\d{1,2})\b/g;

const reports = process.argv.slice(2).map((report) => JSON.parse(readFileSync(report, "utf8")));
const tests = reports.flatMap(({ testResults }) => testResults.flatMap((result) => result.assertionResults));
const claimed = new Map();
for (const test of tests) {
  for (const [id] of (test.fullName ?? test.title).matchAll(pattern)) claimed.set(id, test.fullName ?? test.title);
}

const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").filter(Boolean).map(JSON.parse) : [];
const shown = new Set(lines.filter(isObserved).map((line) => line.id));
const missing = [...claimed].filter(([id]) => !shown.has(id));
const empty = lines.filter((line) => !isObserved(line));

for (const [id, title] of missing) console.log(`no evidence for ${id}: ${title}`);
for (const line of empty) console.log(`nothing was observed for ${line.id}`);
console.log(`${claimed.size} ids in titles, ${lines.length} lines of evidence`);
process.exitCode = missing.length + empty.length === 0 ? 0 : 1;

function isObserved(line) {
  if (!Array.isArray(line.checks) || line.checks.length === 0) return false;
  const saw = (line.arrivals ?? 0) + (line.effects ?? 0) > 0 || (line.killed ?? []).length > 0;
  return saw || Boolean(line.refusal?.code && line.refusal?.message) || (line.suite?.count ?? 0) > 0;
}
