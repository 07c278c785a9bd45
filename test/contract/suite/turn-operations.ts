/** Requests to the lines of turns as data, for the differential test: one line, few runs, few numbers, so that they meet. */
import fc from "fast-check";
import { type AskTurnAnswer, type GiveTurnAnswer, type Store, turnOf } from "../../../src/core/index.ts";
import { epochMs } from "./harness.ts";

const turn = turnOf("default", "order", "key");
const run = fc.constantFrom("a", "b", "c", "d", "e");
const limit = fc.constantFrom(1, 1, 2);
const number = fc.integer({ min: 1, max: 4 });

const aRequest = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("ask" as const),
      run,
      startedAt: fc.constantFrom(epochMs, epochMs, epochMs + 1),
      limit,
      asked: number,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("give" as const),
      run,
      limit,
      asked: fc.oneof(number, number, fc.constant(null)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.constantFrom(1, 1_800_000) }) },
);

export const turnRequests = fc.array(aRequest, { minLength: 20, maxLength: 80, size: "max" });

type Request = typeof aRequest extends fc.Arbitrary<infer Value> ? Value : never;

export async function say(
  store: Store,
  request: Exclude<Request, { readonly do: "advance" }>,
): Promise<AskTurnAnswer | GiveTurnAnswer> {
  const command = { turn, ...request };
  return command.do === "ask" ? await store.askTurn(command) : await store.giveTurn(command);
}
