/** Machines made at random: any nesting of states, any transition between them. */
import fc from "fast-check";
import { type AnyStateMachine, not } from "xstate";
import { maxIterations } from "../../../src/saga/index.ts";
import { base, type Context, count, fresh, hear, list, type Shape, say, shape } from "./shape.ts";

/** A state, its targets not yet known: they are numbers until all states are. */
export interface Draft {
  readonly kind: "atomic" | "compound" | "parallel" | "final" | "shallow" | "deep";
  readonly children: readonly Draft[];
  readonly invokes: boolean;
  readonly afterMs: number | null;
  readonly on: readonly Arrow[];
  readonly always: Arrow | null;
  readonly done: Arrow;
}
interface Arrow {
  readonly event: string;
  readonly target: number;
  readonly moves: boolean;
  readonly reenter: boolean;
  readonly guard: "none" | "odd" | "even";
  readonly counts: boolean;
}

const events = ["A", "B", "C"];
const arrow: fc.Arbitrary<Arrow> = fc.record({
  event: fc.constantFrom(...events),
  target: fc.nat({ max: 100 }),
  moves: fc.constantFrom(true, true, true, false),
  reenter: fc.boolean(),
  guard: fc.constantFrom("none", "none", "even", "odd"),
  counts: fc.boolean(),
});

function draft(depth: number): fc.Arbitrary<Draft> {
  return fc.record({
    kind: fc.constantFrom("atomic", "compound", "compound", "parallel", "final", "shallow", "deep"),
    children: depth === 0 ? fc.constant([]) : fc.array(draft(depth - 1), { minLength: 1, maxLength: 3 }),
    invokes: fc.boolean(),
    afterMs: fc.option(fc.constantFrom(1000, 1700, 2300, 3100), { freq: 3 }),
    on: fc.array(arrow, { maxLength: 3 }),
    always: fc.option(arrow, { freq: 5 }),
    done: arrow,
  });
}

/** The draft of a whole machine. */
export const randomDraft: fc.Arbitrary<Draft> = fc
  .record({
    kind: fc.constantFrom("compound", "parallel"),
    children: fc.array(draft(2), { minLength: 2, maxLength: 4 }),
  })
  .map((parts) => ({ ...rootDraft, ...parts }));

/** The machine of a draft: a shape without a script. */
export function shapeOf(root: Draft): Shape {
  return shape(machineOf(root), { events, script: [], ends: { status: "active" } });
}

const rootDraft: Draft = {
  kind: "compound",
  children: [],
  invokes: false,
  afterMs: null,
  on: [],
  always: null,
  done: { event: "A", target: 0, moves: true, reenter: false, guard: "none", counts: true },
};

type Config = Readonly<Record<string, unknown>>;

function machineOf(root: Draft): AnyStateMachine {
  const ids = new Map<Draft, string>();
  for (const node of below(root)) ids.set(node, `s${ids.size}`);
  const targets = [...ids.values()].slice(1);
  const config = {
    ...configOf(root, ids, targets),
    id: "random",
    context: fresh,
    output: list,
    options: { maxIterations },
  };
  return base.createMachine(config as unknown as Parameters<typeof base.createMachine>[0]) as AnyStateMachine;
}

/** The first state of several must be one; if it were final, the machine would run in circles. */
function childrenOf({ kind, children }: Draft): readonly Draft[] {
  if (kind !== "compound" && kind !== "parallel") return [];
  const [first, ...rest] = children;
  if (first === undefined) return [];
  return [isMemory(first) || first.kind === "final" ? { ...first, kind: "atomic" } : first, ...rest];
}

const known = new WeakMap<Draft, readonly Draft[]>();
function below(node: Draft): readonly Draft[] {
  const children = known.get(node) ?? childrenOf(node);
  known.set(node, children);
  return [node, ...children.flatMap(below)];
}

function isMemory({ kind }: Draft): boolean {
  return kind === "shallow" || kind === "deep";
}

/**
 * `targets`: ids of states that transitions from here may aim at. A history state is none for its parent and what lies
 * in it: XState would enter that again without leaving it.
 */
function configOf(node: Draft, ids: ReadonlyMap<Draft, string>, targets: readonly string[]): Config {
  const id = ids.get(node) ?? "";
  if (isMemory(node)) return { id, type: "history", history: node.kind };
  if (node.kind === "final") return { id, type: "final", entry: say(id), output: id };
  const children = (known.get(node) ?? []).map((child) => [ids.get(child) ?? "", child] as const);
  const memories = new Set(children.filter(([, child]) => isMemory(child)).map(([key]) => key));
  const inside = targets.filter((target) => !memories.has(target));
  const states = Object.fromEntries(children.map(([key, child]) => [key, configOf(child, ids, inside)]));
  return { id, ...nesting(node, states, inside), ...behaviour(node, id, inside) };
}

function nesting({ kind, done }: Draft, states: Config, targets: readonly string[]): Config {
  const [first] = Object.keys(states);
  if (first === undefined) return {};
  const how = kind === "parallel" ? { type: "parallel" } : { initial: first };
  return { states, onDone: transition(done, targets), ...how };
}

function behaviour({ on, invokes, afterMs, always, done }: Draft, id: string, targets: readonly string[]): Config {
  const to = (one: Arrow): Config => transition(one, targets);
  const input = ({ context }: { context: Context }) => context.n;
  return {
    entry: say(`+${id}`),
    exit: say(`-${id}`),
    on: Object.fromEntries(on.map((one) => [one.event, to(one)])),
    ...(invokes ? { invoke: { src: "one", input, onDone: { ...to(done), actions: hear("output") } } } : {}),
    ...(afterMs === null ? {} : { after: { [afterMs]: to(done) } }),
    ...(always === null ? {} : { always: { ...to({ ...always, counts: true }), guard: isOdd } }),
  };
}

const isOdd = ({ context }: { context: Context }) => context.n % 2 === 1 && context.n < 20;

function transition({ target, moves, reenter, guard, counts }: Arrow, targets: readonly string[]): Config {
  return {
    ...(moves ? { target: `#${targets[target % targets.length]}`, reenter } : {}),
    ...(guard === "none" ? {} : { guard: guard === "odd" ? isOdd : not(isOdd as never) }),
    ...(counts ? { actions: count() } : {}),
  };
}
