/**
 * Which open runs nobody serves: those of a structure that no living worker drives. Invariant: U1 a run whose lease is held
 * by an owner that serves it is served, whatever its pulse says.
 */
import type { Serving } from "../ports.ts";

/** The structures with open runs that none of the owners serves but the lost ones. */
export function unservedBy({ open, owners }: Serving, lost: ReadonlySet<string>): readonly string[] {
  const served = new Set(owners.filter(({ owner }) => !lost.has(owner)).flatMap(({ serves }) => serves));
  return open.filter((structure) => !served.has(structure));
}

/** Is the run in the hands of an owner that serves its structure (U1)? */
export function isDriven({ owners }: Serving, structure: string, holder: string | null): boolean {
  return owners.some(({ owner, serves }) => owner === holder && serves.includes(structure));
}
