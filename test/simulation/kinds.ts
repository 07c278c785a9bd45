/** What kinds of seeds there are, and how they are mixed. */
import type { SeedOptions } from "./simulate.ts";

export const kinds = {
  /** Every effect class, probes and compensations, timers and signals. */
  plain: {},
  /** Runs that want one effect together, and actions that use tools. */
  sharing: { sharing: true },
  /** Runs that start runs. */
  parenting: { parenting: true },
  /** Every value is kept as an artifact, and lost, damaged and out of reach now and then. */
  losing: { losing: true },
  /** Sagas put together by chance, and people who decide, cancel, pause, signal and move their runs. */
  town: { town: true },
} as const satisfies Readonly<Record<string, Partial<SeedOptions>>>;

export type Kind = keyof typeof kinds;

/** Of forty seeds in a row, so many are of each kind: those that cost less are more. */
const mixed: readonly (readonly [Kind, number])[] = [
  ["plain", 23],
  ["sharing", 8],
  ["losing", 5],
  ["parenting", 1],
  ["town", 3],
];
const inForty: readonly Kind[] = mixed.flatMap(([kind, count]) => Array.from({ length: count }, () => kind));

/** Of which kind a seed of the mix is. */
export function kindOf(seed: number): Kind {
  return inForty[seed % inForty.length] ?? "plain";
}

export function isKind(name: string): name is Kind {
  return Object.hasOwn(kinds, name);
}
