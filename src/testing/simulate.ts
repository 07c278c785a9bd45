/**
 * One run of a saga from start to end, in memory and in virtual time, driven by call: what steps come to, what people say, how time
 * goes by. Owns the words a test drives a run with; `rig/` is what it runs on.
 */
import type { CancelOptions, Client, DecisionWord, PendingApproval, RunOf } from "../client/index.ts";
import { childRef, type Principal, type RunRef, type RunStatus } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { type Duration, durationMs, type Saga, type SagaInput } from "../saga/index.ts";
import type { FakeWorld } from "./fake-world.ts";
import type { Seen } from "./rig/rest.ts";
import { Rig, type RigOptions } from "./rig/rig.ts";

export interface SimulateOptions<S extends Saga> extends Pick<RigOptions, "world" | "services" | "seed"> {
  readonly input: SagaInput<S>;
  /**
   * Outcomes that stand in for what a step's action does, by the step's name: one a call, the last of them for every further call.
   * A value is its output, an error (`fail()`, `transient()`, `notApplied()`) is thrown, a function is called like the action.
   */
  readonly outcomes?: Readonly<Record<string, readonly unknown[]>>;
  /** `run` unless given. */
  readonly id?: string;
  /** Told after each commit of a run how many there were. */
  readonly onCommit?: (commits: number) => void;
}

/** Who decides, where a test does not say. */
const somebody: Principal = { id: "tester", kind: "person", roles: [] };

/**
 * Starts a run of `saga` and lets it go on until it ends, is parked, or waits for people, events or time. The core and the engine
 * are the real ones, the store and the clock are in memory: no Redis, no waiting.
 *
 * ```ts
 * const run = await simulate(order, { input, services: (world) => worldClient(world) });
 * expect(run.status).toBe("completed");
 * ```
 *
 * @throws RepriseError INPUT_INVALID; DEFINITION_INVALID where an outcome is given for a step that is not there.
 */
export async function simulate<S extends Saga>(saga: S, options: SimulateOptions<S>): Promise<Simulation<S>> {
  const { input, outcomes = {}, id = "run", ...rest } = options;
  assertSteps(saga, outcomes);
  const rig = new Rig({ ...rest, sagas: [saga], scripts: outcomes, isUnjudged: true });
  await rig.spawn();
  return await started(rig, saga, { input, id });
}

/** A run on a rig whose workers are there. */
export async function started<S extends Saga>(
  rig: Rig,
  // The rig runs it watched; types, name and structure are the same.
  _saga: S,
  { input, id }: { readonly input: SagaInput<S>; readonly id: string },
): Promise<Simulation<S>> {
  const simulation = new Simulation<S>(rig, rig.sagas[0] as S, id);
  await simulation.start(input);
  return simulation;
}

export function assertSteps(saga: Saga, outcomes: Readonly<Record<string, readonly unknown[]>>): void {
  for (const [name, script] of Object.entries(outcomes)) {
    const known = Object.keys(saga.spec.steps);
    if (!known.includes(name)) refuse(`${saga.name} has no step "${name}"; it has ${known.join(", ")}`);
    if (!Array.isArray(script) || script.length === 0) refuse(`the outcomes of ${name} are no list with one in it`);
  }
}

function refuse(message: string): never {
  throw new RepriseError("DEFINITION_INVALID", message);
}

/** A run in virtual time. What it says of itself is as of the last call that was awaited. */
export class Simulation<S extends Saga = Saga> {
  /** The run as an application holds it. Do not wait for its `result`: time moves only when it is told to. */
  readonly run: RunOf<S>;
  readonly client: Client;
  readonly world: FakeWorld;
  readonly #rig: Rig;
  readonly #saga: S;
  readonly #ref: RunRef;
  #seen: Seen | null = null;

  /** @internal Made by `simulate`. */
  constructor(rig: Rig, saga: S, id: string) {
    this.#rig = rig;
    this.#saga = saga;
    this.#ref = { tenant: "default", id };
    this.client = rig.client;
    this.world = rig.world;
    this.run = rig.client.run(id, { saga });
  }

