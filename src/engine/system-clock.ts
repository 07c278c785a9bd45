/**
 * The real clock and the real ids: the engine's only doors to Node's timers and randomness.
 */
import { randomFillSync } from "node:crypto";
import type { Clock, Ids } from "../core/index.ts";

/** What a timer of Node can hold; a longer one calls back early, which callers must bear. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, Math.min(ms, longestTimerMs));
    return () => clearTimeout(timer);
  },
};

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const pairs = [...alphabet].flatMap((first) => [...alphabet].map((second) => first + second));
/** 62^20: 119 bits. */
const idPairs = 10;
/** A draw of two bytes from here up would favour the first pairs. */
const evenDraws = 2 ** 16 - (2 ** 16 % pairs.length);
const poolBytes = 8_192;

/** Ids from the system's randomness, which is asked for in large pieces: one id per step is made. */
export function systemIds(): Ids {
  const pool = new Uint16Array(poolBytes / 2);
  let used = pool.length;
  const draw = (): number => {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += 1;
    return pool[used - 1] ?? 0;
  };
  const pair = (): string => {
    for (;;) {
      const drawn = draw();
      if (drawn < evenDraws) return pairs[drawn % pairs.length] ?? "00";
    }
  };
  return {
    next: () => {
      let id = "";
      for (let at = 0; at < idPairs; at += 1) id += pair();
      return id;
    },
    random: () => (draw() * 0x10000 + draw()) / 0x100000000,
  };
}
