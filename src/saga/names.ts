/** Records that are looked up by names which come from elsewhere. */

/** A copy without a prototype, so that no name is found that nobody declared (`toString`). */
export function nullPrototype<Value>(record: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> {
  return Object.assign(Object.create(null), record);
}
