/**
 * Which structures a worker serves, and what makes it refuse to start: a changed structure under the same version while
 * runs of the old one are open, and `once` effects on a store that may forget what it acknowledged.
 */
import {
  type Facts,
  machineOf,
  machinesOf,
  type RegisteredSaga,
  registrationOf,
  type Store,
  structureChanges,
  structureName,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Saga } from "../saga/index.ts";
import type { ServedSagas } from "./context.ts";

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
 * Registers every structure, and tells of each that takes the place of another one, and of changed schemas. Throws
 * STRUCTURE_CHANGED, naming what differs, while runs of another structure are open.
 */
export async function registerAll(store: Pick<Store, "register">, sagas: readonly Saga[], facts: Facts): Promise<void> {
  for (const saga of sagas) {
    const mine = registrationOf(saga);
    const answer = await store.register(mine);
    if (answer.answer === "CHANGED") throw structureChanged(mine, answer.registered, answer.openRuns);
    if (answer.replaced !== undefined) tellReplaced(mine, answer.replaced, facts);
  }
}

function tellReplaced(mine: RegisteredSaga, replaced: RegisteredSaga, facts: Facts): void {
  const differences = structureChanges(replaced, mine);
  if (differences.length === 0) return;
  const fact = mine.hash === replaced.hash ? "schemas_changed" : "structure_replaced";
  facts.emit({ fact, saga: mine.saga, version: mine.version, from: replaced.hash, to: mine.hash, differences });
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
  const { saga, version, hash } = mine;
  const name = `${saga}@${version}`;
  const differences = structureChanges(registered, mine);
  const runs = openRuns === 1 ? "one open run is" : `${openRuns} open runs are`;
  return new RepriseError(
    "STRUCTURE_CHANGED",
    `${name} is not what ${runs} pinned to; since then:\n${differences.map((each) => `  ${each}`).join("\n")}\n` +
      `Make it version ${version + 1}, and keep ${name} as it was beside it until those runs have ended; ` +
      "or wait until they have. `reprise check` says what becomes of each",
    { details: { saga, version, openRuns, registered: registered.hash, hash, differences } },
  );
}
