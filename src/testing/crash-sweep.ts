/**
 * Proves a saga against crashes: runs it once without a fault, and then once for every place at which its worker touches the
 * outside and for everything that may befall it there. Owns which cases there are, and the report. What is asked of a run
 * afterwards is `rig/judge.ts`'s.
 *
 * Invariants: S1 every case is a fresh world, store and run. S2 a case is the same every time: the report's line repeats it. S3 a
 * case whose place was not reached is told, never counted as proven.
 */
import { hasEnded, type RunStatus } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Saga } from "../saga/index.ts";
import { type Crossing, type Fate, type Fates, nameOf } from "./rig/crossings.ts";
import { type Evidence, judge, type Problem, usualEffects } from "./rig/judge.ts";
import { Rig, rigNamespace } from "./rig/rig.ts";
import { timelineOf } from "./rig/timeline.ts";
import type { FunctionKinds } from "./rig/watched.ts";
import { assertSteps, type SimulateOptions, type Simulation, started } from "./simulate.ts";

export interface SweepOptions<S extends Saga> extends SimulateOptions<S> {
  /** What people and other systems do, once the run has come to rest: signals, approvals, time going by. Nothing unless given. */
  readonly drive?: (run: Simulation<S>) => Promise<unknown>;
  /** One case, as a report names it; the variable REPRISE_SWEEP unless given. */
  readonly only?: string;
  /** Told after each case how many of how many are done. */
  readonly onProgress?: (done: number, cases: number) => void;
}

/** A case in which something did not hold. */
export interface SweepFailure extends Problem {
  /** `payments.charge 1: kill after`. */
  readonly case: string;
  /** What happened, oldest first. */
  readonly timeline: readonly string[];
  /** How to see it again. */
  readonly repeat: string;
}

export interface SweepReport {
  readonly saga: string;
  /** Places at which the worker touches the outside. */
  readonly points: readonly string[];
  readonly cases: number;
  /** Cases by what the run came to. */
  readonly ended: Readonly<Partial<Record<RunStatus, number>>>;
  /** Cases after which a person must decide, with the question. */
  readonly parked: readonly { readonly case: string; readonly message: string }[];
  /** Cases whose place was not reached. */
  readonly missed: readonly string[];
  readonly failures: readonly SweepFailure[];
  /** All of it, to be read. */
  readonly text: string;
}

const fatesOf: Readonly<Record<Crossing["kind"], readonly Fate[]>> = {
  store: ["kill before", "kill after", "lose request", "lose reply", "stand still"],
  queue: ["kill before", "kill after", "lose reply"],
  job: ["kill before", "deliver twice", "stand still"],
  service: ["kill before", "kill after", "lose request", "lose reply", "stand still"],
};

/** What a worker asks whether it has a run or not: once is like ever. */
const housekeeping: ReadonlySet<string> = new Set(
  [
    "open",
    "now",
    "durability",
    "hello",
    "owners",
    "world",
    "goodbye",
    "renew",
    "due",
    "lostOwners",
    "living",
    "expire",
    "pausedSagas",
    "beat",
    "register",
    "suspect",
    "unshelve",
    "purge",
    "heartbeats",
    "load",
    "barrier",
  ].map((name) => `store.${name}`),
);

/**
 * Runs `saga` once per crash point and kind of fault (killed before and after every request to store, queue and services, requests
 * and replies lost, jobs delivered twice, a worker that stands still for longer than its lease), lets another worker take over, and
 * compares what the ledger says with what the world saw.
 *
 * ```ts
 * const report = await crashSweep(order, { input, services: (world) => worldClient(world) });
 * expect(report.failures, report.text).toEqual([]);
 * ```
 *
 * @throws RepriseError what `simulate` throws; SIMULATION_RESTLESS where the run without a fault does not come to rest.
 */
export async function crashSweep<S extends Saga>(saga: S, options: SweepOptions<S>): Promise<SweepReport> {
  assertSteps(saga, options.outcomes ?? {});
  const kinds: FunctionKinds = new Map();
  const passed: Crossing[] = [];
  const record: Fates = (crossing) => {
    passed.push(crossing);
    return "go";
  };
  const first = await play(saga, options, { kinds, fates: record });
  if (first.error !== null) throw first.error;
  const usual = usualEffects(first.evidence);
  const points = passed.filter(({ what, n }) => n === 1 || !housekeeping.has(what));
  const all = points.flatMap((point) => fatesOf[point.kind].map((fate) => ({ point, fate })));
  const only = options.only ?? process.env["REPRISE_SWEEP"];
  const cases = all.filter(({ point, fate }) => only === undefined || only === caseName(point, fate));
  const tally = new Tally(saga.name, points.map(nameOf));
  for (const [at, { point, fate }] of cases.entries()) {
    const name = caseName(point, fate);
    const played = await play(saga, options, { kinds, ...befalls(point, fate) });
    tally.add(name, { ...played, evidence: { ...played.evidence, usual } });
    options.onProgress?.(at + 1, cases.length);
  }
  return tally.report();
}

