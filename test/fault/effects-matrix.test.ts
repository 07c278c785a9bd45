/**
 * Every effect class meets every fault, with a worker that lives and one that is killed between the effect and its record
 * (kill -9; another process takes over). The table says what the world sees and what the run claims; it is the same
 * whether the worker lives or dies, but for one row: an answer that comes twice comes to a dead worker only once.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Stage } from "../support/fault-stage.ts";
import { type Cell, type Fate, type FaultName, faultNames, Matrix, runIdOf } from "../support/matrix-play.ts";
import { type Kind, kindNames, kinds } from "../support/matrix-sagas.ts";

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

const cells = faultNames
  .flatMap((fault) => kindNames.map((kind) => ({ fault, kind })))
  .flatMap((cell) => (["alive", "killed"] as const).map((fate): Cell => ({ ...cell, fate })))
  .filter((cell) => isFull || !isPatient(cell));

let stage: Stage;
let matrix: Matrix;

beforeAll(async () => {
  stage = await Stage.open({ sagas: "matrix" });
  matrix = await Matrix.play(stage, cells);
}, 150_000);
afterAll(() => stage.close());

function expectedOf({ fault, kind, fate }: Cell): Expected {
  if (fault === "answered twice" && kind === "once" && fate === "alive") return "1/1 heard";
  return table[fault][kindNames.indexOf(kind)] as Expected; // every kind has its column
}

/** What run, ledger and explanation say where the table says this. */
function claimOf(expected: Expected, kind: Kind) {
  const [, claim] = expected.split(" ") as [string, "answered" | "found" | "heard" | "parked"];
  if (claim !== "parked") {
    const proof = ({ answered: "answer", found: "probe", heard: "late" } as const)[claim];
    const known = ["happened"];
    return { status: "completed", reason: null, state: "succeeded", proof, known, verdict: "RESUME_SAFE" };
  }
  const verdict = kinds[kind].isProbed ? "PROBE_FIRST" : "HUMAN_REQUIRED";
  const known = ["may have happened"];
  return { status: "needs_review", reason: "unknown_outcome", state: "unknown", proof: null, known, verdict };
}

const named = (fault: FaultName, fate: Fate) =>
  cells
    .filter((cell) => cell.fault === fault && cell.fate === fate)
    .map((cell) => [cell.kind, expectedOf(cell), cell] as const);

describe.each(faultNames)("%s", (fault) => {
  describe.each(["alive", "killed"] as const)("worker %s", (fate) => {
    test.each(named(fault, fate))("%s: %s", async (kind, expected, cell) => {
      const { text, ...seen } = await matrix.seen(cell);
      const claim = claimOf(expected, kind);
      const [requests, effects] = expected.split(/[/ ]/).map(Number);
      const world = { arrivals: requests, effects, isAsked: kinds[kind].isProbed };
      expect(seen).toEqual({ ...world, ...claim });
      for (const known of claim.known) expect(text).toContain(known);
    });
  });
});

describe("when all is over", () => {
  test("I1 I2 I3 I4 I5 I6 hold for every cell, and the killed worker wrote nothing after its death", async () => {
    const { victim, rooms } = matrix;
    expect(await victim.exit).toEqual({ code: null, signal: "SIGKILL" });
    const killed = [{ pid: victim.pid, signal: "SIGKILL" }];
    const ids = ["I1", "I2", "I3", "I4", "I5", "I6"];
    for (const room of rooms) await room.prove(ids, { killed, checks: [`${cells.length} cells of the matrix`] });
    for (const cell of cells.filter(({ fate }) => fate === "killed")) {
      const log = await matrix.roomOf(cell).log(runIdOf(cell));
      const pids = log.slice(1).map(({ actor }) => stage.pidOf.get(actor));
      expect([pids.includes(victim.pid), pids.at(-1)]).toEqual([true, (await stage.rescuer()).pid]);
    }
  });
});
