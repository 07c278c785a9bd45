/**
 * What becomes of the open runs when this code is deployed. Owns walking them, and the report; core judges each
 * (`core/change/prospects.ts`).
 *
 * Invariants: C1 nothing is written. C2 memory does not grow with the number of runs: of those that would fare alike one finding
 * is kept, with a few of them as examples.
 */
import {
  hasEnded,
  openListing,
  prospectOf,
  type RunRef,
  registrationOf,
  type Serving,
  stateText,
  structureChanges,
  structureName,
  unservedBy,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { type ClientOptions, type ClientPorts, Connection } from "./connection.ts";
import { judgedRun } from "./judged.ts";
import { pinnedOf } from "./sagas.ts";

const pageSize = 100;
/** Runs read at the same time: each may be large. */
const readAtOnce = 8;
/** Findings kept of one fate of one version. */
const maxFindings = 20;
const maxExamples = 5;

/**
 * `goes_on`: as it is. `moves`: once it is asked to (`client.migrate`), for this code has only newer versions. `breaks`: this
 * code cannot go on with it. `unread`: nobody can say. `unserved`: its saga is none of this code's, and no living worker
 * serves it. `elsewhere`: a living one does.
 */
export type CheckFate = "goes_on" | "moves" | "breaks" | "unread" | "unserved" | "elsewhere";

/** One run, as it would fare. */
export interface CheckedRun extends RunRef {
  readonly saga: string;
  readonly version: number;
  readonly hash: string;
  readonly fate: CheckFate;
  /** Where it stands; `null` where it cannot be read. */
  readonly state: string | null;
  /** Which part of it, or of the code, does not fit; `null`: none. */
  readonly at: string | null;
  /** What was expected there and what is found, or what it has to wait for; `null`: nothing. */
  readonly problem: string | null;
}

/** Runs that would fare alike. */
export interface CheckFinding extends Pick<CheckedRun, "fate" | "state" | "at" | "problem"> {
  readonly runs: number;
  readonly examples: readonly RunRef[];
}

/** The open runs of one structure. */
export interface CheckedVersion extends Pick<CheckedRun, "saga" | "version" | "hash"> {
  readonly runs: number;
  readonly fates: Readonly<Record<CheckFate, number>>;
  /** What this code has changed of it, against what is registered: its structure, or schemas alone. */
  readonly changes: readonly string[];
  /** Of all that do not simply go on, the most runs first. */
  readonly findings: readonly CheckFinding[];
  /** Runs of which no finding was kept. */
  readonly untold: number;
}

export interface CheckReport {
  /** No run would break, none is unread, none is without a worker. */
  readonly ok: boolean;
  readonly runs: number;
  readonly fates: Readonly<Record<CheckFate, number>>;
  readonly versions: readonly CheckedVersion[];
}

export interface CheckOptions {
  /** Hears of each run as it is judged. */
  readonly onRun?: ((run: CheckedRun) => void) | undefined;
}

/** For a while of its own; the ports stay open. Throws STORE_UNAVAILABLE. */
export async function checkRuns(
  ports: ClientPorts,
  options: ClientOptions,
  { onRun }: CheckOptions = {},
): Promise<CheckReport> {
  const connection = new Connection(ports, options);
  try {
    return await checkAll(connection, onRun);
  } finally {
    await connection.close();
  }
}

async function checkAll(connection: Connection, onRun: CheckOptions["onRun"]): Promise<CheckReport> {
  const store = await connection.store();
  const serving = await store.serving();
  const unserved = await unservedIn(connection, serving);
  const versions: CheckedVersion[] = [];
  for (const structure of serving.open.toSorted()) {
    const tally = new Tally();
    const pinned = await checkStructure(connection, { structure, isServed: !unserved.has(structure) }, (run) => {
      tally.add(run);
      onRun?.(run);
    });
    if (pinned !== null) versions.push({ ...pinned, changes: await changesOf(connection, pinned), ...tally.report() });
  }
  const fates = sumOf(versions.map((version) => version.fates));
  const runs = versions.reduce((sum, version) => sum + version.runs, 0);
  return { ok: fates.breaks + fates.unread + fates.unserved === 0, runs, fates, versions };
}

async function unservedIn(connection: Connection, serving: Serving): Promise<ReadonlySet<string>> {
  const store = await connection.store();
  return new Set(unservedBy(serving, new Set((await store.lostOwners()).map(({ owner }) => owner))));
}

type Pinned = Pick<CheckedRun, "saga" | "version" | "hash">;

/** Judges every run of one structure; `null`: none was left. */
async function checkStructure(
  connection: Connection,
  { structure, isServed }: { readonly structure: string; readonly isServed: boolean },
  tell: (run: CheckedRun) => void,
): Promise<Pinned | null> {
  const store = await connection.store();
  const pinned = pinnedOf(structure);
  let found = false;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const after = cursor === undefined ? {} : { cursor };
    const page = await store.listShared({ listings: [openListing(structure)], limit: pageSize, ...after });
    const unread = page.unreadable.map(({ tenant, id, message }) => ({
      ...pinned,
      tenant,
      id,
      ...unreadable(message),
    }));
    const judged: (CheckedRun | null)[] = [];
    for (let at = 0; at < page.runs.length; at += readAtOnce) {
      const some = page.runs.slice(at, at + readAtOnce);
      judged.push(...(await Promise.all(some.map((run) => checkRun(connection, run, isServed)))));
    }
    for (const run of [...judged, ...unread]) {
      if (run === null || structureName(run) !== structure) continue;
      found = true;
      tell(run);
    }
    cursor = page.cursor;
  }
  return found ? pinned : null;
}

