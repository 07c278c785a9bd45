/**
 * `npm run sim -- [--kind KIND] [--seeds N] [--from SEED] [--seed SEED --trace] [--json]`: runs seeds of the simulation and
 * says which broke an invariant, with all that was derived from it, and how to repeat it. Exit 1 where one did. Kinds: `mix` (unless
 * given: `kinds.ts` says of what), `plain`, `sharing`, `parenting`, `losing`, `town`.
 */
import { parseArgs } from "node:util";
import { isKind, kindOf, kinds } from "./kinds.ts";
import { crashPoints, elsewhere } from "./points.ts";
import { simulateSeed } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    kind: { type: "string", default: "mix" },
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

const { kind: wanted } = values;
if (wanted !== "mix" && !isKind(wanted))
  throw new RangeError(`--kind is mix or one of ${Object.keys(kinds).join(", ")}`);
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const started = performance.now();
let violations = 0;
let commits = 0;
const statuses: Record<string, number> = {};
const hits: Record<string, number> = Object.fromEntries(crashPoints.map((point) => [point, 0]));
for (let seed = first; seed < first + count; seed += 1) {
  const kind = wanted === "mix" ? kindOf(seed) : wanted;
  const trace = values.trace ? { trace: (line: string) => console.error(line) } : {};
  const report = await simulateSeed({ ...kinds[kind], seed, ...trace });
  commits += report.commits;
  for (const [status, n] of Object.entries(report.check.byStatus)) statuses[status] = (statuses[status] ?? 0) + n;
  for (const [point, n] of Object.entries(report.hits)) hits[point] = (hits[point] ?? 0) + n;
  if (report.violations.length === 0) continue;
  violations += 1;
  console.error(`${kind} seed ${seed} ${JSON.stringify(report.derived)}`);
  for (const violation of report.violations) console.error(`  ${violation}`);
  console.error(`  repeat: npm run sim -- --kind ${kind} --seed ${seed} --trace`);
}
const { user, system } = process.cpuUsage();
const cpuSeconds = Math.round((user + system) / 1e5) / 10;
const seconds = Math.round((performance.now() - started) / 100) / 10;
if (values.json) {
  console.log(
    JSON.stringify({ seeds: count, violations, seconds, cpuSeconds, commits, crashPointHits: hits, elsewhere }),
  );
} else {
  console.log(`${count} seeds, ${violations} with violations, ${seconds} s; runs ${JSON.stringify(statuses)}`);
}
process.exitCode = violations === 0 ? 0 : 1;
