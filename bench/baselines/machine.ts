/** The same steps after the same machine's transitions, and nothing around them: no ledger, no store, no worker. */
import { unaided } from "../subjects/unaided.ts";
import { orderInput, perform } from "../subjects/work.ts";
import { bareMachine } from "./bare-machine.ts";

export const machine = unaided(async (number) => {
  const input = orderInput(number);
  let turn = bareMachine.initial(input);
  while (turn.start !== null) {
    const { invoke, step } = turn.start;
    const output = await perform(step, turn.start.input);
    turn = bareMachine.done(turn.state, invoke, output, input);
  }
});
