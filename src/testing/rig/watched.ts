/**
 * Sagas and services as a test watches them: every function of a step is called as ever, and whatever it does outside is known to
 * be its doing.
 *
 * Invariants: W1 a watched saga has the structure, and so the hash, of the one that was given. W2 what a function gives or throws
 * reaches the engine unchanged, unless a script stands in for it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type ActionContext,
  type ProbeAnswer,
  type Saga,
  type SagaSpec,
  type StepSpec,
  sagaOf,
  withChildren,
} from "../../saga/index.ts";

/** On whose behalf something is done outside. */
export interface Doer {
  readonly run: string;
  readonly saga: string;
  readonly step: string;
  readonly side: "action" | "undo";
  /** A probe only asks. */
  readonly asks: boolean;
  readonly operationId: string;
}

/** What a probe has said. */
export interface Said {
  readonly doer: Doer;
  readonly answer: ProbeAnswer["answer"];
  /** Effects of the call that it was asked about, as the world had them when it answered. */
  readonly effects: number;
}

/** Instead of what an action does: one outcome a call, the last of them for ever. */
export type StepScript = readonly unknown[];

/** Comes between a step's function and whoever calls it: `go` is the call as it would be. Probes are left alone. */
export type Interference = (doer: Doer, go: () => unknown) => unknown;

/** What watches: it goes with the services, so that a watched saga is made once and serves every test. */
export interface Watch {
  /**
   * Is what happens outside known to be somebody's doing? It follows the work through every await, which costs each promise of the
   * process something, from the first time on.
   */
  readonly isAttributed: boolean;
  readonly scripts: Readonly<Record<string, StepScript>>;
  /** Effects of a call, as the world has them now. */
  readonly effectsOf: (doer: Doer) => number;
  readonly onProbe: (said: Said) => void;
  /** By step: how often its script was asked. */
  readonly asked: Map<string, number>;
  readonly interfere: Interference;
}

const watchKey = Symbol("watch");
const doing = new AsyncLocalStorage<Doer>();

/** Who is at work, where this is asked within a step's function. */
export function doerNow(): Doer | null {
  return doing.getStore() ?? null;
}

const made = new WeakMap<SagaSpec, Saga>();

/** These sagas and all below them, watched. */
export function watchedSagas(sagas: readonly Saga[]): readonly Saga[] {
  return withChildren(sagas.map(({ spec }) => watchedSaga(spec)));
}

function watchedSaga(spec: SagaSpec): Saga {
  const known = made.get(spec);
  if (known !== undefined) return known;
  const steps = Object.entries(spec.steps).map(([name, step]) => [name, watchedStep(step)] as const);
  const watched = sagaOf({ ...spec, steps: Object.fromEntries(steps) });
  made.set(spec, watched);
  return watched;
}

function watchedStep(step: StepSpec): StepSpec {
  return {
    ...step,
    action: (context) => watchedCall(doerOf(step, context, "action"), context, () => actionOf(step, context)),
    probe: step.probe === null ? null : watchedProbe(step, step.probe, "action"),
    compensation: watchedCompensation(step),
    child: step.child === null ? null : { ...step.child, of: watchedSaga(step.child.of).spec },
    uses: Object.fromEntries(Object.entries(step.uses).map(([name, tool]) => [name, watchedStep(tool)])),
  };
}

function watchedCompensation(step: StepSpec): StepSpec["compensation"] {
  const { compensation } = step;
  if (compensation === null) return null;
  return {
    ...compensation,
    run: (context) => watchedCall(doerOf(step, context, "undo"), context, () => compensation.run(context)),
    probe: compensation.probe === null ? null : watchedProbe(step, compensation.probe, "undo"),
  };
}

function watchedCall(doer: Doer, { services }: Pick<ActionContext, "services">, go: () => unknown): unknown {
  const { isAttributed, interfere } = watchOf(services);
  return isAttributed ? doing.run(doer, () => interfere(doer, go)) : interfere(doer, go);
}

type Probe = NonNullable<StepSpec["probe"]>;

function watchedProbe(step: StepSpec, probe: Probe, side: Doer["side"]): Probe {
  return async (context) => {
    const watch = watchOf(context.services);
    if (!watch.isAttributed) return await probe(context);
    const doer = doerOf(step, context, side, true);
    const answer = await doing.run(doer, () => probe(context));
    watch.onProbe({ doer, answer: answer.answer, effects: watch.effectsOf(doer) });
    return answer;
  };
}

function actionOf(step: StepSpec, context: ActionContext): unknown {
  const { scripts, asked } = watchOf(context.services);
  const script = scripts[step.name];
  if (script === undefined) return step.action(context);
  const at = asked.get(step.name) ?? 0;
  asked.set(step.name, at + 1);
  return outcomeOf(script[Math.min(at, script.length - 1)], context);
}

/** What a script says: an error is thrown, a function called, anything else given. */
function outcomeOf(scripted: unknown, context: ActionContext): unknown {
  if (scripted instanceof Error) throw scripted;
  return typeof scripted === "function" ? scripted(context) : scripted;
}

function doerOf(
  step: StepSpec,
  { run, operationId }: Pick<ActionContext, "run" | "operationId">,
  side: Doer["side"],
  asks = false,
): Doer {
  return { run: run.id, saga: run.saga, step: step.name, side, asks, operationId };
}

/** The rig hands out no services but watched ones. */
function watchOf(services: unknown): Watch {
  return (services as { readonly [watchKey]: Watch })[watchKey];
}

/** How a process touches a service: told before each call that gives a promise. */
export type Cross = <T>(what: string, go: () => Promise<T>) => Promise<T>;

/**
 * Services whose every asynchronous function goes through `cross`. Which are asynchronous is learnt from the first call of each, and
 * kept in `kinds`; a function that gives no promise is called as it is, and what it gives is watched in its turn.
 */
export function watchedServices(services: object, cross: Cross, kinds: FunctionKinds, watch: Watch): object {
  const watched = watchedValue(services, "", cross, kinds) as object;
  return new Proxy(watched, { get: (target, name) => (name === watchKey ? watch : Reflect.get(target, name)) });
}

/** By path: does a function give a promise? */
export type FunctionKinds = Map<string, "plain" | "async">;

function watchedValue(value: unknown, path: string, cross: Cross, kinds: FunctionKinds): unknown {
  if (typeof value === "function") return watchedFunction(value as (...args: unknown[]) => unknown, path, cross, kinds);
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get: (target, name) => {
      const part: unknown = Reflect.get(target, name);
      if (typeof name !== "string") return part;
      const bound: unknown = typeof part === "function" ? part.bind(target) : part;
      return watchedValue(bound, path === "" ? name : `${path}.${name}`, cross, kinds);
    },
  });
}

function watchedFunction(of: (...args: unknown[]) => unknown, path: string, cross: Cross, kinds: FunctionKinds) {
  return (...args: unknown[]): unknown => {
    if (kinds.get(path) === "async") return cross(path, async () => await of(...args));
    const given = of(...args);
    const isPromise = given instanceof Promise;
    kinds.set(path, isPromise ? "async" : "plain");
    return isPromise ? cross(path, () => given) : watchedValue(given, path, cross, kinds);
  };
}
