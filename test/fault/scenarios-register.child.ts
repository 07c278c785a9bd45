/**
 * Declares two sagas that cannot be made durable, as a process in production would, and says how each was refused: one
 * that invokes an actor defined in place (R062), one whose invoke has a systemId (R063).
 */
import { fromPromise, setup } from "xstate";
import { z } from "zod";
import { RepriseError, saga, step } from "../../src/index.ts";
import type { Refused } from "./scenarios-words.ts";

const input = z.object({ id: z.string() });
const look = step("look", { input, effect: "none", action: () => null });
const options = { version: 1, input };

function inline(): unknown {
  const asking = { src: fromPromise(() => Promise.resolve(1)), onDone: "seen" };
  const machine = setup({ actors: { look } }).createMachine({
    initial: "outer",
    states: {
      outer: { initial: "asking", onDone: "done", states: { asking: { invoke: asking }, seen: { type: "final" } } },
      done: { type: "final" },
    },
  });
  return saga("inline", options).machine(machine);
}

function systemId(): unknown {
  const invoke = { src: "look", systemId: "looker", input: { id: "1" }, onDone: "done" } as const;
  const machine = setup({ actors: { look } }).createMachine({
    initial: "looking",
    states: { looking: { invoke }, done: { type: "final" } },
  });
  return saga("system-id", options).machine(machine);
}

function refusalOf(declare: () => unknown): Refused {
  const [xstate, mode] = [import.meta.resolve("xstate"), process.env["NODE_ENV"] ?? ""];
  try {
    declare();
    return { code: "", message: "it was accepted", findings: [], xstate, mode };
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    const findings = error.details["findings"] as Refused["findings"]; // `refuseErrors` made them
    return { code: error.code, message: error.message, findings, xstate, mode };
  }
}

process.send?.({ inline: refusalOf(inline), systemId: refusalOf(systemId) });
process.disconnect?.();
