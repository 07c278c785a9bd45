/**
 * Which structures a worker serves, and what makes it refuse to start: a changed structure under the same version while
 * runs of the old one are open, and `once` effects on a store that may forget what it acknowledged.
 */
import {
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

/** Differences shown of a changed structure. */
const maxDifferences = 10;

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

/** Registers every structure. Throws STRUCTURE_CHANGED, naming what differs, while runs of another one are open. */
export async function registerAll(store: Pick<Store, "register">, sagas: readonly Saga[]): Promise<void> {
  for (const saga of sagas) {
    const mine = registrationOf(saga);
    const answer = await store.register(mine);
    if (answer.answer === "CHANGED") throw structureChanged(mine, answer.registered, answer.openRuns);
  }
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
  const differences = differencesOf(JSON.parse(registered.structure) as Json, JSON.parse(mine.structure) as Json);
  return new RepriseError(
    "STRUCTURE_CHANGED",
    `${mine.saga}@${mine.version} has another structure than the one ${openRuns} open runs are pinned to: ` +
      `${differences.join("; ")}. Raise its version, or wait until those runs have ended`,
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

/** Where two structures differ, as `path: before -> after`. */
export function differencesOf(before: Json, after: Json): readonly string[] {
  const found: string[] = [];
  compare(before, after, "", found);
  const more = found.length - maxDifferences;
  return more > 0 ? [...found.slice(0, maxDifferences), `and ${more} more`] : found;
}

function compare(before: Json | undefined, after: Json | undefined, path: string, found: string[]): void {
  if (isTree(before) && isTree(after)) {
    const [a, b] = [partsOf(before), partsOf(after)];
    for (const key of new Set([...a.keys(), ...b.keys()])) compare(a.get(key), b.get(key), `${path}${key}`, found);
    return;
  }
  if (before !== after) found.push(`${path.replace(/^\./, "")}: ${shown(before)} -> ${shown(after)}`);
}

function isTree(value: Json | undefined): value is readonly Json[] | { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null;
}

/** Lists of named things (states, invokes) are compared by id. */
function partsOf(value: readonly Json[] | { readonly [key: string]: Json }): ReadonlyMap<string, Json> {
  if (!Array.isArray(value)) return new Map(Object.entries(value).map(([key, part]) => [`.${key}`, part]));
  return new Map(value.map((part, at) => [`[${idOf(part) ?? at}]`, part]));
}

function idOf(value: Json): string | null {
  if (!isTree(value) || Array.isArray(value)) return null;
  const { id } = value as { readonly id?: Json };
  return typeof id === "string" ? id : null;
}

function shown(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}
