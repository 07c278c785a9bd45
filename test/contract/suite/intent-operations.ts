/** Requests to the registry of intents as data, for the differential test: few intents, few owners, so that they meet. */
import fc from "fast-check";
import type { IntentOutcome, Store } from "../../../src/core/index.ts";

const owner = fc.constantFrom("a", "b", "c", "d");
const intent = fc.constantFrom("one", "two").map((hash) => ({ tenant: "default", hash }));
const keepMs = fc.constantFrom(null, null, 20_000);
const became: fc.Arbitrary<IntentOutcome> = fc.constantFrom(
  { state: "succeeded", outcome: { n: 1 } },
  { state: "succeeded", outcome: null },
  { state: "not_applied" },
  { state: "withdrawn" },
  { state: "undone" },
  { state: "unknown" },
);

const aRequest = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("claim" as const),
      intent,
      owner,
      argsHash: fc.constantFrom("x", "x", "x", "x", "y"),
      claimMs: fc.constantFrom(null, 10_000),
      keepMs,
      replaces: fc.oneof(fc.constant(null), owner),
      listens: fc.boolean(),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("publish" as const), intent, owner, became, keepMs }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.constantFrom(1, 9_999, 10_000) }) },
);

export const requests = fc.array(aRequest, { minLength: 20, maxLength: 80, size: "max" });

type Request = typeof aRequest extends fc.Arbitrary<infer Value> ? Value : never;

export async function ask(store: Store, request: Exclude<Request, { readonly do: "advance" }>): Promise<unknown> {
  return request.do === "claim" ? await store.claimIntent(request) : await store.publishIntent(request);
}
