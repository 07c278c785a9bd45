/** Owns: what is told of a saga's steps, from its declaration or, with less, from the structure that is registered. */
import { type RegisteredSaga, registrationOf } from "../../core/index.ts";
import type { Saga, StepSpec } from "../../saga/index.ts";
import { ink, type Line } from "../base/ink.ts";
import type { Column } from "../base/table.ts";
import { lengthText } from "../base/words.ts";
import type { FoundSaga } from "./find.ts";

/** `null`: the store does not keep it. */
export interface StepView {
  readonly name: string;
  /** Of the step whose action calls it as a tool; `null`: the machine calls it. */
  readonly toolOf: string | null;
  readonly kind: StepSpec["kind"];
  readonly effect: StepSpec["effect"];
  /** Effect class of the compensation; `null`: it has none. */
  readonly undo: StepSpec["effect"] | null;
  /** Why it has none. */
  readonly noCompensation: string | null;
  readonly probe: boolean | null;
  /** Are people asked before it, for some inputs? */
  readonly asks: boolean;
  /** The saga that it runs. */
  readonly child: string | null;
  readonly pivot: boolean | null;
  readonly queue: string | null;
  readonly timeoutMs: number | null;
  readonly attempts: number | null;
}

export function stepsOf({ saga, registration }: FoundSaga): readonly StepView[] {
  return saga === null ? registeredSteps(registration) : declaredSteps(saga);
}

/** Those that the machine calls, in the order in which they are declared, each with its tools. */
export function declaredSteps(saga: Saga): readonly StepView[] {
  const called = new Set(
    registeredSteps(registrationOf(saga)).flatMap(({ name, toolOf }) => (toolOf === null ? [name] : [])),
  );
  return Object.values(saga.spec.steps).flatMap((step) => (called.has(step.name) ? withTools(step, null) : []));
}

function withTools(step: StepSpec, toolOf: string | null): readonly StepView[] {
  const {
    name,
    kind,
    effect,
    compensation,
    noCompensation,
    hasProbe,
    approval,
    child,
    pivot,
    queue,
    timeoutMs,
    retry,
  } = step;
  const view = { name, toolOf, kind, effect, undo: compensation?.effect ?? null, noCompensation, probe: hasProbe };
  const rest = {
    asks: approval !== null,
    child: child === null ? null : `${child.of.name}@${child.of.version}`,
    pivot,
    queue,
    timeoutMs,
  };
  return [
    { ...view, ...rest, attempts: retry.attempts },
    ...Object.values(step.uses).flatMap((tool) => withTools(tool, name)),
  ];
}

/** As `structureOf` writes them. */
interface RegisteredStep {
  readonly effect: StepView["effect"];
  readonly undo: StepView["undo"];
  readonly child?: string;
  readonly kind?: "approval";
  readonly approval?: "inline";
  readonly tools?: Readonly<Record<string, RegisteredStep>>;
}

function registeredSteps({ structure }: RegisteredSaga): readonly StepView[] {
  // The text is of `structureOf`, here or in another process.
  const { steps } = JSON.parse(structure) as { readonly steps: Readonly<Record<string, RegisteredStep>> };
  return viewsOf(steps, null);
}

function viewsOf(steps: Readonly<Record<string, RegisteredStep>>, toolOf: string | null): readonly StepView[] {
  return Object.entries(steps).flatMap(
    ([name, { effect, undo, child = null, kind, approval, tools = {} }]): readonly StepView[] => {
      const known = {
        name,
        toolOf,
        kind: kind ?? (child === null ? ("call" as const) : ("child" as const)),
        effect,
        undo,
        child,
        asks: approval !== undefined,
      };
      const unknown = { noCompensation: null, probe: null, pivot: null, queue: null, timeoutMs: null, attempts: null };
      return [{ ...known, ...unknown }, ...viewsOf(tools, name)];
    },
  );
}

export const stepColumns: readonly Column<StepView>[] = [
  {
    title: "step",
    cell: ({ name, toolOf }) =>
      toolOf === null ? ink("bold", name) : ["  ", ink("bold", name), ink("dim", ` tool of ${toolOf}`)],
  },
  { title: "class", cell: ({ effect, kind }) => (kind === "call" ? effect : kind) },
  { title: "probe", cell: ({ probe }) => (probe === null ? "?" : probe ? "yes" : "-") },
  { title: "undone by", cell: undoneBy },
  { title: "asks", cell: ({ asks }) => (asks ? "people" : "-") },
  { title: "timeout", cell: ({ timeoutMs }) => (timeoutMs === null ? "?" : lengthText(timeoutMs)), align: "right" },
  { title: "tries", cell: ({ attempts }) => (attempts === null ? "?" : String(attempts)), align: "right" },
  { title: "notes", cell: notesOf },
];

function undoneBy({ undo, effect, noCompensation }: StepView): Line {
  if (undo !== null) return `a compensation (${undo})`;
  return effect === "none" && noCompensation === null ? ink("dim", "nothing to undo") : ink("dim", "stays");
}

function notesOf({ pivot, queue, child, noCompensation }: StepView): Line {
  const notes = [
    ...(pivot === true ? ["no way back after it"] : []),
    ...(queue === null ? [] : [`on queue ${queue}`]),
    ...(child === null ? [] : [`runs ${child}`]),
    ...(noCompensation === null ? [] : [noCompensation]),
  ];
  return notes.join(" · ");
}
