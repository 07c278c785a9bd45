/**
 * `saga()`: where a declaration begins. It goes on as a straight line (`builder.ts`) or as any XState machine.
 */
import type { AnyStateMachine, EventFrom, InputFrom, OutputFrom } from "xstate";
import type { ZodType, z } from "zod";
import { emptyLine, type Frame, type Line } from "./builder.ts";
import { defineSaga, type Saga, type SagaOptions } from "./define.ts";
import type { JsonSide } from "./json-type.ts";

type EventSchemas = Readonly<Record<string, ZodType>>;
type JsonSides<Events extends EventSchemas> = { readonly [Name in keyof Events]: JsonSide<Events[Name]> };
/** The payload of each event, as JSON. */
type Payloads<Events extends EventSchemas> = { readonly [Name in keyof Events]: z.input<Events[Name]> };

/** Said by the compiler when the saga's input is not what the machine takes. */
export interface MachineTakesAnotherInput<Machine> {
  readonly "the machine takes another input than the saga": Machine;
}
/** Said by the compiler when the machine does not know an event in the shape that the saga declares. */
export interface MachineTakesOtherEvents<Machine> {
  readonly "the machine does not take these events": Machine;
}

type OutsideEvent<Events> = { [Name in keyof Events]: { readonly type: Name } & Events[Name] }[keyof Events];
type Fits<F extends Frame, M extends AnyStateMachine> = (F["input"] extends InputFrom<M>
  ? unknown
  : MachineTakesAnotherInput<InputFrom<M>>) &
  ([OutsideEvent<F["events"]>] extends [EventFrom<M>] ? unknown : MachineTakesOtherEvents<OutsideEvent<F["events"]>>);

/** A saga that has been named: add steps, or give it a machine. */
export interface SagaStart<F extends Frame> extends Line<F, unknown, unknown, "saga"> {
  /**
   * Makes the saga from an XState machine whose actors are steps.
   *
   * @throws RepriseError `DEFINITION_INVALID`, listing all that cannot be made durable: saga, state and fix.
   */
  machine<M extends AnyStateMachine>(machine: M & Fits<F, M>): Saga<F["name"], F["input"], OutputFrom<M>, F["events"]>;
}

/**
 * Declares a saga. Continue with `.step(...)...build()` for a straight line, or `.machine(setup(...).createMachine(...))`.
 *
 * @param name letters, digits, `_`, `-`; unique together with `version`.
 */
export function saga<
  const Name extends string,
  Input extends ZodType,
  const Events extends EventSchemas = Record<never, never>,
>(
  name: Name,
  options: SagaOptions<Input, Events> & { readonly input: JsonSide<Input>; readonly events?: JsonSides<Events> },
): SagaStart<{ readonly name: Name; readonly input: z.input<Input>; readonly events: Payloads<Events> }> {
  type F = { readonly name: Name; readonly input: z.input<Input>; readonly events: Payloads<Events> };
  // The schemas are kept, their types erased.
  const erased = options as unknown as SagaOptions;
  return Object.assign(emptyLine<F>(name, erased), {
    machine: (machine: AnyStateMachine): Saga<Name, never, never, never> =>
      defineSaga(name, erased, { config: machine.config, implementations: machine.implementations }, "own"),
  });
}
