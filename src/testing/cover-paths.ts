/**
 * Walks a saga's paths, as its machine has them: at each stop everything that it waits for is done, and everything that nobody
 * expects; and on each path every call goes wrong in every way. Owns which paths there are, their bound, and the report. What is
 * asked of a run afterwards is `rig/judge.ts`'s.
 *
 * Invariants: V1 every path is a fresh world, store and run, and is repeated by its name. V2 the walk ends: what has been reached
 * before is not gone on from, and there are at most `maxPaths`. V3 what was not reached, not tried or left out is told.
 */
import type { PendingApproval } from "../client/index.ts";
import type { RunStatus } from "../core/index.ts";
import type { Json, Saga, SagaEvents } from "../saga/index.ts";
import { decode } from "../saga/index.ts";
import { type Coverage, Covered, type PathTransition } from "./paths/coverage.ts";
import { type PathAnswer, usualAnswers } from "./paths/moves.ts";
import { isStray, type Path, type PathOptions, pathName, pathNamed, type Walked, walk } from "./paths/path.ts";
import { isOfUndo, waysOf } from "./paths/ways.ts";
import type { Problem } from "./rig/judge.ts";
import { assertSteps, type SimulateOptions } from "./simulate.ts";

export type { PathAnswer, PathTransition };

export interface CoverOptions<S extends Saga> extends SimulateOptions<S> {
  /** What to send, by event; of one that is not named `{}` is sent, if its schema takes that. */
  readonly payloads?: { readonly [Name in keyof SagaEvents<S>]?: readonly SagaEvents<S>[Name][] };
  /** What people say to what the run asks, each on a path of its own. Approved and rejected unless given. */
  readonly answers?: (asked: PendingApproval) => readonly PathAnswer[];
  /** By step: what its action may answer as well, once it was made, where a guard looks at it. */
  readonly outputs?: Readonly<Record<string, readonly unknown[]>>;
  /** 1,000 unless given. */
  readonly maxPaths?: number;
  /** Stops of one path: 12 unless given. */
  readonly maxMoves?: number;
  /** One path, as a report names it; the variable REPRISE_PATH unless given. */
  readonly only?: string;
}

/** A path on which something did not hold. */
export interface PathFailure extends Problem {
  /** `charge 1: unknown > send PACKED > cancel`. */
  readonly path: string;
  /** What happened, oldest first. */
  readonly timeline: readonly string[];
  /** How to see it again. */
  readonly repeat: string;
}

export interface PathsReport {
  readonly saga: string;
  /** Paths that were walked. */
  readonly paths: number;
  /** Paths that were known and left out, because there are more than `maxPaths` or longer ones than `maxMoves`. */
  readonly leftOut: number;
  readonly reached: Coverage;
  /** What no path has come to. */
  readonly missed: Coverage;
  /** Paths by what the run came to. */
  readonly ended: Readonly<Partial<Record<RunStatus, number>>>;
  /** Paths after which a person must decide, with the question. */
  readonly parked: readonly { readonly path: string; readonly message: string }[];
  /** What could not be tried, and why: an event without a payload, an answer that was refused. */
  readonly untried: readonly string[];
  readonly failures: readonly PathFailure[];
  /** All of it, to be read. */
  readonly text: string;
}

const defaultPaths = 1_000;
const defaultMoves = 12;

/**
 * Walks all paths of `saga`: sends every event that it waits for, also twice, early and too late, approves and rejects, lets its
 * timers fire, cancels and undoes it at each stop, and has each call of a step fail in each way; one thing goes wrong on a path,
 * and one of the compensations that follow from it. Compares what the ledger says with what the world saw, and tells which states
 * and transitions no path has come to.
 *
 * ```ts
 * const report = await coverPaths(order, { input, services: worldClient });
 * expect(report.failures, report.text).toEqual([]);
 * expect(report.missed, report.text).toEqual({ states: [], transitions: [] });
 * ```
 *
 * @throws RepriseError what `simulate` throws; EVENT_INVALID and EVENT_UNKNOWN where a payload is none that the saga takes.
 */
export async function coverPaths<S extends Saga>(saga: S, options: CoverOptions<S>): Promise<PathsReport> {
  assertSteps(saga, options.outcomes ?? {});
  assertSteps(saga, options.outputs ?? {});
  const only = options.only ?? process.env["REPRISE_PATH"];
  const tour = new Tour(saga, options);
  if (only === undefined) await tour.all();
  else await tour.one(pathNamed(only));
  return tour.report();
}

class Tour<S extends Saga> {
  readonly #saga: S;
  readonly #options: PathOptions<S>;
  readonly #maxPaths: number;
  readonly #maxMoves: number;
  /** Nothing goes wrong on the first ones: they come first. */
  readonly #queues: readonly [Path[], Path[]] = [[{ troubles: [], moves: [] }], []];
  readonly #stands = new Set<string>();
  readonly #ended = new Map<RunStatus, number>();
  readonly #parked: { readonly path: string; readonly message: string }[] = [];
  readonly #untried: Set<string>;
  readonly #failures: PathFailure[] = [];
  #paths = 0;
  #tooLong = 0;

