/**
 * A measured process, as the bench holds it: orders go in by IPC, what they cost comes back. Invariant: it is signalled
 * by its own handle only, and ends with the bench.
 */
import { type ChildProcess, fork } from "node:child_process";
import type { Load, Place } from "./subjects/contestant.ts";
import type { Cost, Entered, Order, Progress, Reply } from "./subjects/orders.ts";

export type ContestantName = "chain" | "loop" | "reprise" | "simulated" | "machine";

type Message = Reply | Entered | Progress;

const noLoad: Load = { saga: "order", count: 0, from: 0 };

export class Subject {
  readonly #child: ChildProcess;
  readonly #entered: Entered[] = [];
  readonly #ended: Promise<void>;
  #progress: Progress = { ended: 0, cpuMs: 0 };
  #number = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once("exit", () => resolve()));
    child.on("message", (message: Message) => {
      if ("entered" in message) this.#entered.push(message);
      if ("ended" in message) this.#progress = message;
    });
  }

  static async start(program: string, name: ContestantName, env: Readonly<Record<string, string>>): Promise<Subject> {
    const child = fork(program, [name], {
      env: { ...plainEnvironment(), ...env },
      execArgv: ["--expose-gc"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const subject = new Subject(child);
    await subject.#reply(0);
    return subject;
  }

  /** Steps of `held` runs that were entered here so far. */
  get entered(): readonly Entered[] {
    return this.#entered;
  }

  /** How far it was when it last said so. */
  get progress(): Progress {
    return this.#progress;
  }

  async order(what: Order["what"], place: Place, load: Load = noLoad, hold = false): Promise<Cost> {
    this.#number += 1;
    const reply = this.#reply(this.#number);
    this.#child.send({ number: this.#number, what, place, load, hold } satisfies Order);
    const answer = await reply;
    if ("cost" in answer) return answer.cost;
    throw new Error(`${what} failed in process ${this.#child.pid}: ${answer.problem}`);
  }

  signal(signal: "SIGKILL" | "SIGSTOP"): void {
    this.#child.kill(signal);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
    await this.#ended;
  }

  #reply(number: number): Promise<Reply> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const done = (settle: () => void) => {
        child.off("message", hear).off("exit", leave);
        settle();
      };
      const hear = (message: Message) => {
        if ("number" in message && message.number === number) done(() => resolve(message));
      };
      const leave = (code: number | null, by: string | null) =>
        done(() => reject(new Error(`process ${child.pid} has ended (${by ?? code})`)));
      child.on("message", hear).on("exit", leave);
    });
  }
}

/** Nobody's settings but the product's own. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(REPRISE_|REDIS_URL$|NODE_)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}
