/**
 * The crash points of `reliability.md` 3.1 as the simulation meets them, and how often. Owns which blow at which touch of the outside
 * is which point. Those that are left out need what is not here (a dead-letter queue, plans, deletion): `elsewhere` says where they are
 * hit.
 */
import type { Commit, CommitCommand, CreateCommand, Row, SendCommand, Taken } from "../../src/core/index.ts";
import type { Crossing, Fate } from "../../src/testing/rig/crossings.ts";
import type { Believed } from "./model.ts";

/** A blow, and what is known of where it fell. */
interface Blow {
  readonly what: string;
  readonly fate: Fate;
  /** What was to be committed, and what was believed of the run before. */
  readonly commit: Commit | null;
  readonly before: Believed | null;
  readonly create: CreateCommand | null;
  readonly send: SendCommand | null;
}

const early: ReadonlySet<Fate> = new Set(["kill before", "lose request"]);
const late: ReadonlySet<Fate> = new Set(["kill after", "lose reply"]);

/** By point: is it this one? */
const blows = {
  P00: ({ create, fate }) => create !== null && early.has(fate),
  P02: ({ create, fate }) => create !== null && late.has(fate),
  P03: ({ what, fate }) => (what === "job" || what === "store.acquire") && fate === "kill before",
  P04: ({ what, fate }) => what === "store.acquire" && fate === "kill after",
  P05: ({ commit, fate }) => commit !== null && fate === "kill before",
  P06: (blow) => (blow.fate === "kill after" && grants(blow, "action")) || isBefore(blow, "action "),
  P08: ({ what, fate }) => what.startsWith("action ") && fate === "kill after",
  P09: (blow) => blow.fate === "kill before" && takes(blow, ({ what }) => what === "outcome"),
  P10: ({ commit, fate }) => commit !== null && fate === "lose reply",
  P11: ({ what, fate }) => what === "queue.wake" && early.has(fate),
  P12: ({ what, fate }) => what === "job" && fate === "kill after",
  P13: ({ send, fate }) => send !== null && /^(child|intent):/.test(send.slot) && early.has(fate),
  P14: ({ what, commit, fate }) => (what === "store.release" || commit?.release === true) && early.has(fate),
  C01: (blow) => blow.fate === "kill before" && turnsRound(blow),
  C02: (blow) => (blow.fate === "kill after" && grants(blow, "undo")) || isBefore(blow, "undo "),
  C03: ({ what, fate }) => what.startsWith("undo ") && fate === "kill after",
  C04: (blow) => blow.fate.startsWith("kill") && hasUndoneOne(blow) && blow.commit?.record.endedAt === null,
  C05: (blow) => blow.fate.startsWith("kill") && takes(blow, (each) => each.what === "undo" && each.state === "halted"),
  C06: (blow) => blow.fate.startsWith("kill") && turnsRound(blow) && isOut(blow),
  C07: ({ commit, before, fate }) => fate !== "answer late" && before?.record.unwind != null && isCancelled(commit),
  T01: ({ commit, fate }) => late.has(fate) && commit?.release === true && commit.record.timers.length > 0,
  T02: (blow) => blow.fate.startsWith("kill") && takes(blow, ({ what }) => what === "timer"),
  A01: (blow) => late.has(blow.fate) && (blow.commit?.record.asks.length ?? 0) > (blow.before?.record.asks.length ?? 0),
  A02: (blow) =>
    blow.fate.startsWith("kill") && takes(blow, (each) => each.what === "approval" && each.by !== undefined),
  V01: (blow) => blow.fate !== "answer late" && takes(blow, ({ what }) => what === "migrated"),
  B01: (blow) => blow.fate.startsWith("kill") && blow.commit?.rows.some(isItem) === true,
} satisfies Readonly<Record<string, (blow: Blow) => boolean>>;

/** Told by the simulation: a start whose wake-up was never sent, and a death with a call under way. */
export type CrashPoint = keyof typeof blows | "P01" | "P07";

export const crashPoints: readonly CrashPoint[] = [
  ...(Object.keys(blows) as CrashPoint[]),
  "P01",
  "P07",
].sort() as never;

/** Points that no simulation in memory hits, and who does. */
export const elsewhere = {
  D01: "test/integration/dead-letters.test.ts",
  D02: "test/unit/client-replay.test.ts",
  R01: "test/integration/retention.test.ts",
} as const;

export type PointHits = Readonly<Record<CrashPoint, number>>;

export class CrashPoints {
  readonly #hits = Object.fromEntries(crashPoints.map((point) => [point, 0])) as Record<CrashPoint, number>;
  readonly #believed: (run: Commit["run"]) => Believed | undefined;

  constructor(believed: (run: Commit["run"]) => Believed | undefined) {
    this.#believed = believed;
  }

  get hits(): PointHits {
    return this.#hits;
  }

  hit(point: CrashPoint): void {
    this.#hits[point] += 1;
  }

  struck({ what, asked }: Crossing, fate: Fate): void {
    const of = <Command>(name: string) => (what === name ? (asked[0] as Command) : null);
    const commit = of<CommitCommand>("store.commit")?.commit ?? null;
    const before = commit === null ? null : (this.#believed(commit.run) ?? null);
    const blow = {
      what,
      fate,
      commit,
      before,
      create: of<CreateCommand>("store.create"),
      send: of<SendCommand>("store.send"),
    };
    for (const [point, isHit] of Object.entries(blows)) if (isHit(blow)) this.hit(point as CrashPoint);
  }
}

function isBefore({ what, fate }: Blow, call: string): boolean {
  return what.startsWith(call) && fate === "kill before";
}

function takes({ commit }: Blow, isIt: (taken: Taken) => boolean): boolean {
  return commit?.log.taken.some(isIt) === true;
}

function grants({ commit }: Blow, side: "action" | "undo"): boolean {
  const isGranted = (row: Row) => (side === "action" ? row.call.state === "sent" : row.undo?.state === "sent");
  return commit?.rows.some(isGranted) === true;
}

function turnsRound({ commit, before }: Blow): boolean {
  return commit?.record.unwind != null && before?.record.unwind == null;
}

/** Calls are out whose outcome nobody knows. */
function isOut({ before }: Blow): boolean {
  return before?.rows.some(({ call }) => call.state === "sent" || call.state === "unknown") === true;
}

function hasUndoneOne(blow: Blow): boolean {
  return takes(blow, (each) => each.what === "undo" && each.state === "done");
}

/** A cancel or an undo. */
function isCancelled(commit: Commit | null): boolean {
  return commit?.log.taken.some((each) => each.what === "control" && each.control !== "pause") === true;
}

function isItem({ tool, call }: Row): boolean {
  return tool?.at !== undefined && call.state === "succeeded";
}
