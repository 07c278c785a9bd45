/** How far a process that serves is: said to the bench unasked, so that asking costs it nothing. */
import type { Progress } from "./orders.ts";

/** It is said this late at most. */
const tellMs = 20;

let ended = 0;
let isTelling = false;

function tell(): void {
  isTelling = false;
  const { user, system } = process.cpuUsage();
  process.send?.({ ended, cpuMs: (user + system) / 1_000 } satisfies Progress);
}

export const progress = {
  noteEnd(): void {
    ended += 1;
    if (isTelling) return;
    isTelling = true;
    setTimeout(tell, tellMs);
  },
};
