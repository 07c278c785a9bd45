/**
 * Owns: what the fake world saw, in the order in which it saw it, and the counts that follow from it.
 * Does not own: what a request means (services.ts) or what goes wrong with it (faults.ts).
 *
 * Invariants
 * 1. A line is in the file before anybody is answered because of it.
 * 2. Lines are only ever added; `n` counts them from 1 without a gap.
 * 3. The counts are those of the lines.
 */
import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { type JsonObject, WorldRefusal } from "./input.ts";

export type Direction = "do" | "undo";

/** What is known of a request: which operation, with what, and who says that it asks. */
export interface WorldArrival {
  readonly service: string;
  readonly action: string;
  readonly operationId: string;
  readonly args: JsonObject;
  /** First 16 bytes, in hex, of the SHA-256 of the canonical JSON of `args`. */
  readonly argsHash: string;
  readonly direction: Direction;
  readonly run?: string;
  readonly step?: string;
  /** The process that asks, as it says itself. */
  readonly pid?: number;
}

/** One line of the witness. */
export interface WorldEntry extends WorldArrival {
  readonly n: number;
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string;
  /** A request came in · something changed outside · somebody asked whether it had. */
  readonly kind: "arrival" | "effect" | "query";
  /** The world's own id of the effect. */
  readonly ref?: string;
  /** On an arrival: this operation was already known, so that nothing new comes of it. */
  readonly deduplicated?: boolean;
  /** The scripted fault that met it. */
  readonly fault?: string;
  /** On a query: what was answered. */
  readonly found?: boolean;
  /** On an arrival: what the `witness` of the world saw elsewhere at this moment. */
  readonly saw?: unknown;
}

export interface Counts {
  readonly arrivals: number;
  readonly effects: number;
}

export interface OperationCounts extends Counts {
  readonly service: string;
  readonly action: string;
  readonly operationId: string;
}

export interface JournalOptions {
  readonly file: string | undefined;
  readonly maxEntries: number;
  readonly now: () => number;
}

export class Journal {
  readonly #entries: WorldEntry[] = [];
  readonly #counts = new Map<string, { arrivals: number; effects: number; readonly first: WorldEntry }>();
  readonly #maxEntries: number;
  readonly #now: () => number;
  #file: number | undefined;

  constructor(options: JournalOptions) {
    this.#maxEntries = options.maxEntries;
    this.#now = options.now;
    this.#file = options.file === undefined ? undefined : openEmpty(options.file);
  }

  append(seen: Omit<WorldEntry, "n" | "at">): WorldEntry {
    const entry: WorldEntry = { n: this.#entries.length + 1, at: new Date(this.#now()).toISOString(), ...seen };
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(entry)}\n`);
    this.#entries.push(entry);
    this.#count(entry);
    return entry;
  }

  /** Refuses what comes in once the world is full; what was let in may always be written down to its end. */
  assertRoom(): void {
    if (this.#entries.length >= this.#maxEntries) {
      throw new WorldRefusal(507, "world_full", `the world keeps at most ${this.#maxEntries} lines`);
    }
  }

  entries(): readonly WorldEntry[] {
    return this.#entries.slice();
  }

  counts(): readonly OperationCounts[] {
    return [...this.#counts.values()].map(({ first, arrivals, effects }) => {
      return { service: first.service, action: first.action, operationId: first.operationId, arrivals, effects };
    });
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #count(entry: WorldEntry): void {
    if (entry.kind === "query") return;
    const key = operationKey(entry);
    const counts = this.#counts.get(key) ?? { arrivals: 0, effects: 0, first: entry };
    if (entry.kind === "arrival") counts.arrivals += 1;
    else counts.effects += 1;
    this.#counts.set(key, counts);
  }
}

/** One text for one operation of one action of one service. */
export function operationKey(of: { readonly service: string; readonly action: string; readonly operationId: string }) {
  return `${of.service} ${of.action} ${of.operationId}`; // names hold no blank: no two operations share a key
}

/** A witness begins with nothing: lines of another world would be taken for its own. */
function openEmpty(path: string): number {
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, "a");
  if (fstatSync(file).size === 0) return file;
  closeSync(file);
  throw new WorldRefusal(409, "file_not_empty", `${path} already holds the lines of a world: name a new file`);
}
