/**
 * Runs of a 5-step saga in `simulate`, one after the other, beside the bare machine's loop. It is the CPU that is compared: nothing
 * waits here, and whoever shares the machine is left out of it.
 */
import { atLeast, atMost, type Bench, type Figures } from "./bench.ts";
import type { Lab } from "./lab.ts";
import type { Size } from "./sizes.ts";
import { median } from "./stats.ts";

const contestants = ["simulated", "machine"] as const;
/** Nobody is there. */
const nowhere = { url: "", namespace: "", concurrency: 1 };

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const lanes = await Promise.all(
    contestants.map(async (name) => ({
      subject: await lab.subject(name),
      perSecond: [] as number[],
      perCpuSecond: [] as number[],
      rssMb: [] as number[],
    })),
  );
  for (let round = 0; round <= size.rounds; round += 1) {
    for (const { subject, perSecond, perCpuSecond, rssMb } of lanes) {
      const load = { saga: "order", count: size.beside, from: round * size.beside } as const;
      const cost = await subject.order("alone", nowhere, load);
      if (round === 0) continue;
      perSecond.push((1_000 * load.count) / cost.ms);
      perCpuSecond.push((1_000 * load.count) / cost.cpuMs);
      rssMb.push(cost.rssMb);
    }
  }
  const [own, bare] = lanes;
  const ratios = own?.perCpuSecond.map((rate, round) => rate / (bare?.perCpuSecond[round] ?? rate)) ?? [];
  return {
    simulatedPerSecond: median(own?.perSecond ?? []),
    simulatedPerCpuSecond: median(own?.perCpuSecond ?? []),
    simulatedToMachine: median(ratios),
    simulatedGrowthMb: (own?.rssMb.at(-1) ?? Number.NaN) - (own?.rssMb[0] ?? Number.NaN),
  };
}

export const simulation: Bench = {
  name: "simulation",
  goals: {
    simulatedPerSecond: atLeast(1_000, "/s"),
    simulatedPerCpuSecond: null,
    simulatedToMachine: null,
    simulatedGrowthMb: atMost(50, " MB"),
  },
  measure,
};
