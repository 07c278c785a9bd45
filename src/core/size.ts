/**
 * How large a run is: the bytes of its input and of the inputs and outputs of its rows, as JSON. Owns what counts, and the
 * words when it is too much. Progress, events and machine context do not count.
 *
 * Invariants: B1 `record.bytes` is their sum, kept by whatever changes one of them. B2 an outcome is recorded whatever its
 * size: only what would follow from it is held up.
 */
import type { Json } from "../saga/index.ts";
import type { Draft } from "./draft.ts";

/** Bytes of a value as JSON; `null`, which stands for no value, has none. */
export function sizeOf(value: Json): number {
  return value === null ? 0 : Buffer.byteLength(JSON.stringify(value));
}

/** One value of a row takes the place of another. */
export function countChange(draft: Draft, from: Json, to: Json): void {
  if (from !== to) draft.record.bytes += sizeOf(to) - sizeOf(from);
}

/** Why a run may not come to hold so much; `null`: it may. */
export function overBudget({ input: { settings } }: Draft, bytes: number): string | null {
  const { maxRunBytes } = settings;
  if (bytes <= maxRunBytes) return null;
  return `with it the run holds ${bytes} bytes of inputs and outputs; the most is ${maxRunBytes} (maxRunBytes)`;
}
