/**
 * Plays the effects matrix: every effect class meets every fault, once with a worker that lives and once with one that is
 * killed between the effect and its record. All cells are played side by side, each a run of its own: the living worker
 * serves them in one namespace; the other one holds what each call came to (P09) until it has them all, is killed with
 * all of them in its hands, and the living one takes over. Owns how a fault is made; what must come of it is the test's.
 */
import type { Taken } from "../../src/core/index.ts";
import type { FakeWorld, Fault } from "../../src/testing/index.ts";
import { tenant } from "./fault-plan.ts";
import type { FaultWorker } from "./fault-processes.ts";
import type { Room } from "./fault-room.ts";
import { batchSize, itemOf } from "./fault-services.ts";
import type { Stage } from "./fault-stage.ts";
import { type Family, type Kind, keyTtlMs, type Side, type Struck, sagaNameOf, serviceNameOf } from "./matrix-sagas.ts";
import { waitFor } from "./processes.ts";

export const faultNames = [
  "applied, then time-out",
  "applied, then 500",
  "applied, then reset",
  "500, then applied late",
  "answered twice",
  "key expired",
  "probe stale for 2 s",
  "probe failing",
  "partial batch",
] as const;
export type FaultName = (typeof faultNames)[number];
export type Fate = "alive" | "killed";

export interface Cell {
  readonly fault: FaultName;
  readonly kind: Kind;
  /** What is struck: the action, or the compensation of a step that was made. */
  readonly side: Side;
  readonly fate: Fate;
}

/** Items of a batch that are made before it is answered 500. */
export const madeOfBatch = 2;
/** After every first question, which a probed step asks at once, and before the deadline of every call. */
const lateMs = 11_000;
const staleMs = 2_000;
const always = 10 * 60_000;

interface Made {
  readonly family: Family;
  readonly faults: readonly Untargeted[];
}
type Untargeted<F = Fault> = F extends unknown ? Omit<F, "service" | "operationId"> : never;

const applied500 = { kind: "apply-then-500" } as const;

/** How each fault is made. */
const makings: Readonly<Record<FaultName, Made>> = {
  "applied, then time-out": { family: "call", faults: [{ kind: "apply-then-hang" }] },
  "applied, then 500": { family: "call", faults: [applied500] },
  "applied, then reset": { family: "call", faults: [{ kind: "reset-after-apply" }] },
  "500, then applied late": { family: "call", faults: [{ kind: "500-then-apply-later", afterMs: lateMs }] },
  // Of a worker that lives: withheld past the time-out, and answered when the run has gone on. See `faultsOf`.
  "answered twice": { family: "call", faults: [{ kind: "apply-then-hang" }] },
  "key expired": { family: "expiring", faults: [applied500] },
  // Until 2 s after it was asked for the first time. See `endStaleness`.
  "probe stale for 2 s": { family: "call", faults: [applied500, { kind: "stale-query", ms: always }] },
  "probe failing": { family: "call", faults: [applied500, { kind: "failing-query", times: "always" }] },
  "partial batch": { family: "batch", faults: [{ kind: "partial-batch", applied: madeOfBatch }] },
};

/** A worker that is killed has heard the first answer; the second one is given to whoever takes over. */
function faultsOf({ fault, fate }: Cell): Made["faults"] {
  return fault === "answered twice" && fate === "killed" ? [] : makings[fault].faults;
}

export function runIdOf({ fault, kind }: Cell): string {
  return `${faultNames.indexOf(fault) + 1}-${kind}`;
}

function struckIn({ fault, kind, side }: Cell): Struck {
  return { kind, family: makings[fault].family, side };
}

type Stay = "alive" | "killed" | "expired";

/** Where a cell is played: keys expire while nobody serves the namespace. */
function stayOf({ fault, fate }: Cell): Stay {
  if (fate === "alive") return "alive";
  return fault === "key expired" ? "expired" : "killed";
}

export class Matrix {
  readonly #rooms: Readonly<Record<Stay, Room>>;
  readonly victim: FaultWorker;

  private constructor(rooms: Readonly<Record<Stay, Room>>, victim: FaultWorker) {
    this.#rooms = rooms;
    this.victim = victim;
  }

