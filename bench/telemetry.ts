/** What telemetry costs: the same worker quiet, with logs and metrics, and with traces as well, of a tenth of the runs and of all. */
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
    { ...lane, name: "sampled", tells: "some" },
    { ...lane, name: "traced", tells: "spans" },
  ];
  const rounds = await measureRounds(lab, lanes, { count: size.rounds, sagas: size.beside });
  const [quiet, told] = [rounds("quiet"), rounds("told")];
  const [sampled, traced] = [rounds("sampled"), rounds("traced")];
  return {
    quietStepsPerSecond: medianOf(quiet, perSecond),
    toldToQuiet: ratioOf(told, quiet, perSecond),
    sampledToQuiet: ratioOf(sampled, quiet, perSecond),
    tracedToQuiet: ratioOf(traced, quiet, perSecond),
    toldWorkerCpuToQuiet: ratioOf(told, quiet, (round) => round.workerUs),
    sampledWorkerCpuToQuiet: ratioOf(sampled, quiet, (round) => round.workerUs),
    tracedWorkerCpuToQuiet: ratioOf(traced, quiet, (round) => round.workerUs),
  };
}

export const telemetry: Bench = {
  name: "telemetry",
  goals: {
    quietStepsPerSecond: null,
    toldToQuiet: atLeast(0.9),
    sampledToQuiet: atLeast(0.9),
    tracedToQuiet: atLeast(0.9),
    toldWorkerCpuToQuiet: null,
    sampledWorkerCpuToQuiet: null,
    tracedWorkerCpuToQuiet: null,
  },
  measure,
};
