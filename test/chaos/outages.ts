/** What goes wrong with the store and keeps its memory: it is killed, frozen, squeezed, loses its clients, or is hard to reach. */
import type { Random } from "../simulation/random.ts";
import type { Books } from "./books.ts";
import type { Place } from "./crew.ts";
import { pass, type StorePair } from "./store-pair.ts";
import { settings } from "./words.ts";

export interface OutageParts {
  readonly books: Books;
  readonly store: StorePair;
  readonly random: Random;
}

const squeezedMs = 1_000;
/** What is left to be written while memory is squeezed. */
const squeezedBytes = 50_000;

export async function redisKill({ books, store, random }: OutageParts): Promise<void> {
  const downMs = random.between(50, 1_500);
  books.mishap("redis killed", { note: `${downMs} ms` });
  await store.restart(downMs);
}

/** For longer than a lease. */
export async function freeze({ books, store, random }: OutageParts): Promise<void> {
  const ms = Math.round(settings.leaseMs * (1.2 + random.next()));
  books.mishap("redis frozen", { note: `${ms} ms` });
  await store.freeze(ms);
}

export async function clientKill({ books, store }: OutageParts): Promise<void> {
  books.mishap("clients killed");
  await store.primary.ask("CLIENT", "KILL", "TYPE", "normal");
}

export async function squeeze({ books, store }: OutageParts): Promise<void> {
  const { primary } = store;
  const [, before = "0"] = (await primary.ask("CONFIG", "GET", "maxmemory")) as readonly string[];
  const used = Number(/^used_memory:(\d+)/m.exec(String(await primary.ask("INFO", "memory")))?.[1]);
  books.mishap("memory squeezed", { note: `${used} bytes used` });
  await primary.ask("CONFIG", "SET", "maxmemory", used + squeezedBytes);
  await pass(squeezedMs);
  await primary.ask("CONFIG", "SET", "maxmemory", before);
}

/** One way to the store is bad; what is given heals it in the end. */
export function weather(
  what: "cut" | "half-open" | "delay",
  { proxy }: Pick<Place, "proxy">,
  { books, random }: OutageParts,
): (() => Promise<void>) | null {
  books.mishap(what, { note: proxy.url });
  if (what === "cut") {
    proxy.cut();
    return null;
  }
  if (what === "half-open") proxy.halfOpen();
  else proxy.delay(random.between(20, 200));
  const ms = random.between(500, 3_000);
  return async () => {
    await pass(ms);
    proxy.heal();
  };
}
