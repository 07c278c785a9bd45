/**
 * `npm run sim -- [--kind KIND] [--seeds N] [--from SEED] [--seed SEED --trace] [--json]`: runs seeds of the simulation and
 * says which broke an invariant, and how to repeat it. Exit 1 where one did. Kinds: `plain` (unless given), `sharing`,
 * `parenting`, `losing`, `town`.
 */
import { parseArgs } from "node:util";
import { simulateSeed } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    kind: { type: "string", default: "plain" },
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

const kinds = {
  plain: {},
  sharing: { sharing: true },
  parenting: { parenting: true },
  losing: { losing: true },
  town: { town: true },
};
const { kind } = values;
const of = Object.hasOwn(kinds, kind) ? kinds[kind as keyof typeof kinds] : null;
if (of === null) throw new RangeError(`--kind is one of ${Object.keys(kinds).join(", ")}`);
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
const started = performance.now();
let violations = 0;
const statuses: Record<string, number> = {};
for (let seed = first; seed < first + count; seed += 1) {
  const report = await simulateSeed({ ...of, seed, ...(values.trace ? { trace: (line) => console.error(line) } : {}) });
  for (const [status, n] of Object.entries(report.check.byStatus)) statuses[status] = (statuses[status] ?? 0) + n;
  if (report.violations.length === 0) continue;
  violations += 1;
  console.error(`seed ${seed} ${JSON.stringify(report.derived)}`);
  for (const violation of report.violations) console.error(`  ${violation}`);
  console.error(`  repeat: npm run sim -- --kind ${kind} --seed ${seed} --trace`);
}
const seconds = Math.round((performance.now() - started) / 100) / 10;
if (values.json) console.log(JSON.stringify({ seeds: count, violations, seconds }));
else console.log(`${count} seeds, ${violations} with violations, ${seconds} s; runs ${JSON.stringify(statuses)}`);
process.exitCode = violations === 0 ? 0 : 1;