  constructor(saga: S, { maxPaths, maxMoves, outcomes, payloads, only: _, ...given }: CoverOptions<S>) {
    this.#saga = saga;
    this.#maxPaths = maxPaths ?? defaultPaths;
    this.#maxMoves = maxMoves ?? defaultMoves;
    const { known, unknown } = payloadsOf(saga, payloads);
    this.#untried = new Set(unknown);
    this.#options = {
      id: "run",
      outputs: {},
      answers: usualAnswers,
      ...given,
      scripts: outcomes ?? {},
      payloads: known,
      covered: new Covered(saga),
      usual: new Map(),
    };
  }

  async all(): Promise<void> {
    for (;;) {
      if (this.#paths === this.#maxPaths) return;
      const path = this.#queues[0].shift() ?? this.#queues[1].shift();
      if (path === undefined) return;
      const walked = await this.one(path);
      if (this.#stands.has(walked.stand)) this.#queue(troubledOf(path, walked, this.#options));
      else this.#queue([...troubledOf(path, walked, this.#options), ...this.#furtherOf(path, walked)]);
      this.#stands.add(walked.stand);
    }
  }

  async one(path: Path): Promise<Walked> {
    const walked = await walk(this.#saga, path, this.#options);
    const name = pathName(path);
    this.#paths += 1;
    const { status, review, refused } = walked;
    if (status !== null) this.#ended.set(status, (this.#ended.get(status) ?? 0) + 1);
    if (review !== null) this.#parked.push({ path: name, message: review });
    if (refused !== null && !isStray(path.moves.at(-1) ?? "")) this.#untried.add(refused);
    const repeat = `REPRISE_PATH="${name}" (set it for your test, or give coverPaths { only: "${name}" })`;
    for (const problem of walked.problems)
      this.#failures.push({ ...problem, path: name, timeline: walked.timeline, repeat });
    return walked;
  }

  #queue(paths: readonly Path[]): void {
    for (const path of paths) {
      const isPlain = path.troubles.length === 0 && !path.moves.some(isStray);
      this.#queues[isPlain ? 0 : 1].push(path);
    }
  }

  /** One move further. Where something has gone wrong already, nothing else does. */
  #furtherOf({ troubles, moves }: Path, { next }: Walked): readonly Path[] {
    const mayStray = troubles.length === 0 && !moves.some(isStray);
    const further = next.filter(({ strays }) => mayStray || !strays);
    if (moves.length < this.#maxMoves) return further.map(({ name }) => ({ troubles, moves: [...moves, name] }));
    this.#tooLong += further.length;
    return [];
  }

  report(): PathsReport {
    const { covered } = this.#options;
    const report = {
      saga: this.#saga.name,
      paths: this.#paths,
      leftOut: this.#queues[0].length + this.#queues[1].length + this.#tooLong,
      reached: covered.reached(),
      missed: covered.missed(),
      ended: Object.fromEntries(this.#ended),
      parked: this.#parked,
      untried: [...this.#untried],
      failures: this.#failures,
    };
    return { ...report, text: inWords(report) };
  }
}

/** The same path, and a call that was made since its last move goes wrong. (The others did on the shorter ones.) */
function troubledOf({ troubles, moves }: Path, { calls }: Walked, { outputs }: Pick<PathOptions<Saga>, "outputs">) {
  const isWrong = troubles.length > 0 || moves.some(isStray);
  const has = troubles.some(isOfUndo);
  const met = calls.filter((call) => (call.startsWith("undo ") ? !has : !isWrong));
  const all = met.flatMap((call) => waysOf(call, outputs).map((way) => ({ call, way })));
  return all.map((trouble): Path => ({ troubles: [...troubles, trouble], moves }));
}

/** What is sent, by event. */
function payloadsOf<S extends Saga>(saga: S, given: CoverOptions<S>["payloads"]) {
  // By name, whatever the compiler knows of them; `signal` checks each.
  const samples = (given ?? {}) as Readonly<Record<string, readonly Json[]>>;
  const all = Object.entries(saga.spec.events).map(([event, schema]) => {
    const own = samples[event] ?? (decode(schema, {}).ok ? [{}] : []);
    return [event, own] as const;
  });
  const strangers = Object.entries(samples).filter(([event]) => !Object.hasOwn(saga.spec.events, event));
  return {
    // One that is no event of the saga is refused when it is sent.
    known: Object.fromEntries([...all, ...strangers].filter(([, own]) => own.length > 0)),
    unknown: all.flatMap(([event, own]) => (own.length > 0 ? [] : [`${event} is not sent: give payloads.${event}`])),
  };
}

function inWords(report: Omit<PathsReport, "text">): string {
  const { saga, paths, leftOut, reached, missed, ended, parked, untried, failures } = report;
  const ends = Object.entries(ended).map(([status, count]) => `${count} ${status}`);
  const lines = [`${saga}: ${paths} paths: ${ends.join(", ")}`, inNumbers(reached, missed)];
  for (const id of missed.states) lines.push(`NOT REACHED: state ${id}`);
  for (const { source, text } of missed.transitions) lines.push(`NOT REACHED: ${source}, ${text}`);
  for (const why of untried) lines.push(`not tried: ${why}`);
  if (leftOut > 0) lines.push(`${leftOut} paths were left out: raise maxPaths or maxMoves`);
  const [first] = parked;
  if (first !== undefined) lines.push(`${parked.length} need a person, the first: ${first.path}: ${first.message}`);
  const [one] = failures;
  if (one === undefined) return [...lines, "nothing was lost, doubled or left"].join("\n");
  for (const blame of new Set(failures.flatMap((each) => each.blame ?? []))) lines.push(`DECLARATION: ${blame}`);
  lines.push(`${failures.length} failures, the first:`, `  ${one.path}`, `  ${one.message}`);
  return [...lines, ...one.timeline.map((line) => `  ${line}`), `  again: ${one.repeat}`].join("\n");
}

function inNumbers(reached: Coverage, missed: Coverage): string {
  const of = (part: keyof Coverage) => `${reached[part].length} of ${reached[part].length + missed[part].length}`;
  return `${of("states")} states and ${of("transitions")} transitions were reached`;
}
