/** What the test of notifications tells its worker processes, and the sagas whose runs end, wait and are parked. */
import { z } from "zod";
import { type NotifyOptions, saga, step } from "../../src/index.ts";

export interface NotifyOrders {
  readonly redis: string;
  readonly namespace: string;
  readonly notify: Readonly<Record<string, NotifyOptions>>;
}

export interface NotifySaid {
  readonly ready: string;
}

const input = z.object({});
const nothing = step("nothing", { input, effect: "none", action: () => null });
/** What it answers is not what it said: a defect. */
const broken = step("broken", {
  input,
  output: z.object({ n: z.number() }),
  effect: "none",
  action: () => ({ n: "no number" as unknown as number }),
});

export const ending = saga("ending", { version: 1, input })
  .step(nothing, () => ({}))
  .build();
/** Waits before it ends: two events of one run. */
export const resting = saga("resting", { version: 1, input })
  .step(nothing, () => ({}))
  .wait("3s")
  .build();
export const parking = saga("parking", { version: 1, input })
  .step(broken, () => ({}))
  .build();
export const told = [ending, resting, parking] as const;
