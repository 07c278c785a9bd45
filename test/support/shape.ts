/** Owns: what a document looks like, for snapshots: names and types, not values. */

/** A document with every value replaced by what it is: its shape. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  const { input: _, output: __, evidence: ___, ...rest } = value as Readonly<Record<string, unknown>>;
  const given = Object.keys(value).filter((key) => !(key in rest));
  return Object.fromEntries([
    ...Object.entries(rest).map(([key, part]) => [key, shapeOf(part)]),
    ...given.map((key) => [key, "json"]),
  ]);
}
