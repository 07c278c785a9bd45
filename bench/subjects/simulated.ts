/** The order in `simulate` of `reprise/testing`, as a user's tests run it: a whole installation in memory for each run. */
import { simulate } from "reprise/testing";
import { sagas } from "./sagas.ts";
import { unaided } from "./unaided.ts";
import { orderInput } from "./work.ts";

export const simulated = unaided(async (number) => {
  const run = await simulate(sagas.order, { input: orderInput(number) });
  if (run.status !== "completed") throw new Error(`a simulated order is ${run.status}`);
  await run.close();
});
