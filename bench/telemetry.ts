/**
 * What telemetry costs: the same worker quiet, with logs and metrics, and with traces as well, of a tenth of the runs and of all. Traces
 * beside a quiet worker of a process that OpenTelemetry follows anyway, too: there contexts are paid for by whoever instruments the app.
 */
import { atLeast, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { type LivingLane, measureLives } from "./lives.ts";
import { medianOf, perSecond, ratioOf } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { stepNames } from "./subjects/work.ts";

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const lane = { contestant: "reprise", saga: "order", units: stepNames.length } as const;
  const lanes: readonly LivingLane[] = [
    { ...lane, name: "quiet" },
    { ...lane, name: "told", tells: "lines" },
    { ...lane, name: "followed", tells: "contexts" },
    { ...lane, name: "sampled", tells: "some" },
    { ...lane, name: "traced", tells: "spans" },
  ];
  const sagas = Math.ceil(size.sagas / 10);
  const rounds = await measureLives(lab, lanes, { count: size.rounds, warmUp: 2 * sagas, rounds: 6, sagas });
  const [quiet, told, followed] = [rounds("quiet"), rounds("told"), rounds("followed")];
  const [sampled, traced] = [rounds("sampled"), rounds("traced")];
  return {
    quietStepsPerSecond: medianOf(quiet, perSecond),
    toldToQuiet: ratioOf(told, quiet, perSecond),
    sampledToQuiet: ratioOf(sampled, quiet, perSecond),
    tracedToQuiet: ratioOf(traced, quiet, perSecond),
    followedToQuiet: ratioOf(followed, quiet, perSecond),
    sampledToFollowed: ratioOf(sampled, followed, perSecond),
    tracedToFollowed: ratioOf(traced, followed, perSecond),
    toldWorkerCpuToQuiet: ratioOf(told, quiet, (round) => round.workerUs),
    sampledWorkerCpuToQuiet: ratioOf(sampled, quiet, (round) => round.workerUs),
    tracedWorkerCpuToQuiet: ratioOf(traced, quiet, (round) => round.workerUs),
    followedWorkerCpuToQuiet: ratioOf(followed, quiet, (round) => round.workerUs),
  };
}

export const telemetry: Bench = {
  name: "telemetry",
  goals: {
    quietStepsPerSecond: null,
    toldToQuiet: atLeast(0.9),
    sampledToQuiet: atLeast(0.9),
    tracedToQuiet: atLeast(0.9),
    followedToQuiet: null,
    sampledToFollowed: atLeast(0.9),
    tracedToFollowed: atLeast(0.9),
    toldWorkerCpuToQuiet: null,
    sampledWorkerCpuToQuiet: null,
    tracedWorkerCpuToQuiet: null,
    followedWorkerCpuToQuiet: null,
  },
  measure,
};
