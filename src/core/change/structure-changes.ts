/**
 * What has changed between two structures of a saga, in lines for the person whose deploy was refused: what is gone first,
 * then what is different, then what is new; schemas last, for no run is pinned to them. Owns the words. Invariant: what
 * follows from a line that is shown (the transitions of a state that is gone) has no line of its own.
 */
import type { Json } from "../../saga/index.ts";
import type { RegisteredSaga } from "../ports.ts";
import { differencesOf } from "./differences.ts";

/** Lines told of one pair. */
const maxLines = 12;
/** Differences told of one schema. */
const maxOfSchema = 3;

type Registered = Pick<RegisteredSaga, "structure" | "schemas">;

/** Empty where nothing is told apart by structure and schemas. */
export function structureChanges(before: Registered, after: Registered): readonly string[] {
  const lines = [...changesOfStructure(before, after), ...changesOfSchemas(before, after)];
  const more = lines.length - maxLines;
  return more > 0 ? [...lines.slice(0, maxLines), `and ${more} more`] : lines;
}

function changesOfStructure(before: Registered, after: Registered): readonly string[] {
  if (before.structure === after.structure) return [];
  const [old, now] = [partsOf(before.structure), partsOf(after.structure)];
  const changed = [...old].flatMap(([name, { fields }]) => {
    const other = now.get(name);
    const found = other === undefined ? [] : changedFields(fields, other.fields);
    return found.length === 0 ? [] : [`${name}: ${found.join(", ")}`];
  });
  const lines = [...onlyIn(old, now, "is gone"), ...changed, ...onlyIn(now, old, "is new")];
  // Of what has no words here, as two invocations of one state that change places.
  return lines.length > 0 ? lines : differencesOf(JSON.parse(before.structure), JSON.parse(after.structure));
}

/** The parts of `these` that are not among `those`, but for what belongs to another such part. */
function onlyIn(these: Parts, those: Parts, word: string): readonly string[] {
  return [...these].flatMap(([name, { of, fields }]) => {
    if (those.has(name) || (of !== null && !those.has(of))) return [];
    return [`${name} ${word}${fields[""] === undefined ? "" : ` (${fields[""]})`}`];
  });
}

function changedFields(before: Fields, after: Fields): readonly string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const [old = "none", now = "none"] = [before[name], after[name]];
    return old === now ? [] : [`${name === "" ? "" : `${name} `}${old} -> ${now}`];
  });
}

// ---- a structure taken apart

/** What is said of a thing, by name; under the empty name where it is but one thing. */
type Fields = Readonly<Record<string, string>>;

/** A thing that has a name, and the name of what it belongs to. */
interface Part {
  readonly fields: Fields;
  readonly of: string | null;
}
type Parts = ReadonlyMap<string, Part>;

/** The structure as `structureOf` makes it; parts that are empty are left out there. */
interface Structure {
  readonly context: string;
  readonly events: readonly string[];
  readonly steps: Readonly<Record<string, { readonly [field: string]: Json }>>;
  readonly delays: Readonly<Record<string, Json>>;
  readonly root: Node;
}

interface Node {
  readonly id: string;
  readonly invoke?: readonly { readonly id: string; readonly step: string }[];
  readonly transitions?: readonly Transition[];
  readonly states?: readonly Node[];
  readonly [field: string]: unknown;
}

interface Transition {
  readonly event: string;
  readonly targets?: readonly string[];
  readonly reenter?: boolean;
  readonly guard?: Json;
  readonly actions?: readonly Json[];
}

/** Steps first, then states from the outside in, each with what it does. */
function partsOf(text: string): Parts {
  // The text is of `structureOf`, here or in another process.
  const { context, events, steps, delays, root } = JSON.parse(text) as Structure;
  return new Map<string, Part>([
    ...Object.entries(steps).map(([name, step]) => [`step ${name}`, { fields: wordsOf(step), of: null }] as const),
    ...nodeParts(root, null),
    ...events.map((event) => [`event ${event}`, { fields: {}, of: null }] as const),
    ...Object.entries(delays).map(([name, delay]) => [`delay ${name}`, only(wordOf(delay), null)] as const),
    ["context", only(context, null)],
  ]);
}

function only(says: string, of: string | null): Part {
  return { fields: { "": says }, of };
}

