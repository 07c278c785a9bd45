/** Artifacts that are lost, damaged and out of reach now and then, and back the next time somebody looks. */
import type { Artifacts } from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";
import type { Random } from "./random.ts";

const chances = { away: 0.05, gone: 0.02, damaged: 0.02 } as const;

export function losingArtifacts(kept: Artifacts, random: Random, isFaulty: () => boolean): Artifacts {
  const strikes = (chance: number) => isFaulty() && random.chance(chance);
  const refuseWhenAway = () => {
    if (strikes(chances.away)) throw new RepriseError("ARTIFACTS_UNAVAILABLE", "the artifacts are away");
  };
  return {
    put: async (...given) => {
      refuseWhenAway();
      await kept.put(...given);
    },
    get: async (key) => {
      refuseWhenAway();
      if (strikes(chances.gone)) return null;
      return strikes(chances.damaged) ? Buffer.from("{}") : await kept.get(key);
    },
  };
}
