/** Which versions of sagas there are for the store: those with open runs, and those that a living worker serves. Nothing is written. */
import { type RegisteredSaga, structureName } from "../core/index.ts";
import type { Connection } from "./connection.ts";

/** A version of a saga, in one structure of it. */
export interface ServedVersion {
  readonly saga: string;
  readonly version: number;
  /** Of the structure. */
  readonly hash: string;
  /** Are runs of it open? */
  readonly open: boolean;
  /** Living workers that serve it. */
  readonly workers: number;
  /** `null`: another structure has taken its place, or it was forgotten. */
  readonly registered: RegisteredSaga | null;
}

/** By name and version. Throws STORE_UNAVAILABLE. */
export async function servedVersions(connection: Connection): Promise<readonly ServedVersion[]> {
  const store = await connection.store();
  const [serving, lost] = await Promise.all([store.serving(), store.lostOwners()]);
  const dead = new Set(lost.map(({ owner }) => owner));
  const served = serving.owners.flatMap(({ owner, serves }) => (dead.has(owner) ? [] : serves));
  const names = [...new Set([...serving.open, ...served])];
  const versions = await Promise.all(
    names.map(async (structure): Promise<ServedVersion> => {
      const { saga, version, hash } = pinnedOf(structure);
      const registered = await store.registered(saga, version);
      const isSame = registered !== null && structureName(registered) === structure;
      const workers = served.filter((each) => each === structure).length;
      const open = serving.open.includes(structure);
      return { saga, version, hash, open, workers, registered: isSame ? registered : null };
    }),
  );
  return versions.toSorted((a, b) => (a.saga === b.saga ? a.version - b.version : a.saga < b.saga ? -1 : 1));
}

/** The parts of a structure's name. */
export function pinnedOf(structure: string): Pick<ServedVersion, "saga" | "version" | "hash"> {
  const [, saga = "", version, hash = ""] = /^([^@]*)@(\d+)#(.*)$/.exec(structure) ?? [];
  return { saga, version: Number(version), hash };
}
