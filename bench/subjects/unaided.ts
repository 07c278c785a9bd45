/** What a contestant is that needs no server: it runs sagas one after the other in its own process, and does nothing else. */
import type { Contestant, Load } from "./contestant.ts";

function refuse(): never {
  throw new Error("it runs sagas alone and serves nobody");
}

/** ms that each run took. */
export function unaided(run: (number: number) => Promise<void>): Contestant {
  const alone = async ({ count, from }: Load): Promise<readonly number[]> => {
    const times: number[] = [];
    for (let number = from; number < from + count; number += 1) {
      const began = performance.now();
      await run(number);
      times.push(performance.now() - began);
    }
    return times;
  };
  return { fill: refuse, drain: refuse, serve: refuse, alone: (_place, load) => alone(load) };
}
