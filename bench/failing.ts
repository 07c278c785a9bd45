/** The saga whose fifth step fails: five calls and four compensations, beside the one that succeeds. */
import { atLeast, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { type Lane, measureRounds, medianOf, perSecond, ratioOf } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { stepNames } from "./subjects/work.ts";

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const server = await lab.server();
  const steps = stepNames.length;
  const lanes: readonly Lane[] = [
    { name: "order", contestant: "reprise", server, saga: "order", units: steps },
    { name: "failing", contestant: "reprise", server, saga: "failing", units: steps + steps - 1 },
  ];
  const rounds = await measureRounds(lab, lanes, { count: size.rounds, sagas: size.beside });
  const failed = rounds("failing");
  return {
    failingInvocationsPerSecond: medianOf(failed, perSecond),
    failingToSucceeding: ratioOf(failed, rounds("order"), perSecond),
  };
}

export const failing: Bench = {
  name: "failing",
  goals: { failingInvocationsPerSecond: null, failingToSucceeding: atLeast(0.8) },
  measure,
};
