/** What telemetry costs: the same worker quiet, with logs and metrics, and with traces as well. */
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
    { ...lane, name: "traced", tells: "spans" },
  ];
  const rounds = await measureRounds(lab, lanes, { count: size.rounds, sagas: size.beside });
  const [quiet, told, traced] = [rounds("quiet"), rounds("told"), rounds("traced")];
  return {
    quietStepsPerSecond: medianOf(quiet, perSecond),
    toldToQuiet: ratioOf(told, quiet, perSecond),
    tracedToQuiet: ratioOf(traced, quiet, perSecond),
    toldWorkerCpuToQuiet: ratioOf(told, quiet, (round) => round.workerUs),
    tracedWorkerCpuToQuiet: ratioOf(traced, quiet, (round) => round.workerUs),
  };
}

export const telemetry: Bench = {
  name: "telemetry",
  goals: {
    quietStepsPerSecond: null,
    toldToQuiet: atLeast(0.9),
    tracedToQuiet: atLeast(0.9),
    toldWorkerCpuToQuiet: null,
    tracedWorkerCpuToQuiet: null,
  },
  measure,
};
