/** Parcels: a step, a wait for an event or two, another step; and what the scenarios say about them. */
import { z } from "zod";
import { saga, stepsFor } from "../../src/index.ts";
import type { ServiceProfile, WorldClient } from "../../src/testing/index.ts";

export const { step } = stepsFor<WorldClient>();
export const Id = z.object({ id: z.string() });
export const Ref = z.object({ ref: z.string() });
export const toId = ({ input: { id } }: { readonly input: { readonly id: string } }) => ({ id });
export const services: Readonly<Record<string, ServiceProfile>> = {
  pack: { effect: "keyed", query: true },
  send: { effect: "keyed", query: true },
};

export function keyed<const Name extends string>(name: Name) {
  return step(name, {
    input: Id,
    output: Ref,
    effect: "keyed",
    action: async ({ input, services: world, ...call }) => {
      const made = await world.op(name).call("do", input, call);
      return { ref: String(made["ref"]) };
    },
    noCompensation: "nothing is undone here",
    timeout: "60s",
  });
}

export const events = { GO: z.object({}), HEY: z.object({}) };
export const parcel = saga("parcel", { version: 1, input: Id, events })
  .step(keyed("pack"), toId)
  .waitFor("GO")
  .step(keyed("send"), toId)
  .build();
export const duet = saga("duet", { version: 1, input: Id, events })
  .step(keyed("pack"), toId)
  .waitFor("GO")
  .waitFor("HEY")
  .step(keyed("send"), toId)
  .build();

export const numbered = (count: number) => Array.from({ length: count }, (_, at) => `r${at + 1}`);

export function isWaiting({ status }: { readonly status: string }): boolean {
  return status === "waiting";
}
