/**
 * What the steps of the example sagas call: here the fake world, in your project the SDKs of your providers.
 * Owns the two judgements every step shares: what a refusal means, and what an answer to a probe means.
 */
import { absent, fail, happened, type ProbeAnswer, stepsFor } from "reprise";
import type { WorldClient } from "reprise/testing";

export type Services = WorldClient;

/** `step()` whose functions know the type of `services`. */
export const { step } = stepsFor<Services>();

/**
 * A service that answers 422 has read the request and says no: asking again changes nothing and nothing is left behind.
 * Every other error is left as it is: Reprise tells apart what it says about the effect (`classifyHttp`).
 */
export function refusalsAreFinal(error: unknown): never {
  if (error instanceof Error && "status" in error && error.status === 422) {
    throw fail(error.message, { code: "refused", cause: error });
  }
  throw error;
}

/** A service that was asked by operation id either knows it or does not. */
export function known<Output>(found: Output | undefined): ProbeAnswer<Output> {
  return found === undefined ? absent() : happened(found);
}
