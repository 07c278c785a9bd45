/** Two versions of one saga, side by side: the second has one more step. What the worker processes of the test serve. */
import { setTimeout as pass } from "node:timers/promises";
import { notApplied, type Saga, saga } from "../../src/index.ts";
import { type ServiceProfile, WorldCallError } from "../../src/testing/index.ts";
import { events, Id, keyed, Ref, step, toId } from "./scenarios-parcel.ts";

const asked: ServiceProfile = { effect: "keyed", query: true };
export const services: Readonly<Record<string, ServiceProfile>> = { check: asked, label: asked, send: asked };

/** A worker process: which versions it serves (0: the first one, changed under its version), and where. */
export interface VersionOrders {
  readonly redis: string;
  readonly world: string;
  readonly namespace: string;
  readonly versions: readonly number[];
}

/** How long a run named `slow...` is inside of its first step. */
const slowMs = 3_000;

/** Refused by the world at first for runs named `parked...`, which are parked then. */
const check = step("check", {
  input: Id,
  output: Ref,
  effect: "keyed",
  action: async ({ input, services: world, ...call }) => {
    if (input.id.startsWith("slow")) await pass(slowMs, undefined, { signal: call.signal });
    try {
      const made = await world.op("check").call("do", input, call);
      return { ref: String(made["ref"]) };
    } catch (error) {
      if (error instanceof WorldCallError && error.status === 422) throw notApplied("refused", { cause: error });
      throw error;
    }
  },
  noCompensation: "nothing is undone here",
  retry: { attempts: 1 },
  onExhausted: "review",
  timeout: "60s",
});

export const first: Saga = saga("rolled", { version: 1, input: Id, events })
  .step(check, toId)
  .waitFor("GO")
  .step(keyed("send"), toId)
  .build();

/** A run that waits for GO stands where it stood: the new step comes after it. */
export const second: Saga = saga("rolled", { version: 2, input: Id, events, migrate: { 1: (run) => run } })
  .step(check, toId)
  .waitFor("GO")
  .step(keyed("label"), toId)
  .step(keyed("send"), toId)
  .build();

/** Somebody has forgotten to raise the version. */
export const changed: Saga = saga("rolled", { version: 1, input: Id, events })
  .step(check, toId)
  .waitFor("GO")
  .step(keyed("label"), toId)
  .build();

export const byNumber: readonly Saga[] = [changed, first, second];
