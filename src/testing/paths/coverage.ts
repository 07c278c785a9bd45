/**
 * Which states and transitions of a saga were reached. Owns comparing what the machine has gone through, as the runs' own logs
 * tell it, with the machine's structure.
 */
import {
  foldLog,
  type LogEntry,
  type Machine,
  machineOf,
  outlineOf,
  type TakenTransition,
  type Trace,
  type TransitionWords,
} from "../../core/index.ts";
import { type Saga, structureOf } from "../../saga/index.ts";
import type { Problem } from "../rig/judge.ts";
import type { Seen } from "../rig/rest.ts";

/** A transition of the machine. */
export interface PathTransition extends TransitionWords {}

export interface Coverage {
  /** Ids of states. */
  readonly states: readonly string[];
  readonly transitions: readonly PathTransition[];
}

export class Covered {
  readonly #saga: Saga;
  readonly #outline: Coverage;
  readonly #states = new Set<string>();
  readonly #transitions = new Set<string>();

  constructor(saga: Saga) {
    this.#saga = saga;
    this.#outline = outlineOf(JSON.stringify(structureOf(saga)));
  }

  /** Reads what a run has gone through; answers what in its log does not explain it. */
  add({ record, rows }: Seen, log: readonly LogEntry[]): readonly Problem[] {
    if (record.saga !== this.#saga.name || record.version !== this.#saga.version) return [];
    const steps = foldLog(this.#watched(), { record, rows }, log);
    const wrong = steps.find(({ problem }) => problem !== null);
    if (wrong === undefined) return [];
    const message = `the log of ${record.id} does not lead to where it is: revision ${wrong.revision}: ${wrong.problem}`;
    return [
      {
        message,
        blame: `the machine of ${record.saga} is not pure: a guard, an assign or a mapper gives another value each time`,
      },
    ];
  }

  reached(): Coverage {
    return this.#where(true);
  }

  missed(): Coverage {
    return this.#where(false);
  }

  #where(isReached: boolean): Coverage {
    return {
      states: this.#outline.states.filter((id) => this.#states.has(id) === isReached),
      transitions: this.#outline.transitions.filter((each) => this.#transitions.has(keyOf(each)) === isReached),
    };
  }

  /** The saga's machine, and what it goes through is noted. */
  #watched(): Machine {
    const machine = machineOf(this.#saga.spec);
    return {
      ...machine,
      initial: (view) => {
        this.#note(machine.trace(null, view));
        return machine.initial(view);
      },
      transition: (state, event, view) => {
        this.#note(machine.trace({ state, event }, view));
        return machine.transition(state, event, view);
      },
    };
  }

  #note({ states, transitions }: Trace): void {
    for (const state of states) this.#states.add(state);
    for (const taken of transitions) this.#transitions.add(keyOf(taken));
  }
}

function keyOf({ source, event, nth }: TakenTransition): string {
  return `${source} ${event} ${nth}`;
}
