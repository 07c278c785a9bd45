/**
 * What telemetry costs: the same worker quiet, with logs and metrics, and with traces as well, of a tenth of the runs and of all. Traces
 * beside a quiet worker of a process that OpenTelemetry follows anyway, too: there contexts are paid for by whoever instruments the app.
 */
import { atLeast, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { type Lane, measureRounds, medianOf, perSecond, ratioOf } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { stepNames } from "./subjects/work.ts";

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const server = await lab.server();
  const lane = { contestant: "reprise", saga: "order", units: stepNames.length, server } as const;
  const lanes: readonly Lane[] = [
    { ...lane, name: "quiet" },
    { ...lane, name: "told", tells: "lines" },
    { ...lane, name: "followed", tells: "contexts" },
    { ...lane, name: "sampled", tells: "some" },
    { ...lane, name: "traced", tells: "spans" },
  ];
  // Many short rounds: what is compared differs by less than the machine does within a minute.
  const rounds = await measureRounds(lab, lanes, { count: size.rounds * 3, sagas: Math.ceil(size.beside / 3) });
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
