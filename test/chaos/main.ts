/**
 * `npm run chaos -- --seed S --runs N --kills K --fsync always|everysec [--together] [--without T,U] [--keep] [--json]`: plays a
 * round of chaos and judges it; `--pinned` plays those that have found something. Exit 0: nothing was found; 1: an invariant was
 * broken, and how is told; 3: VOID, a round proves nothing; 2: it could not be played.
 */
import { parseArgs } from "node:util";
import { type Asked, type Trouble, troubles } from "./options.ts";
import { pinned } from "./pinned.ts";
import { summaryOf, tellRound } from "./report.ts";
import { playRound } from "./round.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    runs: { type: "string", default: "1000" },
    kills: { type: "string", default: "50" },
    fsync: { type: "string", default: "always" },
    together: { type: "boolean", default: false },
    without: { type: "string", default: "" },
    keep: { type: "boolean", default: false },
    pinned: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

function rounds(): readonly Asked[] {
  if (!values.pinned) return [asked()];
  return pinned.map((round) => ({ ...round.asked, together: false, without: [] }));
}

function asked(): Asked {
  const { fsync } = values;
  if (fsync !== "always" && fsync !== "everysec") throw new RangeError("--fsync is always or everysec");
  const whole = (name: "seed" | "runs" | "kills", least: number) => {
    const value = Number(values[name]);
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new RangeError(`--${name} is a whole number from ${least}`);
  };
  const without = values.without.split(",").filter((name) => name !== "");
  const stray = without.find((name) => !troubles.includes(name));
  if (stray !== undefined) throw new RangeError(`--without ${stray}: there are ${troubles.join(", ")}`);
  return {
    seed: whole("seed", 0),
    runs: whole("runs", 1),
    kills: whole("kills", 0),
    fsync,
    together: values.together,
    without: without as Trouble[], // each is one of them
  };
}

// Whatever was started ends with this process.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(2));

const say = (line: string) => void process.stderr.write(`${line}\n`);
try {
  process.exitCode = 0;
  for (const each of rounds()) {
    const round = await playRound(each, { tell: say, keepsBooks: values.keep });
    for (const line of tellRound(round)) (values.json ? say : console.log)(line);
    if (values.json) console.log(JSON.stringify(summaryOf(round)));
    if (round.violations.length > 0) process.exitCode = 1;
    else if (round.voids.length > 0 && process.exitCode === 0) process.exitCode = 3;
  }
} catch (error) {
  console.error(error);
  process.exitCode = 2;
}
