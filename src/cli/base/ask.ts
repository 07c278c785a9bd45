/**
 * Owns: asking whoever sits there. Invariant: A1 nothing is asked where nobody sits: a script is told which flag it lacks.
 * Questions go to stderr.
 */
import { Declined, Interrupted, UsageError } from "../exit.ts";
import { clean } from "./ink.ts";
import type { Io } from "./io.ts";

export interface Asking {
  /** May somebody be asked? */
  readonly isPossible: boolean;
  /** Goes on if it is meant. Throws Declined, Interrupted, UsageError naming the flag. */
  confirm(question: string, flag: string): Promise<void>;
  /** Goes on if exactly this is typed. Throws like `confirm`. */
  typed(question: string, expected: string, flag: string): Promise<void>;
  /** A text that is not empty. Throws Interrupted, UsageError naming the flag. */
  text(question: string, flag: string): Promise<string>;
}

export function askingOn({ stdin, stderr, signal }: Io, noInput: boolean): Asking {
  const isPossible = !noInput && stdin.isTTY === true && stderr.isTTY === true;
  const where = { input: stdin, output: stderr, signal };

  function assertPossible(what: string, flag: string): void {
    if (isPossible) return;
    throw new UsageError(`${what}, and there is nobody to ask: give ${flag}`);
  }

  return {
    isPossible,
    confirm: async (question, flag) => {
      assertPossible("it has to be confirmed", flag);
      const { confirm, isCancel } = await import("@clack/prompts");
      const said = await confirm({ ...where, message: clean(question), initialValue: false });
      if (isCancel(said)) throw new Interrupted();
      if (!said) throw new Declined();
    },
    typed: async (question, expected, flag) => {
      assertPossible("it has to be confirmed", flag);
      const { text, isCancel } = await import("@clack/prompts");
      const said = await text({ ...where, message: clean(question), placeholder: clean(expected) });
      if (isCancel(said)) throw new Interrupted();
      if (said.trim() !== expected) throw new Declined();
    },
    text: async (question, flag) => {
      assertPossible("it has to be said", flag);
      const { text, isCancel } = await import("@clack/prompts");
      const validate = (given: string | undefined) =>
        given === undefined || given.trim() === "" ? "it is empty" : undefined;
      const said = await text({ ...where, message: clean(question), validate });
      if (isCancel(said)) throw new Interrupted();
      return said;
    },
  };
}