function nodeParts(node: Node, parent: string | null): readonly (readonly [string, Part])[] {
  const { id, invoke = [], transitions = [], states = [], ...own } = node;
  const name = `state ${id}`;
  const steps = new Map(invoke.map((each) => [each.id, each.step]));
  const events = [...new Set(transitions.map(({ event }) => event))];
  const saysOn = (event: string) => transitions.filter((each) => each.event === event).map(saysOf);
  return [
    [name, { fields: wordsOf(own), of: parent }],
    ...invoke.map((each) => [`${name}, calling ${each.step}`, callPart(each.id, name)] as const),
    ...events.map(
      (event) => [`${name}, ${whenOf(event, id, steps)}`, only(saysOn(event).join(", else "), name)] as const,
    ),
    ...states.flatMap((state) => nodeParts(state, name)),
  ];
}

/** The id of an invocation, where it is not one that XState numbered. */
function callPart(invoke: string, state: string): Part {
  return isNumbered(invoke) ? { fields: {}, of: state } : only(`as ${invoke}`, state);
}

function isNumbered(invoke: string): boolean {
  return /^\d+\./.test(invoke);
}

function saysOf({ targets = [], guard, actions = [], reenter }: Transition): string {
  const to = targets.length === 0 ? "stays" : `to ${targets.join(" and ")}`;
  const guarded = guard === undefined ? "" : ` if ${wordOf(guard)}`;
  const acting = actions.length === 0 ? "" : ` doing ${actions.map(wordOf).join(", ")}`;
  return `${to}${guarded}${acting}${reenter === true ? " anew" : ""}`;
}

/** A transition of a structure, as a place in it: of which state, on what, the how-manieth (from 0) of those. */
export interface TransitionWords {
  readonly source: string;
  readonly event: string;
  readonly nth: number;
  /** `when charge fails: to m.refused if tooMuch`. */
  readonly text: string;
}

/** The states and transitions of a structure, in words. What does nothing (it keeps an event from the states around) is none. */
export function outlineOf(structure: string): {
  readonly states: readonly string[];
  readonly transitions: readonly TransitionWords[];
} {
  // The text is of `structureOf`, here or in another process.
  const { root } = JSON.parse(structure) as Structure;
  const nodes = nodesFrom(root);
  return {
    states: nodes.flatMap(({ id, type }) => (type === "history" ? [] : [id])),
    transitions: nodes.flatMap(transitionsIn),
  };
}

function nodesFrom(node: Node): readonly Node[] {
  return [node, ...(node.states ?? []).flatMap(nodesFrom)];
}

function transitionsIn({ id, invoke = [], transitions = [] }: Node): readonly TransitionWords[] {
  const steps = new Map(invoke.map((each) => [each.id, each.step]));
  return transitions.flatMap((each, at) => {
    if (each.targets === undefined && each.actions === undefined) return [];
    const { event } = each;
    const nth = transitions.slice(0, at).filter((other) => other.event === event).length;
    return [{ source: id, event, nth, text: `${whenOf(event, id, steps)}: ${saysOf(each)}` }];
  });
}

/** What an event of XState's means. */
function whenOf(event: string, state: string, steps: ReadonlyMap<string, string>): string {
  if (event === "") return "always";
  const [, done, invoke = ""] = /^xstate\.(done|error)\.actor\.(.*)$/.exec(event) ?? [];
  if (done !== undefined) return `when ${steps.get(invoke) ?? invoke} ${done === "done" ? "is done" : "fails"}`;
  if (event === `xstate.done.state.${state}`) return "when it is done";
  const after = /^xstate\.after\.(.*)$/.exec(event)?.[1];
  return after === undefined ? `on ${event}` : `after ${after.replace(`.${state}`, "")}`;
}

function wordsOf(fields: Readonly<Record<string, unknown>>): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, wordOf(value)]));
}

function wordOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordOf).join(" and ");
  if (value === null) return "none";
  // XState's own actions are known by their short names.
  return typeof value === "string" ? value.replace(/^xstate\./, "") : JSON.stringify(value);
}

// ---- schemas

/** Of what is in both; what is gone or new was told by the structure. An older process registered none. */
function changesOfSchemas(before: Registered, after: Registered): readonly string[] {
  if (before.schemas === "" || after.schemas === "" || before.schemas === after.schemas) return [];
  const now = schemasIn(after);
  return Object.entries(schemasIn(before)).flatMap(([name, schema]) => {
    const other = now[name];
    const found = other === undefined ? [] : differencesOf(schema, other);
    if (found.length === 0) return [];
    const more = found.length > maxOfSchema ? `; and ${found.length - maxOfSchema} more` : "";
    const shown = found.slice(0, maxOfSchema).map((each) => each.replace(/\bproperties\./g, ""));
    return [`schema of ${name}: ${shown.join("; ")}${more}`];
  });
}

/** As `schemasOf` made them. */
function schemasIn({ schemas }: Registered): Readonly<Record<string, Json>> {
  return JSON.parse(schemas) as Readonly<Record<string, Json>>;
}
