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
import { batchSize } from "./fault-services.ts";
import type { Stage } from "./fault-stage.ts";
import { type Family, type Kind, keyTtlMs } from "./matrix-sagas.ts";
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
  readonly fate: Fate;
}

/** Items of a batch that are made before it is answered 500. */
export const madeOfBatch = 2;
/** After every first question, which a probed step asks at once, and before the deadline of every call. */
const lateMs = 8_000;
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

/** Where a cell is played: keys expire while nobody serves the namespace. */
function namespaceOf({ fault, fate }: Cell): string {
  if (fate === "alive") return "alive";
  return fault === "key expired" ? "expired" : "killed";
}

export class Matrix {
  readonly #rooms: ReadonlyMap<string, Room>;
  readonly victim: FaultWorker;

  private constructor(rooms: ReadonlyMap<string, Room>, victim: FaultWorker) {
    this.#rooms = rooms;
    this.victim = victim;
  }

  get rooms(): readonly Room[] {
    return [...this.#rooms.values()];
  }

  /** Plays all cells until each run has come to rest. */
  static async play(stage: Stage, cells: readonly Cell[]): Promise<Matrix> {
    const rooms = await Promise.all(["alive", "killed", "expired"].map((name) => stage.room(name)));
    const [living, victim] = await Promise.all([stage.rescuer(), stage.worker({ point: "P09", holds: true })]);
    const matrix = new Matrix(new Map(rooms.map((room) => [room.namespace, room])), victim);
    await living.serve("alive");
    for (const namespace of ["killed", "expired"]) await victim.serve(namespace);
    for (const namespace of ["killed", "expired", "alive"]) await matrix.#begin(stage.world, cells, namespace);
    await victim.child.kill("SIGKILL");
    await living.serve("killed");
    await matrix.#keysExpired();
    await living.serve("expired");
    await matrix.#rest(stage.world, cells);
    return matrix;
  }

  roomOf(cell: Cell): Room {
    const room = this.#rooms.get(namespaceOf(cell));
    if (room === undefined) throw new Error(`nobody plays ${runIdOf(cell)}`);
    return room;
  }

  /** Starts the cells of a namespace, and waits until the victim has its own all in its hands. */
  async #begin(world: FakeWorld, cells: readonly Cell[], namespace: string): Promise<void> {
    const mine = cells.filter((cell) => namespaceOf(cell) === namespace);
    for (const cell of mine) this.#script(world, cell);
    await Promise.all(mine.map((cell) => this.#start(cell)));
    if (namespace === "alive") return;
    const operations = mine.map((cell) => this.#operationOf(cell));
    const inHand = () => this.#inHand(world, namespace) === operations.length;
    await waitFor(inHand, {
      timeoutMs: 30_000,
      what: `${operations.length} calls in the victim's hands`,
      tell: () => this.#inHand(world, namespace),
    });
  }

  /** Calls of the victim: answered to it and held there, or still withheld by the world. */
  #inHand(world: FakeWorld, namespace: string): number {
    const withheld = world.held().filter(({ operationId: id }) => id.startsWith(`${namespace}/`));
    const heard = this.victim.hits().filter(({ step }) => step?.endsWith("-expiring") === (namespace === "expired"));
    return withheld.length + heard.length;
  }

  #script(world: FakeWorld, cell: Cell): void {
    const { family } = makings[cell.fault];
    const isBatch = family === "batch";
    const operationId = this.#operationOf(cell);
    for (const fault of faultsOf(cell)) {
      const target = { service: `${cell.kind}-${family}`, operationId: isBatch ? `${operationId}#1` : operationId };
      const scripted = world.fault({ ...target, ...fault });
      if (fault.kind === "stale-query") endStaleness(scripted);
    }
  }

  async #start(cell: Cell): Promise<void> {
    const { fault, kind, fate } = cell;
    const input = { id: runIdOf(cell), isDeaf: fault === "answered twice" && fate === "alive" };
    await this.roomOf(cell).startWith(`${kind}-${makings[fault].family}`, input);
  }

  #operationOf(cell: Cell): string {
    return this.roomOf(cell).operationOf(`${cell.kind}-${makings[cell.fault].family}`, runIdOf(cell));
  }

  /** The other side has forgotten the keys of every call that arrived so far. */
  async #keysExpired(): Promise<void> {
    const arrivals = await this.#rooms.get("expired")?.entries();
    const last = Math.max(...(arrivals ?? []).map(({ at }) => Date.parse(at)));
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
    const { arrivals, effects, queries } = Object.values(counts)[0] ?? { arrivals: 0, effects: 0, queries: 0 };
    return {
      arrivals: cell.fault === "partial batch" ? arrivals / batchSize : arrivals,
      effects,
      isAsked: queries > 0,
      status: record.status,
      reason: record.review?.reason ?? null,
      state: rows[0]?.call.state,
      proof: rows[0]?.call.proof,
      known: explanation.attempted.map(({ known }) => known),
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