  /** @internal */
  async start(input: SagaInput<S>): Promise<void> {
    await this.client.start(this.#saga, input, { id: this.#ref.id });
    await this.settle();
  }

  get status(): RunStatus {
    return this.seen.record.status;
  }

  /** What it waits for, or that it is parked for a person: `approval`, `event`, `timer`, `review`, ...; `null`: nothing. */
  get waitingFor(): string | null {
    const { record } = this.seen;
    return record.status === "needs_review" ? "review" : record.waitingFor;
  }

  /** The machine's state value. */
  get state(): unknown {
    return this.seen.record.snapshot?.value ?? null;
  }

  /** What it has come to; `null` before it has completed. */
  get output(): unknown {
    return this.seen.record.output;
  }

  /** Record and ledger. */
  get seen(): Seen {
    if (this.#seen === null) throw new RepriseError("RUN_NOT_FOUND", `run ${this.#ref.id} was not started`);
    return this.#seen;
  }

  /** Names of the steps whose actions happened, in order. */
  get happened(): readonly string[] {
    return this.seen.rows.flatMap(({ step, call }) =>
      call.state === "succeeded" || call.state === "reused" ? [step] : [],
    );
  }

  /** Names of the steps that were undone, in the order in which that was begun. */
  get compensated(): readonly string[] {
    const done = this.seen.rows.filter(({ undo }) => undo?.state === "done");
    const begun = (row: (typeof done)[number]): number => row.undo?.call?.firstSentRevision ?? 0;
    return done.toSorted((a, b) => begun(a) - begun(b)).map(({ step }) => step);
  }

  /**
   * Lets everything happen that needs neither people, nor events, nor a timer of the machine: calls, retries, takeovers, undoing.
   *
   * @throws RepriseError SIMULATION_RESTLESS where it has not come to rest after an hour of virtual time.
   */
  async settle(): Promise<this> {
    const isAtRest = await this.#rig.settle(() => this.family());
    this.#seen = await this.#rig.read(this.#ref);
    if (isAtRest) return this;
    const { record, rows } = this.seen;
    const open = rows
      .filter(({ seq }) => record.open.includes(seq))
      .map(({ step, call }) => `${step} is ${call.state}`);
    const message = `run ${this.#ref.id} does not come to rest within an hour: it is ${record.status}; ${open.join(", ")}`;
    throw new RepriseError("SIMULATION_RESTLESS", message);
  }

  /** Lets time go by, and everything happen that falls into it. */
  async advance(time: Duration): Promise<this> {
    await this.#rig.advance(durationMs(time, "advance"), () => this.family());
    return await this.settle();
  }

  /** Sends an event. Throws what `run.signal` throws. */
  async signal(...args: Parameters<RunOf<S>["signal"]>): Promise<this> {
    await this.run.signal(...args);
    return await this.settle();
  }

  /** What it asks people now. */
  async approvals(): Promise<readonly PendingApproval[]> {
    return await this.run.approvals();
  }

  /** Approves the one thing that it asks, or what `step` asks. Throws what `run.decide` throws. */
  async approve(
    options: DecidingOptions & Pick<DecisionWord & { is: "approve" }, "input" | "form"> = {},
  ): Promise<this> {
    const { step, as, ...word } = options;
    return await this.decide({ is: "approve", ...word }, options);
  }

  /** Rejects it. */
  async reject({ reason = "no", ...options }: DecidingOptions = {}): Promise<this> {
    return await this.decide({ is: "reject", reason }, options);
  }

  /** Says anything about what it asks. */
  async decide(word: DecisionWord, { step, as = somebody }: Pick<DecidingOptions, "step" | "as"> = {}): Promise<this> {
    const pending = await this.approvals();
    const [asked, another] = pending.filter((each) => step === undefined || each.step === step);
    if (asked === undefined)
      refuse(`${step ?? "run"} asks nobody; asking: ${pending.map((each) => each.step).join(", ")}`);
    if (another !== undefined) refuse(`say which step is meant: ${pending.map((each) => each.step).join(", ")}`);
    await this.run.decide(asked, word, { as });
    return await this.settle();
  }

  /** Cancels it. */
  async cancel(options: Partial<CancelOptions> = {}): Promise<this> {
    await this.run.cancel({ reason: "the test says so", by: somebody.id, ...options });
    return await this.settle();
  }

  /** Kills its worker with -9; another one takes the run over. */
  async crash(): Promise<this> {
    this.#rig.kill();
    return await this.settle();
  }

  async close(): Promise<void> {
    await this.#rig.close();
  }

  /** The run, and all that it has started. */
  async family(run: RunRef = this.#ref): Promise<readonly Seen[]> {
    const seen = await this.#rig.read(run);
    if (seen === null) return [];
    const below = await Promise.all(
      seen.rows.filter(({ kind }) => kind === "child").map((row) => this.family(childRef(run, row))),
    );
    return [seen, ...below.flat()];
  }
}

export interface DecidingOptions {
  /** The step that asks, where there are several. */
  readonly step?: string;
  /** Who decides: a person without roles, unless given. */
  readonly as?: Principal;
  readonly reason?: string;
}