/** `null`: it is open no more. */
async function checkRun(connection: Connection, { tenant, id, ...run }: RunRef & Pinned, isServed: boolean) {
  try {
    const judged = await judgedRun(connection, { tenant, id });
    const { saga, version, hash, status } = judged.record;
    if (hasEnded(status)) return null;
    const state = stateText(judged.record);
    return { tenant, id, saga, version, hash, state, ...fateOf(connection, judged, isServed) };
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    if (error.code === "RUN_NOT_FOUND") return null;
    if (error.code !== "RECORD_CORRUPT") throw error;
    const { saga, version, hash } = run;
    return { tenant, id, saga, version, hash, ...unreadable(error.message) };
  }
}

function unreadable(problem: string) {
  return { fate: "unread", state: null, at: null, problem } as const;
}

function fateOf(
  { options }: Connection,
  judged: Parameters<typeof prospectOf>[1],
  isServed: boolean,
): Pick<CheckedRun, "fate" | "at" | "problem"> {
  const prospect = prospectOf(options.sagas, judged);
  switch (prospect.is) {
    case "goes_on":
      return { fate: "goes_on", at: null, problem: null };
    case "moves":
      return { fate: "moves", at: null, problem: prospect.after };
    case "breaks":
      return { fate: "breaks", at: prospect.at, problem: prospect.problem };
    case "unread":
      return { fate: "unread", at: null, problem: prospect.problem };
    case "elsewhere":
      return { fate: isServed ? "elsewhere" : "unserved", at: null, problem: null };
  }
}

async function changesOf({ ports, options }: Connection, { saga, version, hash }: Pinned): Promise<readonly string[]> {
  const mine = options.sagas.find((each) => each.name === saga && each.version === version);
  const registered = mine === undefined ? null : await ports.store.registered(saga, version);
  // Runs of a structure that was replaced: what is registered says nothing of them.
  if (mine === undefined || registered?.hash !== hash) return [];
  return structureChanges(registered, registrationOf(mine));
}

// ---- counting

/** Counts the runs of one version, and keeps what is told of those that do not simply go on. */
class Tally {
  readonly #fates = sumOf([]);
  readonly #findings = new Map<string, CheckFinding>();
  #runs = 0;
  #untold = 0;

  add({ tenant, id, fate, state, at, problem }: CheckedRun): void {
    this.#runs += 1;
    this.#fates[fate] += 1;
    if (fate === "goes_on") return;
    const key = JSON.stringify([fate, state, at, problem]);
    const found = this.#findings.get(key) ?? { fate, state, at, problem, runs: 0, examples: [] };
    if (found.runs === 0 && this.#countOf(fate) === maxFindings) {
      this.#untold += 1;
      return;
    }
    const examples = found.examples.length < maxExamples ? [...found.examples, { tenant, id }] : found.examples;
    this.#findings.set(key, { ...found, runs: found.runs + 1, examples });
  }

  #countOf(fate: CheckFate): number {
    return [...this.#findings.values()].filter((finding) => finding.fate === fate).length;
  }

  report() {
    const findings = [...this.#findings.values()].sort((a, b) => b.runs - a.runs);
    return { runs: this.#runs, fates: this.#fates, findings, untold: this.#untold };
  }
}

function sumOf(all: readonly Readonly<Record<CheckFate, number>>[]): Record<CheckFate, number> {
  const sum = { goes_on: 0, moves: 0, breaks: 0, unread: 0, unserved: 0, elsewhere: 0 };
  for (const fates of all) for (const fate of Object.keys(sum) as CheckFate[]) sum[fate] += fates[fate];
  return sum;
}
