/** The outside as the steps of the fault tests see it, and what the steps have in common. */
import { z } from "zod";
import { absent, cannotTell, happened } from "../../src/index.ts";
import { type CallOptions, worldClient } from "../../src/testing/index.ts";

export interface Made {
  readonly ref: string;
}

/** An effect is made, undone, or asked for. Undoing is a service of its own: `undo-<step>`. */
export interface FaultServices {
  make(step: string, args: { readonly id: string }, options: CallOptions): Promise<Made>;
  undo(step: string, args: Made, options: CallOptions): Promise<unknown>;
  find(step: string, side: "make" | "undo", options: CallOptions): Promise<Made | undefined>;
  /** Makes several effects in one request, each under an operation id of its own (`itemOf`). */
  makeBatch(step: string, args: { readonly id: string }, options: CallOptions): Promise<Made>;
  /** What became of those: all, some, or none of them. */
  findBatch(step: string, options: CallOptions): Promise<Made | "some" | undefined>;
}

export const batchSize = 5;

/** The operation id of an item (from 1) of a call that carries several. */
export function itemOf(operationId: string, item: number): string {
  return `${operationId}#${item}`;
}

/** The operation id of the call that an operation id is, or is an item, of. */
export function callOfItem(operationId: string): string {
  return operationId.split("#")[0] ?? operationId;
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
    makeBatch: async (step, args, options) => {
      const items = itemsOf(options).map((operationId) => ({ operationId, args }));
      const { results } = await service(step, "make").batch("do", items, options);
      return { ref: JSON.stringify(results) };
    },
    findBatch: async (step, options) => {
      const asked = itemsOf(options).map((operationId) => service(step, "make").find("do", operationId, options));
      const found = (await Promise.all(asked)).filter((one) => one !== undefined);
      if (found.length === 0) return undefined;
      return found.length < batchSize ? "some" : { ref: JSON.stringify(found) };
    },
  };
}

function itemsOf({ operationId }: CallOptions): readonly string[] {
  return Array.from({ length: batchSize }, (_, at) => itemOf(operationId, at + 1));
}

/** What a probe of an action says of what was found. */
export function known(found: Made | undefined) {
  return found === undefined ? absent() : happened(found);
}

/** What a probe of a batch says. */
export function knownOfBatch(found: Made | "some" | undefined) {
  return found === "some" ? cannotTell("some of the items are there") : known(found);
}

/** What a probe of a compensation says. */
export function isKnown(found: Made | undefined) {
  return found === undefined ? absent() : happened();
}

export function toId({ input }: { readonly input: { readonly id: string } }): { readonly id: string } {
  return { id: input.id };
}
