/** What is owed to hooks, put together from all shards. */
import type { OwedToHook, ShownOwed } from "../core/index.ts";

export function sumOwed(parts: readonly OwedToHook[]): readonly OwedToHook[] {
  const hooks = [...new Set(parts.map(({ hook }) => hook))].sort();
  return hooks.map((hook) => {
    const own = parts.filter((part) => part.hook === hook);
    const times = own.flatMap(({ oldestAt }) => oldestAt ?? []);
    return {
      hook,
      owed: own.reduce((sum, { owed }) => sum + owed, 0),
      oldestAt: times.length === 0 ? null : Math.min(...times),
      lost: own.reduce((sum, { lost }) => sum + lost, 0),
      failing: own.reduce((sum, { failing }) => sum + failing, 0),
    };
  });
}

export function longestOwedFirst(owed: readonly ShownOwed[]): readonly ShownOwed[] {
  return [...owed].sort((a, b) => a.since - b.since || (a.run < b.run ? -1 : 1));
}
