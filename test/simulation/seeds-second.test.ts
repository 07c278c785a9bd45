/** The second half of the simulation's seeds, and those that have found a fault. */
import { describe, it } from "vitest";
import { expectClean, halfOf, playSeeds } from "./halves.ts";
import { pinned } from "./pinned.ts";

const count = halfOf({ quick: 0 });
if (count > 0) playSeeds(6_000, count, { meetAll: true });

describe("a seed that found a fault finds it no more", () => {
  it.each(pinned)("$kind seed $seed: $found", async ({ kind, seed }) => {
    await expectClean(kind, seed);
  });
});
