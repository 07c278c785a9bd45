/**
 * The straight-line form: `.step`, `.each`, `.parallel`, `.when`, `.wait`, `.waitFor`, `.build`. Owns its types and the collecting
 * of parts; `plan.ts` makes the machine. Invariant: a line is immutable, every call gives a new one.
 */
import type { ZodType, z } from "zod";
import { type ApprovalOptions, type Approved, approval, type FormOf } from "./approval.ts";
import { defineSaga, type Saga, type SagaOptions } from "./define.ts";
import { type Duration, durationMs } from "./duration.ts";
import { type EachOptions, eachStep } from "./each.ts";
import { type Finding, refuseErrors } from "./finding.ts";
import { compile, contextMode, type ErasedMapper, type ErasedView, type Part, resultNames } from "./plan.ts";
import { isStep, type Step } from "./step.ts";

/** The types that stay the same along a saga. All of them are JSON. */
export interface Frame {
  readonly name: string;
  readonly input: unknown;
  readonly events: unknown;
}

/** What mappers and guards are given: the saga's input and the results of the steps before. */
export interface View<Input, Results> {
  readonly input: Input;
  readonly results: Results;
}

/** Said by the compiler when a name is used twice. */
export interface NameIsTaken<Name> {
  readonly "two steps of one saga may not share a name": Name;
}
type Unseen<Name, Seen> = Name extends keyof Seen ? NameIsTaken<Name> : unknown;

type Flat<Results> = { readonly [Key in keyof Results]: Results[Key] };
type Mapper<F extends Frame, Seen, StepInput> = (view: View<F["input"], Flat<Seen>>) => NoInfer<StepInput>;
/** The mapper may be left out where the step takes the saga's own input. */
type MapperArgs<F extends Frame, Seen, StepInput> = F["input"] extends StepInput
  ? [mapper?: Mapper<F, Seen, StepInput>]
  : [mapper: Mapper<F, Seen, StepInput>];

declare const added: unique symbol;
/** Carries the type of what a line adds to the results. */
export interface Adds<Added> {
  readonly [added]?: Added;
}
type AddedBy<Branch> = Branch extends (line: never) => Adds<infer Added> ? Added : never;
/** What all branches together add; one that only waits adds nothing (`unknown`). */
type AddedByAll<B> = { [Key in keyof B]: (one: AddedBy<B[Key]>) => void }[keyof B] extends (all: infer All) => void
  ? All
  : never;

/** A branch that has not begun; `.build` is the saga's alone. */
type Start<F extends Frame, Seen> = Line<F, Seen, unknown, "branch">;
type BranchFunction<F extends Frame, Seen> = (branch: Start<F, Seen>) => Adds<unknown>;
type Branches<F extends Frame, Seen> = Readonly<Record<string, BranchFunction<F, Seen>>>;
/** No name may appear in two branches. */
type Disjoint<B> = { readonly [Key in keyof B]: Alone<Extract<keyof AddedBy<B[Key]>, AddedElsewhere<B, Key>>> };
type AddedElsewhere<B, Key extends keyof B> = {
  [Other in Exclude<keyof B, Key>]: keyof AddedBy<B[Other]>;
}[Exclude<keyof B, Key>];
type Alone<Shared> = [Shared] extends [never] ? unknown : NameIsTaken<Shared>;

/** Steps one after the other. `Seen`: results that mappers can read; `Added`: those that this line contributes. */
export interface Line<F extends Frame, Seen, Added, Kind extends "saga" | "branch"> extends Adds<Added> {
  /**
   * Runs a step. `mapper` makes its input (encoded, JSON) from the saga's input and the results so far; it may be left
   * out where the step takes the saga's input as it is. Its output is `results.<name>` for what follows.
   */
  step<const Name extends string, StepInput, Output>(
    step: Step<Name, StepInput, Output> & Unseen<Name, Seen>,
    ...mapper: MapperArgs<F, Seen, StepInput>
  ): Line<F, Seen & Readonly<Record<Name, Output>>, Added & Readonly<Record<Name, Output>>, Kind>;

  /** Asks people, holding no worker; `mapper` makes what they are asked about. As `.step(approval(name, options), mapper)`. */
  approval<const Name extends string, In extends ZodType, Form extends ZodType | undefined = undefined>(
    name: Name & Unseen<Name, Seen>,
    options: ApprovalOptions<In, Form>,
    ...mapper: MapperArgs<F, Seen, z.input<In>>
  ): Line<
    F,
    Seen & Readonly<Record<Name, Approved<z.input<In>, FormOf<Form>>>>,
    Added & Readonly<Record<Name, Approved<z.input<In>, FormOf<Form>>>>,
    Kind
  >;

  /**
   * Runs a step for every item of a list, in order, `concurrency` at a time. Each item is a ledger row with an operation id
   * of its own; an interrupted batch goes on at the right item. The outputs are `results.<step>Each`, or `results.<as>`.
   */
  each<const Name extends string, StepInput, Output, const As extends string = `${Name}Each`>(
    items: (view: View<F["input"], Flat<Seen>>) => readonly NoInfer<StepInput>[],
    step: Step<Name, StepInput, Output>,
    options?: EachOptions<As & Unseen<As, Seen>>,
  ): Line<F, Seen & Readonly<Record<As, readonly Output[]>>, Added & Readonly<Record<As, readonly Output[]>>, Kind>;

