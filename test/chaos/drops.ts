/** Replies of the store that are lost on their way to a worker: armed by the handful, the oldest that never struck make room. */
import type { Random } from "../simulation/random.ts";
import type { Match } from "../support/tcp-link.ts";
import type { Interception } from "../support/tcp-proxy.ts";
import type { Place } from "./crew.ts";
import { dropsForEachKill } from "./options.ts";

const maxArmed = 60;
const isScript: Match = ({ words }) => (words[0] ?? "").toUpperCase() === "EVALSHA";

export class Drops {
  readonly #places: readonly Pick<Place, "proxy">[];
  readonly #random: Random;
  readonly #armed: Interception[] = [];
  #before = 0;

  constructor(places: readonly Pick<Place, "proxy">[], random: Random) {
    this.#places = places;
    this.#random = random;
  }

  /** Replies that were lost. */
  get count(): number {
    return this.#before + this.#armed.reduce((sum, { hits }) => sum + hits, 0);
  }

  arm(): void {
    const random = this.#random;
    for (let n = 0; n < dropsForEachKill; n += 1) {
      const { proxy } = random.pick(this.#places);
      const ending = random.chance(0.9) ? "cut" : "silence";
      this.#armed.push(proxy.dropReply(isScript, { nth: random.between(1, 40), ending }));
    }
    for (const old of this.#armed.splice(0, Math.max(0, this.#armed.length - maxArmed))) {
      this.#before += old.hits;
      old.release();
    }
  }

  release(): void {
    for (const drop of this.#armed) drop.release();
  }
}
