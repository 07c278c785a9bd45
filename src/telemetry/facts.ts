/** One set of committed facts, told to all who want it. Invariant: whoever hears them cannot disturb the others, or the engine. */
import type { Fact, Facts } from "../core/index.ts";

/** Tells every one of them. One that throws, although it must not, is not heard: the others are told all the same. */
export function combineFacts(...listeners: readonly (Facts | null | undefined)[]): Facts {
  const told = listeners.filter((listener) => listener != null);
  return {
    emit: (fact: Fact) => {
      for (const listener of told) {
        try {
          listener.emit(fact);
        } catch {
          // Nobody is left to be told.
        }
      }
    },
  };
}
