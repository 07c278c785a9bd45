/** Which point is dealt next: what was not hit yet is tried more often than the rest, and nothing for ever. */
import type { Random } from "../simulation/random.ts";
import type { Point } from "../support/fault-plan.ts";

/** So many attempts more are made at a point that was never hit, before it is dealt like the others. */
const favour = 4;

export class Deal {
  readonly #random: Random;
  readonly #tried: Map<Point, number>;

  constructor(points: readonly Point[], random: Random) {
    this.#random = random;
    this.#tried = new Map(points.map((point) => [point, 0]));
  }

  /** Never the same twice at once, while there are others. */
  next(hits: ReadonlySet<Point>, armed: ReadonlySet<Point>): Point | null {
    const free = [...this.#tried].filter(([point]) => !armed.has(point));
    const scores = (free.length > 0 ? free : [...this.#tried]).map(([point, tried]) => ({
      point,
      score: tried - (hits.has(point) ? 0 : favour),
    }));
    if (scores.length === 0) return null;
    const least = Math.min(...scores.map(({ score }) => score));
    const { point } = this.#random.pick(scores.filter(({ score }) => score === least));
    this.#tried.set(point, (this.#tried.get(point) ?? 0) + 1);
    return point;
  }
}
