/**
 * Given a run in which this has happened, when that happens, then so it stands: one decision of core, asked as a pure function.
 * Owns the form, and what is told of a run; `given/story.ts` moves it. Nothing is called, nobody waits.
 */
import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import { type ReviewReason, type Row, type RunStatus, unwindPreview, type Verb } from "../core/index.ts";
import type { Saga, SagaInput } from "../saga/index.ts";
import { type Fact, fact } from "./given/facts.ts";
import { Story } from "./given/story.ts";
import { rigNamespace } from "./rig/rig.ts";

export { type Fact, fact };

/** How a run stands. */
export interface Stands {
  readonly status: RunStatus;
  /** The machine's state value. */
  readonly state: unknown;
  /** `approval`, `event`, `timer`, ...; `null`: nothing. */
  readonly waitingFor: string | null;
  /** What is called because of the last fact: `ship`, `undo charge`, `probe ship`. */
  readonly calls: readonly string[];
  /** What is called and has not come back. */
  readonly underWay: readonly string[];
  /** Steps whose actions happened, in order. */
  readonly happened: readonly string[];
  /** While it goes back: steps that are still to be undone (or looked into), the next one first. */
  readonly owes: readonly string[];
  /** Steps that were undone. */
  readonly compensated: readonly string[];
  /** What a person is asked; `null`: nothing. */
  readonly review: {
    readonly reason: ReviewReason;
    readonly step: string | null;
    readonly verbs: readonly Verb[];
  } | null;
  /** In how many ms it wants attention by itself, as for a retry or a timer; `null`: it does not. */
  readonly dueInMs: number | null;
  readonly output: unknown;
}

export interface GivenOptions<S extends Saga> {
  readonly input: SagaInput<S>;
  /** What has happened to it so far, oldest first. */
  readonly history?: readonly Fact[];
}

/**
 * A run of `saga` in which all of `history` has happened, reached by the decisions of core alone: pure and at once.
 *
 * ```ts
 * given(order, { input, history: [fact.outcome(charge, { chargeId: "c-1" })] })
 *   .when(fact.outcome(ship, fail("no parcels today")))
 *   .then({ status: "unwinding", calls: ["undo charge"], owes: ["charge"] });
 * ```
 *
 * @throws RepriseError DEFINITION_INVALID where a fact cannot happen then, or a value does not fit.
 */
export function given<S extends Saga>(saga: S, { input, history = [] }: GivenOptions<S>): Given {
  const story = new Story(saga, input);
  for (const each of history) story.tell(each);
  return new Given(story);
}

/** A run at one moment. */
export class Given {
  readonly #story: Story;

  /** @internal Made by `given`. */
  constructor(story: Story) {
    this.#story = story;
  }

  /** How it stands. */
  get stands(): Stands {
    return standsOf(this.#story);
  }

  /** What happens next. Throws DEFINITION_INVALID where it cannot happen now. */
  when(next: Fact): this {
    this.#story.tell(next);
    return this;
  }

  /**
   * Says how it stands now: with what is named, the rest is not looked at; or looks at all of it itself.
   *
   * @throws AssertionError naming the parts that are otherwise, with both values.
   */
  // biome-ignore lint/suspicious/noThenProperty: the word of the form; awaited, it gives how the run stands
  then(expected: Partial<Stands> | ((stands: Stands) => unknown)): this {
    const { stands } = this;
    if (typeof expected === "function") expected(stands);
    else compare(stands, expected);
    return this;
  }
}

function compare(stands: Stands, expected: Partial<Stands>): void {
  // What is expected names parts of it.
  const names = Object.keys(expected) as (keyof Stands)[];
  const wrong = names.filter((name) => !isDeepStrictEqual(stands[name], expected[name]));
  if (wrong.length === 0) return;
  const actual = Object.fromEntries(names.map((name) => [name, stands[name]]));
  const message = wrong.map((name) => `${name}: ${text(stands[name])}, not ${text(expected[name])}`).join("; ");
  throw new AssertionError({ message, actual, expected, operator: "deepStrictEqual" });
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? "nothing";
}

function standsOf(story: Story): Stands {
  const { record, rows } = story.run;
  const { review, snapshot, status, waitingFor, output } = record;
  const names = (of: (row: Row) => boolean) => rows.filter(of).map(({ step }) => step);
  return {
    ...{ status, waitingFor, output, state: snapshot?.value ?? null },
    ...{ calls: [...story.ordered], underWay: story.underWay(), owes: owedBy(story) },
    happened: names(({ call }) => call.state === "succeeded" || call.state === "reused"),
    compensated: names(({ undo }) => undo?.state === "done"),
    review:
      review === null
        ? null
        : { reason: review.reason, step: rows[(review.seq ?? 0) - 1]?.step ?? null, verbs: review.verbs },
    dueInMs: story.wanted === null ? null : Math.max(0, story.wanted - story.now),
  };
}

const leftAsIs: ReadonlySet<string> = new Set(["leave", "nothing"]);

function owedBy({ run, machine, now }: Story): readonly string[] {
  const { record, rows } = run;
  if (record.unwind === null) return [];
  const preview = unwindPreview({ namespace: rigNamespace, record, rows, machine, now });
  return (preview?.steps ?? []).flatMap(({ seq, step, course }) => {
    const isOver = rows[seq - 1]?.undo?.state === "done";
    return isOver || leftAsIs.has(course) ? [] : [step];
  });
}
