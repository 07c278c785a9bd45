/** The outside as the steps of the fault tests see it, and what the steps have in common. */
import { z } from "zod";
import { absent, happened } from "../../src/index.ts";
import { type CallOptions, worldClient } from "../../src/testing/index.ts";

export interface Made {
  readonly ref: string;
}

/** An effect is made, undone, or asked for. Undoing is a service of its own: `undo-<step>`. */
export interface FaultServices {
  make(step: string, args: { readonly id: string }, options: CallOptions): Promise<Made>;
  undo(step: string, args: Made, options: CallOptions): Promise<unknown>;
  find(step: string, side: "make" | "undo", options: CallOptions): Promise<Made | undefined>;
}

export const Id = z.object({ id: z.string() });
export const Ref = z.object({ ref: z.string() });

/** The services of the world at this address. */
export function faultServices(world: string): FaultServices {
  const client = worldClient(world);
  const service = (step: string, side: "make" | "undo") => client.op(side === "make" ? step : `undo-${step}`);
  const made = (body: Readonly<Record<string, unknown>>): Made => ({ ref: String(body["ref"] ?? "") });
  return {
    make: async (step, args, options) => made(await service(step, "make").call("do", args, options)),
    undo: (step, args, options) => service(step, "undo").call("do", { ...args }, options),
    find: async (step, side, options) => {
      const found = await service(step, side).find("do", options.operationId, options);
      return found === undefined ? undefined : made(found);
    },
  };
}

/** What a probe of an action says of what was found. */
export function known(found: Made | undefined) {
  return found === undefined ? absent() : happened(found);
}

/** What a probe of a compensation says. */
export function isKnown(found: Made | undefined) {
  return found === undefined ? absent() : happened();
}

export function toId({ input }: { readonly input: { readonly id: string } }): { readonly id: string } {
  return { id: input.id };
}
