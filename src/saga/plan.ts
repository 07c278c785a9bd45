/**
 * The straight-line form of a saga as data, and the one XState machine it becomes. Owns the names of the states.
 *
 * Invariants: P1 a step's state is named like the step. P2 no transition assigns: the context `{ input, results }` is
 * handed in (`SagaSpec.context: "results"`), except where an event is waited for: what came with an event stands in no
 * ledger row, so such a machine keeps `results` itself (`"own"`). P3 everything but mappers and guards is plain data.
 */
import { keepResult, type MachineParts } from "./logic.ts";
import type { SagaSpec } from "./spec.ts";
import type { Step } from "./step.ts";

/** What mappers and guards read: the saga's input and the results so far. */
export interface ErasedView {
  readonly input: unknown;
  readonly results: Readonly<Record<string, unknown>>;
}
export type ErasedMapper = (view: ErasedView) => unknown;

/** One piece of a line. */
export type Part =
  | { readonly kind: "step"; readonly step: Step; readonly mapper: ErasedMapper | null }
  | { readonly kind: "parallel"; readonly branches: Readonly<Record<string, readonly Part[]>> }
  | { readonly kind: "when"; readonly guard: (view: ErasedView) => boolean; readonly parts: readonly Part[] }
  | { readonly kind: "wait"; readonly ms: number; readonly label: string }
  | { readonly kind: "event"; readonly event: string };

/** Every part, those inside branches included, in the order in which they are written. */
export function allParts(parts: readonly Part[]): readonly Part[] {
  return parts.flatMap((part) => {
    if (part.kind === "when") return [part, ...allParts(part.parts)];
    if (part.kind === "parallel") return [part, ...Object.values(part.branches).flatMap(allParts)];
    return [part];
  });
}

/** Names under which something appears in `results`: those of steps and of awaited events. */
export function resultNames(parts: readonly Part[]): readonly string[] {
  return allParts(parts).flatMap((part) => {
    if (part.kind === "step") return [part.step.spec.name];
    return part.kind === "event" ? [part.event] : [];
  });
}

/** Does the machine keep its results, or are they handed in? */
export function contextMode(parts: readonly Part[]): SagaSpec["context"] {
  return allParts(parts).some((part) => part.kind === "event") ? "own" : "results";
}

/** The machine of a line: `output` makes the run's result. */
export function compile(id: string, parts: readonly Part[], output: ErasedMapper): MachineParts {
  const keeps = contextMode(parts) === "own";
  const writer: Writer = { ...namesOf(parts), keeps };
  const line = compileLine(parts, writer.end, writer);
  return {
    config: {
      id,
      context: ({ input }: { readonly input: unknown }): ErasedView => ({ input, results: {} }),
      output: ({ context }: Args) => output(context),
      ...region(line, parts, writer),
    },
    implementations: { actors: actorsOf(parts) },
  };
}

interface Args {
  readonly context: ErasedView;
}
type StateConfig = Readonly<Record<string, unknown>>;
type States = readonly (readonly [key: string, config: StateConfig])[];
interface Names {
  readonly keys: ReadonlyMap<Part, string>;
  /** The final state, of the root and of every branch. */
  readonly end: string;
}
interface Writer extends Names {
  readonly keeps: boolean;
}

function region(line: States, parts: readonly Part[], writer: Writer): StateConfig {
  return {
    initial: entryOf(parts, writer.end, writer),
    states: Object.fromEntries([...line, [writer.end, { type: "final" }]]),
  };
}

/** The states of a line that goes on to `next`. */
function compileLine(parts: readonly Part[], next: string, writer: Writer): States {
  return parts.flatMap((part, index) => compilePart(part, entryOf(parts.slice(index + 1), next, writer), writer));
}

function entryOf(parts: readonly Part[], otherwise: string, writer: Writer): string {
  const first = parts[0];
  return first === undefined ? otherwise : keyOf(first, writer);
}

function keyOf(part: Part, writer: Writer): string {
  const key = writer.keys.get(part);
  if (key === undefined) throw new Error("A part of the line has no name.");
  return key;
}

function compilePart(part: Part, next: string, writer: Writer): States {
  const key = keyOf(part, writer);
  switch (part.kind) {
    case "step":
      return [[key, invokeState(part, next, writer)]];
    case "parallel":
      return [[key, parallelState(part.branches, next, writer)]];
    case "when":
      return [[key, choiceState(part, next, writer)], ...compileLine(part.parts, next, writer)];
    case "wait":
      return [[key, { after: { [part.ms]: { target: next } } }]];
    case "event":
      return [[key, { on: { [part.event]: { target: next, actions: keepResult(part.event, payloadOf) } } }]];
  }
}

function invokeState(part: Part & { kind: "step" }, next: string, writer: Writer): StateConfig {
  const { name } = part.step.spec;
  const mapper = part.mapper;
  return {
    invoke: {
      src: name,
      input: ({ context }: Args) => (mapper === null ? context.input : mapper(context)),
      onDone: writer.keeps ? { target: next, actions: keepResult(name, (event) => event["output"]) } : { target: next },
    },
  };
}

function parallelState(branches: Readonly<Record<string, readonly Part[]>>, next: string, writer: Writer): StateConfig {
  const regions = Object.entries(branches).map(
    ([name, parts]) => [name, region(compileLine(parts, writer.end, writer), parts, writer)] as const,
  );
  return { type: "parallel", states: Object.fromEntries(regions), onDone: { target: next } };
}

function choiceState(part: Part & { kind: "when" }, next: string, writer: Writer): StateConfig {
  const { guard } = part;
  return {
    always: [
      { guard: ({ context }: Args) => guard(context), target: entryOf(part.parts, next, writer) },
      { target: next },
    ],
  };
}

/** What came with an event, without its type. */
function payloadOf({ type: _type, ...payload }: Readonly<Record<string, unknown>>): unknown {
  return payload;
}

function actorsOf(parts: readonly Part[]): Readonly<Record<string, Step>> {
  return Object.fromEntries(
    allParts(parts).flatMap((part) => (part.kind === "step" ? [[part.step.spec.name, part.step] as const] : [])),
  );
}

/** State names. Steps have theirs; what else there is takes one that no step has. */
function namesOf(parts: readonly Part[]): Names {
  const taken = new Set<string>();
  const keys = new Map<Part, string>();
  for (const part of allParts(parts)) if (part.kind === "step") keys.set(part, unique(part.step.spec.name, taken));
  const end = unique("done", taken);
  for (const part of allParts(parts)) if (part.kind !== "step") keys.set(part, unique(label(part), taken));
  return { keys, end };
}

function label(part: Exclude<Part, { kind: "step" }>): string {
  switch (part.kind) {
    case "parallel":
      return Object.keys(part.branches).join("+");
    case "when":
      return `${resultNames(part.parts)[0] ?? "branch"}?`;
    case "wait":
      return `wait_${part.label}`;
    case "event":
      return `await_${part.event.replaceAll(".", "_")}`;
  }
}

function unique(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let n = 2; taken.has(name); n++) name = `${wanted}~${n}`;
  taken.add(name);
  return name;
}
