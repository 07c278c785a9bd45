/**
 * One worker process, a full queue, sagas of five `keyed` steps with schemas: steps a second, and the CPU that worker and
 * Redis use for one, beside the bare BullMQ chain (`baselines/chain.ts`) and the bare loop (`baselines/loop.ts`).
 */
import { atLeast, atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { cpuUs, type Lane, measureRounds, medianOf, perSecond, ratioOf } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { stepNames } from "./subjects/work.ts";

const contestants = ["chain", "loop", "reprise"] as const;

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const server = await lab.server();
  const units = stepNames.length;
  const lanes = contestants.map((name): Lane => ({ name, contestant: name, server, saga: "order", units }));
  const rounds = await measureRounds(lab, lanes, { count: size.rounds, sagas: size.sagas });
  const [chain, loop, own] = [rounds("chain"), rounds("loop"), rounds("reprise")];
  return {
    stepsPerSecond: medianOf(own, perSecond),
    bullmqStepsPerSecond: medianOf(chain, perSecond),
    ceilingStepsPerSecond: medianOf(loop, perSecond),
    ratioToBullmq: ratioOf(own, chain, perSecond),
    ratioToCeiling: ratioOf(own, loop, perSecond),
    cpuPerStepToBullmq: ratioOf(own, chain, cpuUs),
    workerCpuUsPerStep: medianOf(own, (round) => round.workerUs),
    redisCpuUsPerStep: medianOf(own, (round) => round.redisUs),
    bullmqCpuUsPerStep: medianOf(chain, cpuUs),
    ceilingCpuUsPerStep: medianOf(loop, cpuUs),
  };
}

export const throughput: Bench = {
  name: "throughput",
  goals: {
    stepsPerSecond: null,
    bullmqStepsPerSecond: null,
    ceilingStepsPerSecond: null,
    ratioToBullmq: { ...atLeast(1.2), text: ">= 1.2x, aim 1.5x" },
    ratioToCeiling: atLeast(0.7),
    cpuPerStepToBullmq: atMost(1),
    workerCpuUsPerStep: null,
    redisCpuUsPerStep: null,
    bullmqCpuUsPerStep: null,
    ceilingCpuUsPerStep: null,
  },
  measure,
};
