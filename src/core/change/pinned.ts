/** Which machine a run is pinned to: that of its saga's name and version, in the very structure it was started with. */
import type { Saga } from "../../saga/index.ts";
import { structureHashOf } from "../digest.ts";
import { machineOf } from "../machine/machine.ts";
import type { Machine } from "../machine/port.ts";
import type { RunRecord } from "../run/index.ts";

/** Looks machines up among these sagas; `null`: the saga is not among them, or has another structure by now. */
export function machinesOf(
  sagas: readonly Saga[],
): (run: Pick<RunRecord, "saga" | "version" | "hash">) => Machine | null {
  const known = new Map(sagas.map((saga) => [`${saga.name}@${saga.version}`, saga]));
  return ({ saga, version, hash }) => {
    const found = known.get(`${saga}@${version}`);
    return found !== undefined && structureHashOf(found) === hash ? machineOf(found.spec) : null;
  };
}
