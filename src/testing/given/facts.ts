/** What can happen to a run, as a test says it. Owns the words; what follows from them is core's. */
import type { DecisionWord } from "../../client/index.ts";
import type { Principal } from "../../core/index.ts";
import type { Duration, ProbeAnswer, Step } from "../../saga/index.ts";

/** A step, or its name. */
export type StepRef = { readonly spec: { readonly name: string } } | string;

/** What a step gives, encoded. */
export type OutputOf<S> = S extends Step<string, infer _Input, infer Output> ? Output : unknown;

/** Something that happens to a run: made by `fact`. */
export type Fact =
  | { readonly is: "outcome" | "undone"; readonly step: StepRef; readonly came: unknown }
  | { readonly is: "probed"; readonly step: StepRef; readonly side: "action" | "undo"; readonly answer: ProbeAnswer }
  | { readonly is: "event"; readonly event: string; readonly payload: unknown }
  | { readonly is: "time"; readonly time: Duration }
  | { readonly is: "cancel"; readonly mode: "compensate" | "stop" | "kill" }
  | { readonly is: "decision"; readonly step: StepRef; readonly word: DecisionWord; readonly as: Principal }
  | { readonly is: "crash" };

const somebody: Principal = { id: "tester", kind: "person", roles: [] };

/** Everything that can happen to a run in `given(...).when(fact)`. */
export const fact = {
  /** The step's action comes back: with its output (as JSON), or with the error that it throws. */
  outcome: <S extends StepRef>(step: S, came: OutputOf<S> | Error): Fact => ({ is: "outcome", step, came }),
  /** The step's compensation comes back: well, or with the error that it throws. */
  undone: (step: StepRef, error: Error | null = null): Fact => ({ is: "undone", step, came: error }),
  /** The step's probe answers: `happened(output)`, `absent()`, `cannotTell()`. `side`: `undo` for that of its compensation. */
  probed: (step: StepRef, answer: ProbeAnswer, side: "action" | "undo" = "action"): Fact => ({
    is: "probed",
    step,
    side,
    answer,
  }),
  /** An event arrives. */
  event: (event: string, payload: unknown = {}): Fact => ({ is: "event", event, payload }),
  /** Time goes by, and whatever falls due happens. */
  time: (time: Duration): Fact => ({ is: "time", time }),
  /** Somebody cancels it. */
  cancel: (mode: "compensate" | "stop" | "kill" = "compensate"): Fact => ({ is: "cancel", mode }),
  /** A person decides on what the step asks. */
  decision: (step: StepRef, word: DecisionWord, as: Principal = somebody): Fact => ({ is: "decision", step, word, as }),
  /** The worker that holds it is dead, and another one takes over. */
  crash: (): Fact => ({ is: "crash" }),
} as const;

export function nameOf(step: StepRef): string {
  return typeof step === "string" ? step : step.spec.name;
}
