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
/** 62^20: 119 bits. */
const idChars = 20;
const poolBytes = 8_192;

/** Ids from the system's randomness, which is asked for in large pieces: one id per step is made. */
export function systemIds(): Ids {
  const pool = Buffer.allocUnsafe(poolBytes);
  let used = poolBytes;
  const byte = (): number => {
    if (used === poolBytes) {
      randomFillSync(pool);
      used = 0;
    }
    used += 1;
    return pool[used - 1] ?? 0;
  };
  /** Evenly: bytes from 248 up would favour the first letters. */
  const letter = (): string => {
    for (;;) {
      const drawn = byte();
      if (drawn < 248) return alphabet[drawn % alphabet.length] ?? "0";
    }
  };
  return {
    next: () => {
      let id = "";
      for (let at = 0; at < idChars; at += 1) id += letter();
      return id;
    },
    random: () => (byte() * 0x1000000 + byte() * 0x10000 + byte() * 0x100 + byte()) / 0x100000000,
  };
}
