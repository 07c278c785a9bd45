/** The letters that stand for words in stored forms. A letter is never given another meaning. */
import type { CallState, Proof, RunStatus, Told } from "../../core/index.ts";
import type { EffectClass } from "../../saga/index.ts";
import { lettersOf } from "./shape.ts";

export const statusLetters = lettersOf<RunStatus>({
  running: "r",
  waiting: "w",
  paused: "p",
  needs_review: "n",
  unwinding: "u",
  completed: "c",
  failed: "f",
  cancelled: "x",
});

export const stateLetters = lettersOf<CallState>({
  planned: "p",
  claiming: "c",
  reused: "r",
  offered: "o",
  sent: "s",
  unknown: "u",
  succeeded: "k",
  not_applied: "n",
  withdrawn: "w",
});

export const toldLetters = lettersOf<Told>({ outcome: "o", failure: "f", nothing: "n" });

export const effectLetters = lettersOf<EffectClass>({ none: "n", idempotent: "i", keyed: "k", once: "o" });

export const proofLetters = lettersOf<Proof>({
  answer: "a",
  probe: "p",
  take_back: "t",
  person: "h",
  late: "l",
  class: "c",
  intent: "i",
});

export const outcomeLetters = lettersOf<"succeeded" | "not_applied" | "unknown">({
  succeeded: "k",
  not_applied: "n",
  unknown: "u",
});
