/**
 * How one call of a step goes wrong. Owns the ways, their names, and what each does to a call.
 *
 * Invariant: W1 a call is named by what it is of and by how many of the same came before it, so that the same path meets the same
 * calls.
 */
import { fail, notApplied, transient } from "../../saga/index.ts";
import type { Doer, Interference } from "../rig/watched.ts";

/**
 * `fail`: a no for good. `notApplied`: nothing happened, this once. `transient`: nobody can tell, this time and ever after, and
 * nothing happens. `unknown`: it happens, and the answer is lost, this once. `gives <n>`: it happens, and answers that.
 */
export type Way = "fail" | "notApplied" | "transient" | "unknown" | `gives ${number}`;

/** One thing that goes wrong: a call, as `callName` has it, and the way. */
export interface Trouble {
  readonly call: string;
  readonly way: Way;
}

/** Outputs to answer with, by step. */
export type Outputs = Readonly<Record<string, readonly unknown[]>>;

const failures: readonly Way[] = ["fail", "notApplied", "transient", "unknown"];
const shape = /^(.+): (fail|notApplied|transient|unknown|gives \d+)$/;

/** `ship 1: unknown`. */
export function troubleName({ call, way }: Trouble): string {
  return `${call}: ${way}`;
}

/** `null`: it is no trouble's name. */
export function troubleNamed(name: string): Trouble | null {
  const [, call, way] = shape.exec(name) ?? [];
  // The pattern has these ways alone.
  return call === undefined ? null : { call, way: way as Way };
}

export function isOfUndo({ call }: Trouble): boolean {
  return call.startsWith("undo ");
}

/** In which ways a call can go wrong. */
export function waysOf(call: string, outputs: Outputs): readonly Way[] {
  if (call.startsWith("undo ")) return failures;
  const given = outputs[stepOf(call)] ?? [];
  return [...failures, ...given.map((_, at) => `gives ${at + 1}` as const)];
}

function stepOf(call: string): string {
  return call.split(" ")[0] ?? "";
}

/** Calls as they are made on one rig, in order, with the troubles that meet them. */
export class Calls {
  /** Names of the calls made so far. */
  readonly made: string[] = [];
  readonly #counts = new Map<string, number>();
  readonly #troubles: readonly Trouble[];
  readonly #outputs: Outputs;
  readonly #saga: string;

  /** `saga`: whose steps go by their own names; those of runs that it starts by their saga's as well. */
  constructor(saga: string, troubles: readonly Trouble[], outputs: Outputs) {
    this.#saga = saga;
    this.#troubles = troubles;
    this.#outputs = outputs;
  }

  readonly interfere: Interference = (doer, go) => {
    const of = this.#nameOf(doer);
    const n = (this.#counts.get(of) ?? 0) + 1;
    this.#counts.set(of, n);
    this.made.push(`${of} ${n}`);
    const trouble = this.#troubles.find(({ call, way }) => isMet(call, way, of, n));
    return trouble === undefined ? go() : this.#befall(trouble.way, doer.step, go);
  };

  #nameOf({ saga, step, side }: Doer): string {
    const name = saga === this.#saga ? step : `${saga}.${step}`;
    return side === "undo" ? `undo ${name}` : name;
  }

  #befall(way: Way, step: string, go: () => unknown): unknown {
    switch (way) {
      case "fail":
        throw fail(`${step} fails`);
      case "notApplied":
        throw notApplied(`${step} is not applied`);
      case "transient":
        throw transient(`${step} is out of reach`);
      case "unknown":
        return lost(step, go);
      default:
        return answered(go, this.#outputs[step]?.[Number(way.slice("gives ".length)) - 1]);
    }
  }
}

function isMet(call: string, way: Way, of: string, n: number): boolean {
  if (!call.startsWith(`${of} `)) return false;
  const from = Number(call.slice(of.length + 1));
  return way === "transient" ? n >= from : n === from;
}

async function lost(step: string, go: () => unknown): Promise<never> {
  await go();
  throw Object.assign(new Error(`the answer of ${step} is lost`), { code: "ECONNRESET" });
}

async function answered(go: () => unknown, output: unknown): Promise<unknown> {
  await go();
  return output;
}
