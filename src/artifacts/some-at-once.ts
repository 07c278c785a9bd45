/** Does the work for every item, for at most `atOnce` of them at a time; answers in order. Rejects with the first failure. */
export async function someAtOnce<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = new Array<Result>(items.length);
  const left = items.entries();
  const next = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, next));
  return results;
}
