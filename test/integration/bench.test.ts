/**
 * The bench as it is run by hand, at a size that says nothing about speed: every bench can be carried out, and its line
 * has the figures that it promises.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";

const root = fileURLToPath(new URL("../..", import.meta.url));
const timeoutMs = 240_000;

/** Those that users of `npm run bench -- --json` rely on; there may be more. */
const promised: Readonly<Record<string, readonly string[]>> = {
  throughput: ["stepsPerSecond", "ratioToBullmq", "ratioToCeiling", "cpuPerStepToBullmq"],
  failing: ["failingToSucceeding"],
  durability: ["alwaysToEverysec"],
  roundTrips: ["perStep", "perRun", "queuePerRun"],
  latency: ["p50ToBullmq"],
  start: ["ratioToAddBulk"],
  memory: ["bytesPerCompletedRun", "bytesPerWaitingRun", "workerRssMb"],
  takeover: ["killP99Ms", "stopP99InLeases"],
  boot: ["firstStepP50Ms"],
  waiting: ["waitingRuns", "ratioWithWaiting"],
  telemetry: ["toldToQuiet", "sampledToQuiet", "tracedToQuiet"],
  timers: ["timersDue", "startP99Ms", "startP99ToQuiet", "firedEarly", "firedTwice"],
  curve: ["curveSagasPerSecond", "w1s1ToOne", "w2s4ToOne", "w2s4RedisCpuMs", "w2s4LeastBusyCore", "workersToFillRedis"],
  retention: ["calmStartP99Ms", "expiryStartP99Ms", "deletionTookMs", "expiredKeysLeft"],
  fairness: ["singleOnEmptyMs", "singleMedianMs", "singleP95Ms", "singleWorstOverEmptyMs"],
  simulation: ["simulatedPerSecond", "simulatedPerCpuSecond", "simulatedToMachine", "simulatedGrowthMb"],
};

const Line = z.object({ bench: z.string() }).catchall(z.number());

async function bench(...args: readonly string[]): Promise<string> {
  const command = ["--conditions=source", "--import", "tsx", "bench/main.ts", ...args];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: root, timeout: timeoutMs });
  return stdout;
}

test("every bench prints one flat JSON line with its figures, and no figure has two meanings", {
  timeout: timeoutMs,
}, async () => {
  const lines = (await bench("--json", "--tiny")).trim().split("\n");
  const read = lines.map((line) => Line.parse(JSON.parse(line)));
  expect(read.map((line) => line.bench).sort()).toEqual(Object.keys(promised).sort());
  for (const line of read) expect(Object.keys(line)).toEqual(expect.arrayContaining([...(promised[line.bench] ?? [])]));
  const names = read.flatMap(({ bench: _, ...figures }) => Object.keys(figures));
  expect(new Set(names).size).toBe(names.length);
});

test("a bench that does not exist is refused with the names of those that do", async () => {
  await expect(bench("--json", "fastest")).rejects.toThrow(/no bench is called fastest; there are throughput, /);
});
