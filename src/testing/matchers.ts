/**
 * Words for vitest and jest in which a test says what became of a run and of the world: `expect.extend(sagaMatchers)`. Owns the
 * words and what is said when one does not hold.
 */
import type { FakeWorld } from "./fake-world.ts";
import type { Simulation } from "./simulate.ts";

/** What a matcher answers; the shape that vitest and jest share. */
interface Answer {
  readonly pass: boolean;
  readonly message: () => string;
}

/** What `expect` has once `sagaMatchers` are added: put it into your test's types. */
export interface SagaMatchers<Result = unknown> {
  /** The steps that were undone, in that order, and no others. */
  toHaveCompensated(steps: readonly string[]): Result;
  /** `approval`, `event`, `timer`, `child`, `budget`, `intent`, `limit`, or `review` where it is parked. */
  toBeWaitingFor(what: string): Result;
  /** Of a world: the effect with this operation id (or the business key in its arguments) is there once. */
  toHaveAppliedOnce(intent: string): Result;
}

/**
 * ```ts
 * expect.extend(sagaMatchers);
 * declare module "vitest" {
 *   interface Matchers<T> extends SagaMatchers<T> {}
 * }
 * ```
 */
export const sagaMatchers = {
  toHaveCompensated: (run: Simulation, steps: readonly string[]): Answer => {
    const { compensated, status } = run;
    return answer(
      compensated.join() === steps.join(),
      (not) =>
        `expected the run (${status}) ${not}to have undone ${listOf(steps)}; it has undone ${listOf(compensated)}`,
    );
  },
  toBeWaitingFor: (run: Simulation, what: string): Answer => {
    const { waitingFor, status } = run;
    return answer(
      waitingFor === what,
      (not) => `expected the run ${not}to wait for ${what}; it is ${status}, and waits for ${waitingFor ?? "nothing"}`,
    );
  },
  toHaveAppliedOnce: (world: FakeWorld, intent: string): Answer => {
    const effects = world.effects().filter(({ operationId, args }) => {
      return operationId === intent || Object.values(args).includes(intent);
    });
    const seen = effects.map(({ service, action, operationId }) => `${service}.${action} as "${operationId}"`);
    return answer(
      effects.length === 1,
      (not) =>
        `expected the effect "${intent}" ${not}to be there once; it is there ${effects.length} times${seen.length > 0 ? `: ${seen.join(", ")}` : ""}`,
    );
  },
} as const;

function answer(pass: boolean, say: (not: string) => string): Answer {
  return { pass, message: () => say(pass ? "not " : "") };
}

function listOf(steps: readonly string[]): string {
  return steps.length === 0 ? "nothing" : steps.join(", ");
}
