/** What all machines of this folder are made from, and how one is described. */
import { type AnyStateMachine, assign, setup } from "xstate";
import type { Json, SagaSpec } from "../../../src/saga/index.ts";
import { specOf, steps } from "../saga-spec.ts";

/** One thing that is done to a run. Steps are named by invoke id. */
export type Op =
  | { readonly do: "succeed"; readonly invoke: string; readonly output: Json }
  | { readonly do: "fail"; readonly invoke: string; readonly code: string }
  | { readonly do: "send"; readonly event: string; readonly payload: Json }
  | { readonly do: "advance"; readonly ms: number };

export const ok = (invoke: string, output: Json = null): Op => ({ do: "succeed", invoke, output });
export const no = (invoke: string, code = "E"): Op => ({ do: "fail", invoke, code });
export const send = (event: string, payload: Json = {}): Op => ({ do: "send", event, payload });
export const wait = (ms: number): Op => ({ do: "advance", ms });

/** A machine, a script that shows what is special about it, and where the script leads. */
export interface Shape {
  readonly saga: SagaSpec;
  readonly input: Json;
  readonly script: readonly Op[];
  readonly ends: {
    readonly status: "active" | "done" | "error";
    readonly value?: Json;
    readonly output?: Json;
    readonly context?: Json;
  };
}

export function shape(
  machine: AnyStateMachine,
  { events = [], input = null, ...rest }: Omit<Shape, "saga" | "input"> & { events?: readonly string[]; input?: Json },
): Shape {
  return { saga: specOf(machine, { events }), input, ...rest };
}

export interface Context {
  readonly n: number;
  readonly list: readonly Json[];
}

export interface AnyEvent {
  readonly type: string;
  readonly output?: Json;
  readonly error?: Json;
  readonly [field: string]: Json | undefined;
}

export const fresh: Context = { n: 0, list: [] };

/** Steps `one`, `two`, `three`; a number and a list to show which way a run took. */
export const base = setup({
  types: {
    context: {} as Context,
    events: {} as AnyEvent,
    emitted: {} as { type: string; [field: string]: Json },
    input: {} as { n: number } | null,
  },
  actors: steps("one", "two", "three"),
  actions: {
    add: assign({ list: ({ context }, { what }: { what: Json }) => [...context.list, what] }),
    count: assign({ n: ({ context }, { by }: { by: number }) => context.n + by }),
  },
  guards: {
    isOver: ({ context }, { limit }: { limit: number }) => context.n > limit,
    gaveAtLeast: ({ event }, { points }: { points: number }) => Number(event.output) >= points,
  },
  delays: { patience: ({ context }) => 5000 - 1000 * context.n, brief: 700 },
});

/** Adds a word to the list. */
export const say = (what: Json) => ({ type: "add", params: { what } }) as const;
/** Adds a field of the event to the list. The event is of another type in each place where this stands. */
export const hear = (field: string) =>
  ({
    type: "add",
    params: ({ event }: { event: object }) => ({ what: (Reflect.get(event, field) ?? null) as Json }),
  }) as const;
export const count = (by = 1) => ({ type: "count", params: { by } }) as const;
export const over = (limit: number) => ({ type: "isOver", params: { limit } }) as const;
/** The output of a machine: its list. */
export const list = ({ context }: { context: Context }) => context.list;
