/**
 * The ports of a process that is to die at a chosen point, wrapped around the real ones. Faults are made here and nowhere
 * in the product. Owns where each crash point is (issue 2, "Proven"); the gate (fault-plan.ts) owns what happens there.
 */
import type {
  Commit,
  CommitAnswer,
  ConsumerFactory,
  LogEntry,
  Row,
  Store,
  Timed,
  WakeUps,
} from "../../src/core/index.ts";
import { hasEnded } from "../../src/core/index.ts";
import type { Gate, Point } from "./fault-plan.ts";
import type { FaultServices } from "./fault-services.ts";

/** The target with some of its methods replaced. */
export function over<Target extends object>(target: Target, changed: Partial<Target>): Target {
  return new Proxy(target, {
    get: (of, name) => {
      if (Object.hasOwn(changed, name)) return Reflect.get(changed, name);
      const value: unknown = Reflect.get(of, name);
      return typeof value === "function" ? value.bind(of) : value;
    },
  });
}

/** A worker's store: P04, P05, P10, P13, P14, C01, C04, C05, I01 to I06, T01 to T06, H01 to H07, M01, M02. */
export function gatedStore(store: Store, gate: Gate): Store {
  return over(store, {
    acquire: async (command) => {
      const answer = await store.acquire(command);
      if (answer.answer === "OK") await gate.pass("P04");
      return answer;
    },
    commit: async (command) => {
      await beforeCommit(command.commit, gate);
      const answer = await store.commit(command);
      await afterCommit(command.commit, answer, gate);
      return answer;
    },
    claimIntent: async (command) => {
      await gate.pass("I01");
      const answer = await store.claimIntent(command);
      await gate.pass("I02");
      return answer;
    },
    publishIntent: async (command) => {
      await gate.pass("I03");
      const answer = await store.publishIntent(command);
      await gate.pass("I04");
      return answer;
    },
    askTurn: async (command) => {
      await gate.pass("T01");
      const answer = await store.askTurn(command);
      await gate.pass("T02");
      return answer;
    },
    giveTurn: async (command) => {
      await gate.pass("T03");
      const answer = await store.giveTurn(command);
      await gate.pass("T04");
      return answer;
    },
    release: async (...args) => {
      await gate.pass("P14");
      return await store.release(...args);
    },
    // A worker starts no run but a child.
    create: async (command) => {
      await gate.pass("H01");
      const answer = await store.create(command);
      await gate.pass("H02");
      return answer;
    },
    read: async (run) => {
      if (run.id.includes(".")) await gate.pass("H03");
      return await store.read(run);
    },
    send: async (command) => {
      const points = pointsOfWord(command.slot);
      if (points !== null) await gate.pass(points[0]);
      const answer = await store.send(command);
      if (points !== null) await gate.pass(points[1]);
      return answer;
    },
  });
}

/** Before and after what a parent says to its child, or a child to its parent. */
function pointsOfWord(slot: string): readonly [Point, Point] | null {
  if (slot === "cancel" || slot.startsWith("cancel:") || slot === "undo:parent") return ["H04", "H05"];
  return slot.startsWith("child:") ? ["H06", "H07"] : null;
}

async function beforeCommit({ log, release, record, rows }: Commit, gate: Gate): Promise<void> {
  await gate.pass("P05");
  if (says(log, "published")) await gate.pass("I05");
  if (says(log, "migrated")) await gate.pass("M01");
  if (record.limit?.state === "freed") await gate.pass("T05");
  if (log.to === "unwinding" && log.from !== "unwinding") await gate.pass("C01");
  if (release && !hasEnded(record.status)) await gate.pass("P14");
  for (const step of undoneBy(log, rows, "halted")) await gate.pass("C05", step);
}

async function afterCommit({ log, record, rows }: Commit, { answer }: Timed<CommitAnswer>, gate: Gate): Promise<void> {
  if (answer !== "OK" && answer !== "DUP") return;
  for (const taken of log.taken) {
    if (taken.what === "outcome") await gate.pass("P10", stepOf(rows, taken.seq));
    if (taken.what === "sent") await gate.pass("granted", stepOf(rows, taken.seq));
  }
  for (const step of undoneBy(log, rows, "done")) await gate.pass("C04", step);
  if (says(log, "published")) await gate.pass("I06");
  if (says(log, "migrated")) await gate.pass("M02");
  if (record.limit?.state === "freed") await gate.pass("T06");
  if (hasEnded(record.status)) await gate.pass("P13");
}

function says(log: LogEntry, what: LogEntry["taken"][number]["what"]): boolean {
  return log.taken.some((taken) => taken.what === what);
}

function undoneBy(log: LogEntry, rows: readonly Row[], state: "done" | "halted"): readonly string[] {
  return log.taken.flatMap((taken) =>
    taken.what === "undo" && taken.state === state ? [stepOf(rows, taken.seq)] : [],
  );
}

/** What a commit says about a row, the row goes with it. */
function stepOf(rows: readonly Row[], seq: number): string {
  return rows.find((row) => row.seq === seq)?.step ?? `row ${seq}`;
}

/** A worker's queue: P11. */
export function gatedWakeUps(wakeUps: WakeUps, gate: Gate): WakeUps {
  return over(wakeUps, {
    wake: async (wakes) => {
      await gate.pass("P11");
      await wakeUps.wake(wakes);
    },
  });
}

/** A worker's deliveries: P03, P12. */
export function gatedConsumers(consumers: ConsumerFactory, gate: Gate): ConsumerFactory {
  return (wanted) =>
    consumers({
      ...wanted,
      onWake: async (run) => {
        await gate.pass("P03");
        await wanted.onWake(run);
        await gate.pass("P12");
      },
    });
}

/** What a worker's steps call: P06 and P09 of actions, C02 and C03 of compensations. */
export function gatedServices(services: FaultServices, gate: Gate): FaultServices {
  return {
    make: async (step, args, options) => {
      await gate.pass("P06", step);
      return await answered(services.make(step, args, options), gate, "P09", step);
    },
    makeBatch: async (step, args, options) => {
      await gate.pass("P06", step);
      return await answered(services.makeBatch(step, args, options), gate, "P09", step);
    },
    findBatch: (...args) => services.findBatch(...args),
    undo: async (step, args, options) => {
      await gate.pass("C02", step);
      return await answered(services.undo(step, args, options), gate, "C03", step);
    },
    find: (...args) => services.find(...args),
  };
}

/** The answer was read, be it that the call failed, and is not recorded. */
async function answered<Answer>(
  answer: Promise<Answer>,
  gate: Gate,
  point: "P09" | "C03",
  step: string,
): Promise<Answer> {
  await answer.catch(() => undefined);
  await gate.pass(point, step);
  return await answer;
}

/** A client's ports: P00, P01, P02, and P11 for the wake-up of a wait. */
export function gatedClientPorts(
  store: Store,
  wakeUps: WakeUps,
  gate: Gate,
): { readonly store: Store; readonly wakeUps: WakeUps } {
  return {
    store: over(store, {
      create: async (command) => {
        await gate.pass("P00");
        return await store.create(command);
      },
    }),
    wakeUps: over(wakeUps, {
      wake: async (wakes) => {
        await gate.pass("P01");
        await gate.pass("P11");
        await wakeUps.wake(wakes);
        await gate.pass("P02");
      },
    }),
  };
}