  /** Runs branches side by side and goes on when all have ended. Their results are found under the steps' names. */
  parallel<B extends Branches<F, Seen>>(
    branches: B & Disjoint<B>,
  ): Line<F, Seen & AddedByAll<B>, Added & AddedByAll<B>, Kind>;

  /** Runs the branch if the guard says so; its results are optional for what follows. */
  when<Branch extends BranchFunction<F, Seen>>(
    guard: (view: View<F["input"], Flat<Seen>>) => boolean,
    branch: Branch,
  ): Line<F, Seen & Partial<AddedBy<Branch>>, Added & Partial<AddedBy<Branch>>, Kind>;

  /** Waits, holding no worker. */
  wait(duration: Duration): Line<F, Seen, Added, Kind>;

  /** Waits for one of the saga's events, holding no worker; its payload is `results.<event>` for what follows. */
  waitFor<const Event extends keyof F["events"] & string>(
    event: Event & Unseen<Event, Seen>,
  ): Line<
    F,
    Seen & Readonly<Record<Event, F["events"][Event]>>,
    Added & Readonly<Record<Event, F["events"][Event]>>,
    Kind
  >;

  /** The saga. Its result is `output(view)`, or the results of all steps by name. */
  readonly build: Kind extends "saga" ? Build<F, Flat<Seen>> : never;
}

/** Ends a line. Throws `DEFINITION_INVALID` with everything that is wrong with the saga. */
export type Build<F extends Frame, Results> = <Output = Results>(options?: {
  readonly output?: (view: View<F["input"], Results>) => Output;
}) => Saga<F["name"], F["input"], Output, F["events"]>;

/** A saga's line before its first step. */
export function emptyLine<F extends Frame>(name: F["name"], options: SagaOptions): Line<F, unknown, unknown, "saga"> {
  // What a line knows of types it does not keep at run time.
  return new Parts(name, options, []) as unknown as Line<F, unknown, unknown, "saga">;
}

/** The line at run time: parts, types erased. */
class Parts {
  readonly #name: string;
  readonly #options: SagaOptions<ZodType>;
  readonly #parts: readonly Part[];

  constructor(name: string, options: SagaOptions<ZodType>, parts: readonly Part[]) {
    this.#name = name;
    this.#options = options;
    this.#parts = parts;
  }

  step(step: Step, mapper?: ErasedMapper): Parts {
    if (!isStep(step)) this.#refuse("NOT_A_STEP", ".step() was given something else", "Give it what step() returned");
    return this.#with({ kind: "step", step, mapper: mapper ?? null });
  }

  approval(name: string, options: ApprovalOptions<ZodType>, mapper?: ErasedMapper): Parts {
    return this.step(approval(name, options) as unknown as Step, mapper);
  }

  each(items: ErasedMapper, step: Step, options: EachOptions = {}): Parts {
    if (!isStep(step)) this.#refuse("NOT_A_STEP", ".each() was given something else", "Give it what step() returned");
    return this.#with({ kind: "step", step: eachStep(this.#name, step, options), mapper: items });
  }

  parallel(branches: Readonly<Record<string, (branch: Parts) => Parts>>): Parts {
    const entries = Object.entries(branches).map(([name, branch]) => [name, this.#branch(branch, name)] as const);
    if (entries.length === 0) this.#refuse("EMPTY_BRANCH", ".parallel() has no branches", "Give it at least one");
    return this.#with({ kind: "parallel", branches: Object.fromEntries(entries) });
  }

  when(guard: (view: ErasedView) => boolean, branch: (branch: Parts) => Parts): Parts {
    return this.#with({ kind: "when", guard, parts: this.#branch(branch, ".when()") });
  }

  wait(duration: Duration): Parts {
    const ms = durationMs(duration, `saga "${this.#name}", .wait()`);
    return this.#with({ kind: "wait", ms, label: typeof duration === "number" ? `${ms}ms` : duration });
  }

  waitFor(event: string): Parts {
    if (!Object.hasOwn(this.#options.events ?? {}, event)) {
      this.#refuse("EVENT_UNKNOWN", `it waits for "${event}", which has no schema`, "Declare it in the saga's events");
    }
    return this.#with({ kind: "event", event });
  }

  build(options: { readonly output?: ErasedMapper } = {}): Saga {
    const names = resultNames(this.#parts);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) {
      this.#refuse("STEP_NAME_TWICE", `two steps are called "${twice}"`, "Give each step a name of its own", twice);
    }
    if (names.length === 0) this.#refuse("EMPTY_SAGA", "it has no steps", "Add a step before .build()");
    const machine = compile(this.#name, this.#parts, options.output ?? (({ results }) => results));
    return defineSaga(this.#name, this.#options, machine, contextMode(this.#parts));
  }

  #with(part: Part): Parts {
    return new Parts(this.#name, this.#options, [...this.#parts, part]);
  }

  #branch(make: (branch: Parts) => Parts, where: string): readonly Part[] {
    const parts = make(new Parts(this.#name, this.#options, [])).#parts;
    if (parts.length === 0) this.#refuse("EMPTY_BRANCH", `branch ${where} is empty`, "Add a step or drop the branch");
    return parts;
  }

  #refuse(code: string, message: string, fix: string, step: string | null = null): void {
    const finding: Finding = { level: "error", code, saga: this.#name, state: null, step, message, fix };
    refuseErrors([finding]);
  }
}
