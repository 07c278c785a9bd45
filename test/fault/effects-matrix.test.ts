/**
 * Every effect class meets every fault, with a worker that lives and one that is killed between the effect and its record
 * (kill -9; another process takes over); once as the action of a step, once as the compensation of a run that goes back. The
 * table says what the world sees and what the run claims. It is the same for all four, but for one row: an answer that
 * comes twice comes to a dead worker only once.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../support/fault-stage.ts";
import { type Cell, type FaultName, faultNames, Matrix, runIdOf } from "../support/matrix-play.ts";
import { kindNames, kinds, type Side } from "../support/matrix-sagas.ts";

/**
 * `<requests>/<effects> <claim>`: `answered`: it happened, its answer says so; `found`: it happened, the other side said so when it was
 * asked; `heard`: it was parked, and goes on by the answer that came late; `parked`: it may have happened, a person is asked.
 */
type Expected = `${number}/${number} ${"answered" | "found" | "heard" | "parked"}`;

/** A column for each kind, in their order; `+` can be asked. */
// biome-ignore format: a table
const table: Readonly<Record<FaultName, readonly Expected[]>> = {
  //                         none            idempotent      idempotent +    keyed           keyed +         once          once +
  "applied, then time-out": ["2/0 answered", "2/1 answered", "1/1 found",    "2/1 answered", "1/1 found",    "1/1 parked", "1/1 found"],
  "applied, then 500":      ["2/0 answered", "2/1 answered", "1/1 found",    "2/1 answered", "1/1 found",    "1/1 parked", "1/1 found"],
  "applied, then reset":    ["2/0 answered", "2/1 answered", "1/1 found",    "2/1 answered", "1/1 found",    "1/1 parked", "1/1 found"],
  "500, then applied late": ["2/0 answered", "2/1 answered", "2/1 answered", "2/1 answered", "2/1 answered", "1/1 parked", "1/1 found"],
  "answered twice":         ["2/0 answered", "2/1 answered", "1/1 found",    "2/1 answered", "1/1 found",    "1/1 parked", "1/1 found"],
  "key expired":            ["2/0 answered", "2/1 answered", "1/1 found",    "1/1 parked",   "1/1 found",    "1/1 parked", "1/1 found"],
  "probe stale for 2 s":    ["2/0 answered", "2/1 answered", "2/1 answered", "2/1 answered", "2/1 answered", "1/1 parked", "1/1 found"],
  "probe failing":          ["2/0 answered", "2/1 answered", "2/1 answered", "2/1 answered", "2/1 answered", "1/1 parked", "1/1 parked"],
  "partial batch":          ["2/0 answered", "2/5 answered", "2/5 answered", "2/5 answered", "2/5 answered", "1/2 parked", "1/2 parked"],
};

const isFull = process.env["REPRISE_SIZE"] === "full";
/** A probe that never says anything is asked for the last time 30 s after the deadline. */
const isPatient = ({ fault, kind }: Cell) =>
  kind === "once-probed" && (fault === "probe failing" || fault === "partial batch");

const sides = ["action", "undo"] as const;
const fates = ["alive", "killed"] as const;
/** A compensation undoes one thing. */
function faultsOf(side: Side): readonly FaultName[] {
  return side === "action" ? faultNames : faultNames.filter((fault) => fault !== "partial batch");
}

const cells = sides
  .flatMap((side) => faultsOf(side).map((fault) => ({ side, fault })))
  .flatMap((cell) => kindNames.map((kind) => ({ ...cell, kind })))
  .flatMap((cell) => fates.map((fate): Cell => ({ ...cell, fate })))
  .filter((cell) => isFull || !isPatient(cell));

const ofSide = (side: Side) => cells.filter((cell) => cell.side === side);

let stage: Stage;
let matrices: Readonly<Record<Side, Matrix>>;

beforeAll(async () => {
  stage = await Stage.open({ sagas: "matrix" });
  const play = (side: Side) => Matrix.play(stage, side, ofSide(side));
  const [action, undo] = await Promise.all([play("action"), play("undo")]);
  matrices = { action, undo };
}, 180_000);
afterAll(() => stage.close());

function expectedOf({ fault, kind, fate }: Cell): Expected {
  if (fault === "answered twice" && kind === "once" && fate === "alive") return "1/1 heard";
  return table[fault][kindNames.indexOf(kind)] as Expected; // every kind has its column
}

/** What run, ledger and explanation say where the table says this. */
function claimOf(expected: Expected, { kind, side }: Cell) {
  const [, claim] = expected.split(" ") as [string, "answered" | "found" | "heard" | "parked"];
  if (claim !== "parked") {
    const proof = ({ answered: "answer", found: "probe", heard: "late" } as const)[claim];
    const known = ["happened"];
    const status = side === "action" ? "completed" : "failed";
    return { status, reason: null, state: "succeeded", proof, known, verdict: "RESUME_SAFE" };
  }
  const verdict = kinds[kind].isProbed ? "PROBE_FIRST" : "HUMAN_REQUIRED";
  const known = ["may have happened"];
  const reason = side === "action" ? "unknown_outcome" : "halted";
  return { status: "needs_review", reason, state: "unknown", proof: null, known, verdict };
}

const named = (side: Side, fault: FaultName) =>
  ofSide(side)
    .filter((cell) => cell.fault === fault)
    .map((cell) => [cell.fate, cell.kind, expectedOf(cell), cell] as const);

describe.each(sides)("%s", (side) => {
  describe.each(faultsOf(side))("%s", (fault) => {
    test.each(named(side, fault))("worker %s, %s: %s", async (_fate, kind, expected, cell) => {
      const { text, ...seen } = await matrices[side].seen(cell);
      const claim = claimOf(expected, cell);
      const [requests, effects] = expected.split(/[/ ]/).map(Number);
      const world = { arrivals: requests, effects, isAsked: kinds[kind].isProbed };
      expect(seen).toEqual({ ...world, ...claim });
      for (const known of claim.known) expect(text).toContain(known);
    });
  });
});

describe("when all is over", () => {
  test.each(sides)("I1 I2 I3 I4 I5 I6 I7 hold for every %s, and the killed worker wrote nothing more", async (side) => {
    const { victim, rooms } = matrices[side];
    expect(await victim.exit).toEqual({ code: null, signal: "SIGKILL" });
    const killed = [{ pid: victim.pid, signal: "SIGKILL" }];
    const ids = ["I1", "I2", "I3", "I4", "I5", "I6", "I7"];
    const struck = ofSide(side);
    for (const room of rooms) await room.prove(ids, { killed, checks: [`${struck.length} cells of the matrix`] });
    for (const cell of struck.filter(({ fate }) => fate === "killed")) {
      const log = await matrices[side].roomOf(cell).log(runIdOf(cell));
      const pids = log.slice(1).map(({ actor }) => stage.pidOf.get(actor));
      expect([pids.includes(victim.pid), pids.at(-1)]).toEqual([true, (await stage.rescuer()).pid]);
    }
  });
});
