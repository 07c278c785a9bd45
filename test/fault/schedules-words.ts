/** What the test of schedules tells its worker processes, what they answer, and the saga that all of them schedule. */
import { z } from "zod";
import { saga, step } from "../../src/index.ts";

export interface TickOrders {
  readonly redis: string;
  readonly namespace: string;
}

export interface TickSaid {
  readonly ready: true;
}

const sweep = step("sweep", { input: z.object({}), effect: "none", action: () => null });
export const sweeping = saga("sweeping", { version: 1, input: z.object({}) })
  .step(sweep, () => ({}))
  .build();
/** Every replica puts it when it boots. */
export const everySecond = {
  id: "sweep",
  saga: sweeping,
  input: {},
  every: "1s",
  overlap: "queue",
  missed: "run_all",
} as const;
