/** What a round writes down as it happens, one JSON object a line: evidence that outlives whoever is killed. */
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorldEntry } from "../../src/testing/index.ts";
import type { ClientEvent } from "../support/checker.ts";
import type { Hit } from "../support/fault-plan.ts";
import type { Acked, TakenOver } from "./words.ts";

/** What a client did, and when it was answered. */
export type Said = ClientEvent & { readonly at: number };

/** What went wrong on purpose. */
export interface Mishap {
  readonly at: number;
  readonly what: string;
  readonly pid?: number;
  readonly owner?: string;
  /** What was acknowledged in this time may be forgotten. */
  readonly lost?: { readonly from: number; readonly until: number };
  readonly note?: string;
}

export class Books {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  said(event: ClientEvent): void {
    this.#append("history.jsonl", { ...event, at: Date.now() });
  }

  mishap(what: string, more: Omit<Mishap, "at" | "what"> = {}): void {
    this.#append("mishaps.jsonl", { at: Date.now(), what, ...more });
  }

  /** What a process has said. */
  keep(name: string, text: string): void {
    writeFileSync(this.file(name), text);
  }

  /** A run as the store has it in the end. */
  found(run: object): void {
    this.#append("store.jsonl", run);
  }

  history(): readonly Said[] {
    return this.#read("history.jsonl");
  }

  mishaps(): readonly Mishap[] {
    return this.#read("mishaps.jsonl");
  }

  world(): readonly WorldEntry[] {
    return this.#read("world.jsonl");
  }

  hits(): readonly Hit[] {
    return this.#all("hits-");
  }

  /** By those who have written something since then. */
  acked(since = 0): readonly Acked[] {
    return this.#all("acked-", since);
  }

  taken(): readonly TakenOver[] {
    return this.#all("taken-");
  }

  hitsOf(file: string): readonly Hit[] {
    return this.#read(file);
  }

  #append(name: string, line: object): void {
    appendFileSync(this.file(name), `${JSON.stringify(line)}\n`);
  }

  #all<Line>(prefix: string, since = 0): readonly Line[] {
    const isNew = (name: string) => since === 0 || statSync(this.file(name)).mtimeMs >= since;
    const names = readdirSync(this.directory).filter((name) => name.startsWith(prefix) && isNew(name));
    return names.flatMap((name) => this.#read<Line>(name));
  }

  /** A line that its writer was killed in the middle of is no line. */
  #read<Line>(name: string): readonly Line[] {
    if (!existsSync(this.file(name))) return [];
    const lines = readFileSync(this.file(name), "utf8").split("\n");
    return lines.slice(0, -1).map((line) => JSON.parse(line) as Line); // written above, or by a child process of ours
  }
}
