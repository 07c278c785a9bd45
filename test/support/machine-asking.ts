/** Asking a small machine one thing: what tests of the machine port are written in. */
import { type AnyStateMachine, createMachine, raise } from "xstate";
import { machineOf } from "../../src/core/machine/machine.ts";
import type { Machine, MachineEvent, MachineState, MachineView, Turn } from "../../src/core/machine/port.ts";
import type { Json } from "../../src/saga/index.ts";
import { type SpecParts, specOf, steps } from "./saga-spec.ts";

/** A machine as plain data: what is wrong with some of these is what XState's types would not let pass. */
export type Config = Readonly<Record<string, unknown>>;

export function machine(config: Config, implementations: Config = {}): AnyStateMachine {
  const actors = steps("one", "two");
  type Args = Parameters<typeof createMachine>;
  return createMachine(
    { id: "m", context: {}, ...config } as unknown as Args[0],
    { actors, ...implementations } as unknown as Args[1],
  ) as AnyStateMachine;
}

export function port(config: Config, parts: SpecParts & { readonly implementations?: Config } = {}): Machine {
  return machineOf(specOf(machine(config, parts.implementations), parts));
}

export const view = (
  open: readonly string[] = [],
  input: Json = null,
  results: Record<string, Json> = {},
): MachineView => ({
  input,
  results,
  invocations: new Map(open.map((invoke) => [invoke, "one"])),
});

export type Good = Extract<Turn, { ok: true }>;

export function good(turn: Turn): Good {
  if (!turn.ok) throw new Error(`${turn.where}: ${turn.defect}`);
  return turn;
}

export const external = (event: string, payload: Json = {}): MachineEvent => ({ type: "external", event, payload });
export const outcome = (invoke: string, output: Json = null): MachineEvent => ({ type: "outcome", invoke, output });
export const failure = (invoke: string, error: Json = { code: "E" }): MachineEvent => ({
  type: "failure",
  invoke,
  error,
});
export const timer = (name: string): MachineEvent => ({ type: "timer", event: { type: name } });

/** A machine that does `actions` when it is told to GO, and what comes of that. */
export function going(
  actions: unknown,
  more: Config = {},
  implementations: Config = {},
): { before: MachineState; turn: Turn } {
  const asked = port(
    { initial: "a", states: { a: { on: { GO: { actions } }, ...more } } },
    { events: ["GO"], implementations },
  );
  const before = good(asked.initial(view())).state;
  return { before, turn: asked.transition(before, external("GO", { at: 1 }), view()) };
}

export const defectOf = (turn: Turn) => (turn.ok ? "no defect" : turn.defect);
export const thrown = (): never => {
  throw new Error("boom");
};

type Loose = Readonly<Record<string, unknown>>;
/** `raise` for machines that are not known by type. */
export const raised = raise as unknown as (event: Loose, options?: Loose) => unknown;
