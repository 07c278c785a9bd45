/** What it costs to have every write on the disk before it is acknowledged: `appendfsync always` beside `everysec`. */
import { atLeast, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import { type Lane, measureRounds, medianOf, perSecond, ratioOf } from "./rounds.ts";
import type { Size } from "./sizes.ts";
import { stepNames } from "./subjects/work.ts";

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const lane = { contestant: "reprise", saga: "order", units: stepNames.length } as const;
  const lanes: readonly Lane[] = [
    { ...lane, name: "everysec", server: await lab.server() },
    { ...lane, name: "always", server: await lab.server({ appendfsync: "always" }) },
  ];
  const rounds = await measureRounds(lab, lanes, { count: size.rounds, sagas: size.beside });
  const always = rounds("always");
  return {
    alwaysStepsPerSecond: medianOf(always, perSecond),
    alwaysToEverysec: ratioOf(always, rounds("everysec"), perSecond),
  };
}

export const durability: Bench = {
  name: "durability",
  goals: { alwaysStepsPerSecond: null, alwaysToEverysec: atLeast(0.8) },
  measure,
};
