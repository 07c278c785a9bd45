/**
 * Owns: what is printed and where. Data goes to stdout, in the form that was asked for; everything else to stderr. The shapes of
 * the documents are part of the public interface (docs/cli.md; test/unit/cli-documents.test.ts).
 *
 * Invariants: O1 with `--json` stdout holds exactly one document, with `--jsonl` one a line. O2 texts that look like credentials
 * are masked unless `--reveal`. O3 what is no data never reaches stdout.
 */
import { redact, redactValue } from "../../redact.ts";
import { type Colors, colorsIn } from "../colors.ts";
import type { Format } from "./globals.ts";
import { draw, type Line } from "./ink.ts";
import type { Output } from "./io.ts";
import { type Progress, progressOn, silent } from "./progress.ts";
import { type Column, tableLines } from "./table.ts";

export interface OutOptions {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly format: Format;
  readonly quiet: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly verbose: boolean;
  readonly reveal: boolean;
  /** For stdout, and for stderr. */
  readonly colors: Colors;
  readonly noteColors: Colors;
}

export interface Screen {
  show(lines: readonly Line[]): void;
  /** What was shown last stays, and the cursor is given back. */
  close(): void;
}

const usualColumns = 100;
const uncoloured = colorsIn({}, {}, false);

/** Things of one kind, or a page of them. */
export interface Listing<Item> {
  readonly items: readonly Item[];
  /** Where the next page begins; `null`: this was the last. Left out: it has no pages. */
  readonly nextCursor?: string | null;
  /** What `-o id` prints of an item. */
  readonly id: (item: Item) => string;
  readonly columns: readonly Column<Item>[];
  /** What is said where there is none: it teaches the next command. Empty: it was said already. */
  readonly empty: string;
}

export class Out {
  readonly format: Format;
  readonly #options: OutOptions;

  constructor(options: OutOptions) {
    this.format = options.format;
    this.#options = options;
  }

  /** Columns that text may take: of the terminal, else as COLUMNS says. A terminal without a size says 0. */
  get width(): number {
    const { stdout, env } = this.#options;
    return stdout.columns || Number(env["COLUMNS"]) || usualColumns;
  }

  /** For tables that become lines of a document: those are coloured when they are printed. */
  get plain(): Colors {
    return uncoloured;
  }

  /** Is somebody looking, so that something may move? */
  get isLive(): boolean {
    return this.#options.stdout.isTTY === true && (this.format === "table" || this.format === "wide");
  }

  /** Lines that are drawn over the ones before, on the terminal that stdout is. */
  async screen(): Promise<Screen> {
    const { createLogUpdate } = await import("log-update");
    const { stdout, colors } = this.#options;
    // Whoever asks has seen that it is a terminal (`isLive`).
    const update = createLogUpdate(stdout as NodeJS.WriteStream);
    return {
      show: (lines) => update(lines.map((line) => draw(line, colors)).join("\n")),
      close: () => update.done(),
    };
  }

  /** How far long work has come, where somebody sits there and watches; `total` `null`: nobody knows. */
  progress(what: string, total: number | null): Progress {
    const { stderr, quiet, env } = this.#options;
    const isWatched = stderr.isTTY === true && env["TERM"] !== "dumb" && !quiet;
    if (!isWatched || (this.format !== "table" && this.format !== "wide")) return silent;
    return progressOn(stderr, what, total);
  }

  /** One thing: `{ apiVersion, kind, data }`, or the lines that a person reads. */
  document(kind: string, data: object, shown: { readonly id?: string; readonly lines: () => readonly Line[] }): void {
    if (this.format === "json" || this.format === "jsonl") return this.#json({ apiVersion: "v1", kind, data });
    if (this.format === "id" && shown.id !== undefined) return this.lines([shown.id]);
    this.lines(shown.lines());
  }

  /** Many things: `{ apiVersion, kind: "<Kind>List", data, nextCursor }`; with `--jsonl` each by itself, then the cursor. */
  list<Item extends object>(kind: string, listing: Listing<Item>): void {
    const { items, nextCursor = null } = listing;
    switch (this.format) {
      case "json":
        return this.#json({ apiVersion: "v1", kind: `${kind}List`, data: items, nextCursor });
      case "jsonl":
        for (const item of items) this.#json({ apiVersion: "v1", kind, data: item });
        if (nextCursor !== null) this.#json({ apiVersion: "v1", kind: "Cursor", nextCursor });
        return;
      case "id":
        return this.lines(items.map(listing.id));
      case "table":
      case "wide":
        return this.#table(listing, nextCursor);
    }
  }

  #table<Item>({ items, columns, empty }: Listing<Item>, nextCursor: string | null): void {
    const { colors, stdout } = this.#options;
    const shown = columns.filter(({ wide }) => wide === undefined || this.format === "wide");
    const lines = tableLines(items, shown, colors);
    if (lines.length > 0) stdout.write(`${lines.join("\n")}\n`);
    else if (empty !== "") this.note(empty);
    if (nextCursor !== null) this.note(`More: --cursor ${nextCursor}`);
  }

  /** Lines of data. */
  lines(lines: readonly Line[]): void {
    const { stdout, colors } = this.#options;
    for (const line of lines) stdout.write(`${draw(line, colors)}\n`);
  }

  /** A remark for whoever sits there; not with `-q`. */
  note(...lines: readonly Line[]): void {
    if (!this.#options.quiet) this.warn(...lines);
  }

  /** A remark that is never left out. */
  warn(...lines: readonly Line[]): void {
    const { stderr, noteColors } = this.#options;
    for (const line of lines) stderr.write(`${draw(line, noteColors)}\n`);
  }

  /** A remark for whoever wants to know everything. */
  detail(...lines: readonly Line[]): void {
    if (this.#options.verbose) this.warn(...lines);
  }

  /** A table among the remarks: what is about to be done. */
  noteTable<Item>(items: readonly Item[], columns: readonly Column<Item>[]): void {
    const lines = tableLines(items, columns, this.#options.noteColors);
    if (lines.length > 0) this.#options.stderr.write(`${lines.join("\n")}\n`);
  }

  /** A value as one line of JSON for text, masked. */
  value(value: unknown): string {
    return JSON.stringify(value, this.#replacer()) ?? "null";
  }

  /** A text from outside, masked. */
  text(text: string): string {
    return this.#options.reveal ? text : redact(text);
  }

  #json(document: object): void {
    this.#options.stdout.write(`${escaped(JSON.stringify(document, this.#replacer()))}\n`);
  }

  #replacer(): ((name: string, value: unknown) => unknown) | undefined {
    return this.#options.reveal ? undefined : redactValue;
  }
}

/** JSON leaves some control characters as they are; a terminal would obey them. */
export function escaped(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
