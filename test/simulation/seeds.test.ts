/** The first half of the simulation's seeds. */
import { halfOf, playSeeds } from "./halves.ts";

playSeeds(1_000, halfOf({ quick: 40 }), { meetAll: false });