function caseName(point: Crossing, fate: Fate): string {
  return `${nameOf(point)}: ${fate}`;
}

/** That, there, and nothing else. */
function befalls(point: Crossing, fate: Fate): { readonly fates: Fates } {
  return { fates: ({ what, n }) => (what === point.what && n === point.n ? fate : "go") };
}

interface Played {
  readonly evidence: Evidence;
  readonly status: RunStatus | null;
  /** What a person is asked, where it is parked. */
  readonly review: string | null;
  readonly hit: boolean;
  readonly timeline: readonly string[];
  readonly error: unknown;
}

async function play<S extends Saga>(
  saga: S,
  options: SweepOptions<S>,
  how: { readonly fates: Fates; readonly kinds: FunctionKinds },
): Promise<Played> {
  const { input, outcomes = {}, id = "run", drive, only: _, ...rest } = options;
  let hit = false;
  const fates: Fates = (crossing) => {
    const fate = how.fates(crossing);
    hit ||= fate !== "go";
    return fate;
  };
  const rig = new Rig({ ...rest, sagas: [saga], scripts: outcomes, kinds: how.kinds });
  let run: Simulation<S> | null = null;
  let error: unknown = null;
  try {
    await rig.spawn(fates);
    run = await started(rig, saga, { input, id });
    await drive?.(run);
  } catch (thrown) {
    error = thrown;
  }
  const runs = run === null ? [] : await run.family();
  const record = runs[0]?.record ?? null;
  const evidence = {
    namespace: rigNamespace,
    runs,
    sagas: rig.sagas.map(({ spec }) => spec),
    world: rig.world,
    probed: rig.probed,
  };
  const played = { evidence, status: record?.status ?? null, review: record?.review?.message ?? null, hit, error };
  const timeline = timelineOf(rig);
  await rig.close();
  return { ...played, timeline };
}

class Tally {
  readonly #saga: string;
  readonly #points: readonly string[];
  readonly #ended = new Map<RunStatus, number>();
  readonly #parked: { case: string; message: string }[] = [];
  readonly #missed: string[] = [];
  readonly #failures: SweepFailure[] = [];
  #cases = 0;

  constructor(saga: string, points: readonly string[]) {
    this.#saga = saga;
    this.#points = points;
  }

  add(name: string, played: Played): void {
    this.#cases += 1;
    if (!played.hit) this.#missed.push(name);
    const { status, review } = played;
    if (status !== null) this.#ended.set(status, (this.#ended.get(status) ?? 0) + 1);
    if (review !== null) this.#parked.push({ case: name, message: review });
    for (const problem of [...judge(played.evidence), ...this.#errorOf(played)]) {
      const repeat = `REPRISE_SWEEP="${name}" (set it for your test, or give crashSweep { only: "${name}" })`;
      this.#failures.push({ ...problem, case: name, timeline: played.timeline, repeat });
    }
  }

  /** Who drives a run that was parked meanwhile is told so, which is no failure of the run. */
  #errorOf({ error, review, status }: Played): readonly Problem[] {
    if (error === null) return [];
    const isAnswered = error instanceof RepriseError && (review !== null || (status !== null && hasEnded(status)));
    return isAnswered ? [] : [{ message: error instanceof Error ? error.message : String(error), blame: null }];
  }

  report(): SweepReport {
    const report = {
      saga: this.#saga,
      points: this.#points,
      cases: this.#cases,
      ended: Object.fromEntries(this.#ended),
      parked: this.#parked,
      missed: this.#missed,
      failures: this.#failures,
    };
    return { ...report, text: inWords(report) };
  }
}

function inWords({ saga, points, cases, ended, parked, missed, failures }: Omit<SweepReport, "text">): string {
  const ends = Object.entries(ended).map(([status, count]) => `${count} ${status}`);
  const lines = [`${saga}: ${points.length} crash points, ${cases} cases: ${ends.join(", ")}`];
  if (parked.length > 0)
    lines.push(`${parked.length} of them need a person, the first: ${parked[0]?.case}: ${parked[0]?.message}`);
  if (missed.length > 0) lines.push(`${missed.length} were not reached: ${missed.slice(0, 3).join("; ")}`);
  if (failures.length === 0) return [...lines, "nothing was lost, doubled or left"].join("\n");
  const blamed = [...new Set(failures.flatMap(({ blame }) => (blame === null ? [] : [blame])))];
  for (const blame of blamed) lines.push(`DECLARATION: ${blame}`);
  const [one] = failures;
  if (one === undefined) return lines.join("\n");
  lines.push(
    `${failures.length} failures, the first:`,
    `  ${one.case}`,
    `  ${one.message}`,
    ...one.timeline.map((line) => `  ${line}`),
  );
  return [...lines, `  again: ${one.repeat}`].join("\n");
}
