/**
 * Which structures a worker serves, and what makes it refuse to start: a changed structure under the same version while
 * runs of the old one are open, and `once` effects on a store that may forget what it acknowledged.
 */
import {
  differencesOf,
  type Facts,
  machineOf,
  machinesOf,
  type RegisteredSaga,
  type Store,
  structureHashOf,
  structureName,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { type Json, type Saga, structureOf } from "../saga/index.ts";
import type { ServedSagas } from "./context.ts";

/** A saga's structure as it is registered. */
export function registrationOf(saga: Saga): RegisteredSaga {
  const structure = JSON.stringify(structureOf(saga));
  return { saga: saga.name, version: saga.version, hash: structureHashOf(saga), structure };
}

/** The machines of a worker's sagas, by what runs are pinned to. They are made at once: a fault in one shows at the start. */
export function servedSagas(sagas: readonly Saga[]): ServedSagas {
  for (const { spec } of sagas) machineOf(spec);
  return { machineFor: machinesOf(sagas) };
}

/** Names of the structures whose runs come to a worker of these pools; of other sagas it only performs routed steps. */
export function drivenStructures(sagas: readonly Saga[], pools: readonly string[]): readonly string[] {
  return sagas.filter(({ spec }) => pools.includes(spec.pool)).map((saga) => structureName(registrationOf(saga)));
}

/**
 * Registers every structure, and tells of each that takes the place of another one. Throws STRUCTURE_CHANGED, naming what
 * differs, while runs of another one are open.
 */
export async function registerAll(store: Pick<Store, "register">, sagas: readonly Saga[], facts: Facts): Promise<void> {
  for (const saga of sagas) {
    const mine = registrationOf(saga);
    const answer = await store.register(mine);
    if (answer.answer === "CHANGED") throw structureChanged(mine, answer.registered, answer.openRuns);
    if (answer.replaced === undefined) continue;
    const { name, version } = saga;
    const differences = structureDifferences(answer.replaced, mine);
    facts.emit({
      fact: "structure_replaced",
      saga: name,
      version,
      from: answer.replaced.hash,
      to: mine.hash,
      differences,
    });
  }
}

function structureDifferences(before: RegisteredSaga, after: RegisteredSaga): readonly string[] {
  return differencesOf(JSON.parse(before.structure) as Json, JSON.parse(after.structure) as Json);
}

/** Throws STORE_FORGETFUL where a `once` effect would rest on a store that may forget it. */
export async function checkDurability(
  store: Pick<Store, "durability">,
  sagas: readonly Saga[],
  allowForgetfulStore: boolean,
): Promise<"always" | "barrier" | "forgetful"> {
  const durability = await store.durability();
  const risky = sagas.flatMap(({ name, spec }) =>
    Object.values(spec.steps)
      .filter((step) => step.effect === "once" || step.compensation?.effect === "once")
      .map((step) => `${name}.${step.name}`),
  );
  if (durability !== "forgetful" || allowForgetfulStore || risky.length === 0) return durability;
  throw new RepriseError(
    "STORE_FORGETFUL",
    `${risky.join(", ")} must never be sent twice, and this Redis may forget about a second of what it acknowledged. ` +
      "Set appendfsync always (or give it replicas to WAIT for), or start with allowForgetfulStore",
    { details: { steps: risky } },
  );
}

function structureChanged(mine: RegisteredSaga, registered: RegisteredSaga, openRuns: number): RepriseError {
  const differences = structureDifferences(registered, mine);
  return new RepriseError(
    "STRUCTURE_CHANGED",
    `${mine.saga}@${mine.version} has another structure than the one ${openRuns} open runs are pinned to:\n` +
      `${differences.map((each) => `  ${each}`).join("\n")}\n` +
      `Raise its version and keep ${mine.saga}@${mine.version} as it was beside it, or wait until those runs have ended`,
    {
      details: {
        saga: mine.saga,
        version: mine.version,
        openRuns,
        registered: registered.hash,
        hash: mine.hash,
        differences,
      },
    },
  );
}
