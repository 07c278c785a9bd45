/** What a bench is: a name, its figures with the goal of each, and how it is measured. Owns the words of goals. */
import type { Lab } from "./lab.ts";
import type { Size } from "./sizes.ts";

/** What a figure should be (design section 12), as shown beside it and as judged. */
export interface Goal {
  readonly text: string;
  readonly isMet: (value: number) => boolean;
}

export type Figures = Readonly<Record<string, number>>;

export interface Bench {
  /** Unlike every other bench's name; so are the names of its figures. */
  readonly name: string;
  /** Each figure in the order in which it is shown; `null`: there is no goal for it. */
  readonly goals: Readonly<Record<string, Goal | null>>;
  measure(lab: Lab, size: Size): Promise<Figures>;
  /** What a person reads where a line for each figure would be too much. */
  readonly draw?: (figures: Figures) => string;
}

export function atLeast(least: number, unit = "x"): Goal {
  return { text: `>= ${least}${unit}`, isMet: (value) => value >= least };
}

export function atMost(most: number, unit = "x"): Goal {
  return { text: `<= ${most}${unit}`, isMet: (value) => value <= most };
}
