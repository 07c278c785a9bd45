/**
 * Actions that cannot be misunderstood, in the place of a machine's own.
 * XState raises an event at once when its delay turns out to be no number (a mistyped name, a function that gives
 * `undefined`), and the executor cannot tell that from an immediate raise. Invariant: such a delay is a throw, wherever
 * the raise stands: in a state, in a transition, behind a name, or in what `enqueueActions` collects.
 */
import type { AnyStateMachine, AnyStateNode, raise } from "xstate";

type Delays = AnyStateMachine["implementations"]["delays"];
/** What vetting needs: the machine's delays by name, and XState's `raise`. */
export interface Vetting {
  readonly delays: Delays;
  readonly raise: typeof raise;
}
/** What the built-in actions carry that matters here; to XState's types they are opaque functions. */
interface BuiltIn {
  (): void;
  readonly type?: string;
  readonly delay?: unknown;
  readonly collect?: Collect;
}
type Collect = (args: { readonly enqueue: Enqueue }, params: unknown) => void;
type Enqueue = ((action: unknown) => void) & Readonly<Record<string, unknown>>;

/** Vets every action that stands in a state; actions behind names are vetted where they are provided. */
export function vetNode(node: AnyStateNode, vetting: Vetting): void {
  const vetted = <Action>(actions: readonly Action[]): Action[] => actions.map((action) => vetAction(action, vetting));
  node.entry = vetted(node.entry);
  node.exit = vetted(node.exit);
  const transitions = [...[...node.transitions.values()].flat(), ...(node.always ?? [])];
  for (const transition of transitions) transition.actions = vetted(transition.actions);
  if (node.type === "compound") node.initial.actions = vetted(node.initial.actions);
}

/** The action itself, or one in its place that cannot be misunderstood. */
export function vetAction<Action>(action: Action, vetting: Vetting): Action {
  if (typeof action !== "function") return action;
  // An action that is a function is a built-in or a plain one, and what takes its place is too.
  return vetFunction(action as BuiltIn & Action, vetting) as Action;
}

function vetFunction(action: BuiltIn, vetting: Vetting): unknown {
  const { type, delay, collect } = action;
  // A delay that is a number is judged by the executor.
  if (type === "xstate.raise" && delay !== undefined && typeof delay !== "number") {
    return Object.assign(action.bind(null), action, { delay: checkedDelay(delay, vetting.delays) });
  }
  if (type !== "xstate.enqueueActions" || collect === undefined) return action;
  return Object.assign(action.bind(null), action, { collect: vettedCollect(collect, vetting) });
}

function checkedDelay(delay: unknown, delays: Delays): (args: unknown, params: unknown) => number {
  const name = typeof delay === "string" ? `"${delay}"` : "of a raise";
  return (args, params) => {
    const given: unknown = typeof delay === "string" ? delays[delay] : delay;
    const ms: unknown = typeof given === "function" ? given(args, params) : given;
    if (typeof ms !== "number") throw new TypeError(`the delay ${name} is ${String(ms)}, not a number of ms`);
    return ms;
  };
}

function vettedCollect(collect: Collect, vetting: Vetting): Collect {
  // Its parameters are typed by machine, and this machine is not known by type.
  const raiseAny = vetting.raise as unknown as (...parts: readonly unknown[]) => unknown;
  return (args, params) => {
    const vetted = (action: unknown): void => args.enqueue(vetAction(action, vetting));
    const vettedRaise = (...parts: readonly unknown[]): void => vetted(raiseAny(...parts));
    collect({ ...args, enqueue: Object.assign(vetted, args.enqueue, { raise: vettedRaise }) }, params);
  };
}
