/**
 * One path of a saga, carried out on a rig of its own: what goes wrong, and what is done at each stop. Owns carrying it out and
 * what is seen of it. Invariant: P1 the same path is the same run each time, as far as the steps' own functions are.
 */
import type { RunStatus } from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Saga, SagaInput } from "../../saga/index.ts";
import { type Evidence, judge, type Problem, usualEffects } from "../rig/judge.ts";
import { restOf, type Seen } from "../rig/rest.ts";
import { Rig, type RigOptions, rigNamespace } from "../rig/rig.ts";
import { timelineOf } from "../rig/timeline.ts";
import { type Simulation, started } from "../simulate.ts";
import type { Covered } from "./coverage.ts";
import { type Move, type MoveOptions, movesAt } from "./moves.ts";
import { Calls, type Outputs, type Trouble, troubleName, troubleNamed } from "./ways.ts";

export interface Path {
  readonly troubles: readonly Trouble[];
  /** Names of moves, one a stop. */
  readonly moves: readonly string[];
}

export interface PathOptions<S extends Saga>
  extends MoveOptions,
    Pick<RigOptions, "world" | "services" | "seed" | "scripts"> {
  readonly input: SagaInput<S>;
  readonly id: string;
  readonly outputs: Outputs;
  readonly covered: Covered;
  /** How often each call happened on the paths so far on which nothing went wrong. */
  readonly usual: Map<string, number>;
}

/** What is seen of a path. */
export interface Walked {
  readonly status: RunStatus | null;
  /** What a person is asked, where it is parked. */
  readonly review: string | null;
  readonly problems: readonly Problem[];
  /** What was refused on the way, with why: the path ends there. */
  readonly refused: string | null;
  /** Calls made since the last move, by name. */
  readonly calls: readonly string[];
  /** What may be done next. */
  readonly next: readonly Pick<Move, "name" | "strays">[];
  /** Equal where the runs are as good as the same. */
  readonly stand: string;
  readonly timeline: readonly string[];
}

const straight = "straight on";
const between = " > ";

export function pathName({ troubles, moves }: Path): string {
  const parts = [...troubles.map(troubleName), ...moves];
  return parts.length === 0 ? straight : parts.join(between);
}

export function pathNamed(name: string): Path {
  const parts = name === straight ? [] : name.split(between);
  return {
    troubles: parts.flatMap((part) => troubleNamed(part) ?? []),
    moves: parts.filter((part) => troubleNamed(part) === null),
  };
}

/** Carries out a path, and judges what has become of it. Throws where an event or payload is none that the saga takes. */
export async function walk<S extends Saga>(saga: S, path: Path, options: PathOptions<S>): Promise<Walked> {
  const { input, id, outputs, ...rest } = options;
  const calls = new Calls(saga.name, path.troubles, outputs);
  const rig = new Rig({ ...rest, sagas: [saga], interfere: calls.interfere });
  const walker = new Walker(rig, saga, options, calls);
  try {
    await walker.go(path, { input, id });
    return await walker.seen(path);
  } finally {
    await rig.close();
  }
}

class Walker<S extends Saga> {
  readonly #rig: Rig;
  readonly #saga: S;
  readonly #options: PathOptions<S>;
  readonly #calls: Calls;
  #run: Simulation<S> | null = null;
  #moves: readonly Move[] = [];
  #refused: string | null = null;
  #problem: Problem | null = null;
  /** Calls that were made before the last move. */
  #before = 0;

  constructor(rig: Rig, saga: S, options: PathOptions<S>, calls: Calls) {
    this.#rig = rig;
    this.#saga = saga;
    this.#options = options;
    this.#calls = calls;
  }

  async go({ moves }: Path, start: { readonly input: SagaInput<S>; readonly id: string }): Promise<void> {
    await this.#rig.spawn();
    await this.#try("the start", async () => {
      this.#run = await started(this.#rig, this.#saga, start);
    });
    await this.#look();
    for (const name of moves) {
      const move = this.#moves.find((each) => each.name === name);
      if (move === undefined) this.#refused ??= `${name}: there is no such move now`;
      if (move === undefined || this.#refused !== null || this.#problem !== null) return;
      this.#before = this.#calls.made.length;
      await this.#try(name, move.go);
      await this.#look();
    }
  }

  async seen({ troubles, moves }: Path): Promise<Walked> {
    const runs = (await this.#run?.family()) ?? [];
    const record = runs[0]?.record ?? null;
    const covering = await Promise.all(runs.map((run) => this.#cover(run)));
    const evidence = this.#evidence(runs);
    const isPlain = troubles.length === 0 && moves.every((name) => !isStray(name));
    const { usual } = this.#options;
    if (isPlain) for (const [key, n] of usualEffects(evidence)) usual.set(key, Math.max(n, usual.get(key) ?? 0));
    return {
      status: record?.status ?? null,
      review: record?.review?.message ?? null,
      problems: [...(this.#problem === null ? [] : [this.#problem]), ...covering.flat(), ...judge(evidence)],
      refused: this.#refused,
      calls: this.#calls.made.slice(this.#before),
      next: this.#refused === null ? this.#moves : [],
      stand: await this.#standOf(runs),
      timeline: timelineOf(this.#rig),
    };
  }

  async #look(): Promise<void> {
    const run = this.#run;
    if (run === null || this.#problem !== null) return;
    const now = this.#rig.now();
    const dueInMs = restOf(await run.family(), now) - now;
    this.#moves = await movesAt(run, this.#saga, { ...this.#options, dueInMs });
  }

  /** A refusal ends the path and is told; that it never comes to rest is a problem; anything else is the test's own. */
  async #try(name: string, act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof RepriseError) || ownFaults.has(error.code)) throw error;
      if (error.code === "SIMULATION_RESTLESS") this.#problem = { message: error.message, blame: null };
      else this.#refused = `${name}: ${error.message}`;
    }
  }

  async #cover(run: Seen): Promise<readonly Problem[]> {
    const { tenant, id } = run.record;
    return this.#options.covered.add(run, await this.#rig.store.log({ tenant, id }));
  }

  #evidence(runs: readonly Seen[]): Evidence {
    const { sagas, world, probed } = this.#rig;
    const specs = sagas.map(({ spec }) => spec);
    return { namespace: rigNamespace, runs, sagas: specs, world, probed, usual: this.#options.usual };
  }

  async #standOf(runs: readonly Seen[]): Promise<string> {
    const [first] = runs;
    if (first === undefined) return "";
    const inbox = await this.#rig.store.inbox(first.record);
    const kept = inbox.map(({ body }) => (body.type === "event" ? [body.event, body.payload] : body.type));
    return JSON.stringify([runs.map(standOf), kept]);
  }
}

/** The test has said something wrong, not the run. */
const ownFaults: ReadonlySet<string> = new Set([
  "EVENT_INVALID",
  "EVENT_UNKNOWN",
  "PAYLOAD_TOO_LARGE",
  "DEFINITION_INVALID",
]);

export function isStray(name: string): boolean {
  return name === "cancel" || name === "undo" || / (twice|early|too late)$/.test(name);
}

/** Where a run stands, without its times and ids. */
function standOf({ record, rows }: Seen): unknown {
  const { saga, status, waitingFor, rollback, snapshot, timers, asks, review } = record;
  return [
    [saga, status, waitingFor, rollback, snapshot, timers.map(({ id }) => id), asks, review?.reason],
    rows.map(({ step, call, undo, told, approval, abandoned }) => {
      const votes = approval?.votes.map(({ by, decision }) => [by, decision]);
      return [step, call.state, undo?.state, told, abandoned, approval?.state, votes];
    }),
  ];
}
