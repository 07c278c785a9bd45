/**
 * `npm run bench -- [--json] [--quick] [name...]`: runs the named benches, or all of them, and prints a line for each
 * (`--json`), or a table with the goal beside each figure. Exit code 1 only when a bench could not be carried out: a
 * goal that is missed is a figure, not a failure.
 */
import { parseArgs } from "node:util";
import type { Bench } from "./bench.ts";
import { boot } from "./boot.ts";
import { buildPackage, buildProgram } from "./build.ts";
import { curve } from "./curve.ts";
import { durability } from "./durability.ts";
import { failing } from "./failing.ts";
import { fairness } from "./fairness.ts";
import { Lab } from "./lab.ts";
import { latency } from "./latency.ts";
import { memory } from "./memory.ts";
import { retention } from "./retention.ts";
import { roundTrips } from "./round-trips.ts";
import { simulation } from "./simulation.ts";
import { type Size, sizes } from "./sizes.ts";
import { start } from "./start.ts";
import { headerOf, tableOf } from "./table.ts";
import { takeover } from "./takeover.ts";
import { telemetry } from "./telemetry.ts";
import { throughput } from "./throughput.ts";
import { timers } from "./timers.ts";
import { waiting } from "./waiting.ts";

const benches: readonly Bench[] = [
  throughput,
  failing,
  durability,
  roundTrips,
  latency,
  start,
  memory,
  takeover,
  boot,
  waiting,
  timers,
  simulation,
  telemetry,
  curve,
  retention,
  fairness,
];

interface Wanted {
  readonly json: boolean;
  readonly size: Size;
  readonly benches: readonly Bench[];
}

function wantedBy(args: readonly string[]): Wanted {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { json: { type: "boolean" }, quick: { type: "boolean" }, tiny: { type: "boolean" } },
    allowPositionals: true,
  });
  const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name));
  if (unknown.length > 0) {
    throw new Error(
      `no bench is called ${unknown.join(", ")}; there are ${benches.map(({ name }) => name).join(", ")}`,
    );
  }
  return {
    json: values.json === true,
    size: sizes[values.tiny === true ? "tiny" : values.quick === true ? "quick" : "full"],
    benches: positionals.length === 0 ? benches : benches.filter(({ name }) => positionals.includes(name)),
  };
}

async function run({ json, size, benches: chosen }: Wanted): Promise<void> {
  buildPackage();
  const lab = await Lab.open(await buildProgram(), Math.min(size.sagas, 3_000));
  const interrupted = () => void lab.close().finally(() => process.exit(130));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupted);
  if (!json) console.log(headerOf(size));
  try {
    for (const bench of chosen) {
      const figures = await bench.measure(lab, size);
      await lab.clear();
      console.log(json ? JSON.stringify({ bench: bench.name, ...rounded(figures) }) : tableOf(bench, rounded(figures)));
    }
  } finally {
    await lab.close();
  }
}

/** Three digits behind the point where there is little before it. */
function rounded(figures: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const round = (value: number) => (Math.abs(value) < 100 ? Math.round(value * 1_000) / 1_000 : Math.round(value));
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, round(value)]));
}

try {
  await run(wantedBy(process.argv.slice(2)));
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