  get rooms(): readonly Room[] {
    return Object.values(this.#rooms);
  }

  /** Plays all cells of a side until each run has come to rest. */
  static async play(stage: Stage, side: Side, cells: readonly Cell[]): Promise<Matrix> {
    const roomFor = (stay: Stay) => stage.room(`${stay}-${side}`);
    const [alive, killed, expired] = await Promise.all([roomFor("alive"), roomFor("killed"), roomFor("expired")]);
    const point = side === "action" ? "P09" : "C03";
    const [living, victim] = await Promise.all([stage.rescuer(), stage.worker({ point, holds: true })]);
    const matrix = new Matrix({ alive, killed, expired }, victim);
    await living.serve(alive.namespace);
    for (const { namespace } of [killed, expired]) await victim.serve(namespace);
    for (const stay of ["killed", "expired", "alive"] as const) await matrix.#begin(stage.world, cells, stay);
    await victim.child.kill("SIGKILL");
    await living.serve(killed.namespace);
    await matrix.#keysExpired(expired);
    await living.serve(expired.namespace);
    await matrix.#rest(stage.world, cells);
    return matrix;
  }

  roomOf(cell: Cell): Room {
    return this.#rooms[stayOf(cell)];
  }

  /** Starts the cells of a namespace, and waits until the victim has its own all in its hands. */
  async #begin(world: FakeWorld, cells: readonly Cell[], stay: Stay): Promise<void> {
    const mine = cells.filter((cell) => stayOf(cell) === stay);
    for (const cell of mine) this.#script(world, cell);
    await Promise.all(mine.map((cell) => this.#start(cell)));
    if (stay === "alive") return;
    await waitFor(() => this.#inHand(world, stay) === mine.length, {
      timeoutMs: 30_000,
      what: `${mine.length} calls in the victim's hands`,
      tell: () => this.#inHand(world, stay),
    });
  }

  /** Calls of the victim: answered to it and held there, or still withheld by the world. */
  #inHand(world: FakeWorld, stay: Stay): number {
    const { namespace } = this.#rooms[stay];
    const withheld = world.held().filter(({ operationId: id }) => id.startsWith(`${namespace}/`));
    const heard = this.victim.hits().filter(({ step }) => step?.includes("-expiring") === (stay === "expired"));
    return withheld.length + heard.length;
  }

  #script(world: FakeWorld, cell: Cell): void {
    const struck = struckIn(cell);
    const operationId = this.#operationOf(cell);
    const met = struck.family === "batch" ? itemOf(operationId, 1) : operationId;
    for (const fault of faultsOf(cell)) {
      const target = { service: serviceNameOf(struck), operationId: met };
      const scripted = world.fault({ ...target, ...fault });
      if (fault.kind === "stale-query") endStaleness(scripted);
    }
  }

  async #start(cell: Cell): Promise<void> {
    const input = { id: runIdOf(cell), isDeaf: cell.fault === "answered twice" && cell.fate === "alive" };
    await this.roomOf(cell).startWith(sagaNameOf(struckIn(cell)), input);
  }

  #operationOf(cell: Cell): string {
    return this.roomOf(cell).operationOf(serviceNameOf(struckIn(cell)), runIdOf(cell));
  }

  /** The other side has forgotten the keys of every call that arrived so far. */
  async #keysExpired(room: Room): Promise<void> {
    const last = Math.max(...(await room.entries()).map(({ at }) => Date.parse(at)));
    await waitFor(() => Date.now() - last > keyTtlMs, { what: "the keys to expire", everyMs: 100 });
  }

  async #rest(world: FakeWorld, cells: readonly Cell[]): Promise<void> {
    const twice = cells.filter(({ fault, fate }) => fault === "answered twice" && fate === "alive");
    const atRest = async (some: readonly Cell[]) => {
      for (const cell of some) await this.roomOf(cell).rest(runIdOf(cell));
    };
    await atRest(twice);
    const operations = new Set(twice.map((cell) => this.#operationOf(cell)));
    for (const held of world.held()) if (operations.has(held.operationId)) held.release();
    await Promise.all(twice.map((cell) => this.#heardLate(cell)));
    await atRest(cells);
  }

  async #heardLate(cell: Cell): Promise<void> {
    const isLate = (taken: Taken) => taken.what === "late" || (taken.what === "outcome" && taken.proof === "late");
    const isNoted = async () => {
      const log = await this.roomOf(cell).log(runIdOf(cell));
      return log.some(({ taken }) => taken.some(isLate));
    };
    await waitFor(isNoted, { everyMs: 100, what: `the late answer of ${runIdOf(cell)} to be noted` });
  }

  /** What the world saw of a cell, and what run, ledger and explanation claim of it. */
  async seen(cell: Cell) {
    const [room, id] = [this.roomOf(cell), runIdOf(cell)];
    const [counts, record, rows] = await Promise.all([room.counts(id), room.record(id), room.rows(id)]);
    const explanation = await room.client.run(id, { tenant }).explain();
    const service = serviceNameOf(struckIn(cell));
    const { arrivals, effects, queries } = counts[service] ?? { arrivals: 0, effects: 0, queries: 0 };
    const call = cell.side === "action" ? rows[0]?.call : rows[0]?.undo?.call;
    const attempts = explanation.attempted.filter(({ seq, side }) => seq === 1 && side === cell.side);
    return {
      arrivals: cell.fault === "partial batch" ? arrivals / batchSize : arrivals,
      effects,
      isAsked: queries > 0,
      status: record.status,
      reason: record.review?.reason ?? null,
      state: call?.state,
      proof: call?.proof,
      known: attempts.map(({ known }) => known),
      verdict: explanation.verdict.verdict,
      text: explanation.text,
    };
  }
}

/** What the other side shows lags: it shows the effect from 2 s after it was first asked. */
function endStaleness(scripted: { readonly hits: number; remove(): void }): void {
  const asked = waitFor(() => scripted.hits > 0, { timeoutMs: 30_000, everyMs: 20, what: "a stale answer" });
  asked.then(
    () => setTimeout(() => scripted.remove(), staleMs),
    () => undefined, // a step that cannot be asked
  );
}
