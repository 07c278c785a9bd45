/**
 * What the store has written of each run of a corpus, text by text. Owns reading and writing them once more, by today's codec,
 * and their shapes: which fields stand where.
 */
import type { RunRef } from "../../src/core/index.ts";
import {
  decodeEntry,
  decodeLog,
  decodeRecord,
  decodeRow,
  encodeEntry,
  encodeLogEntry,
  encodeRecord,
  encodeRow,
} from "../../src/store/codec.ts";
import { type Corpus, namespace } from "./golden.ts";

export interface KeptRun {
  readonly run: RunRef;
  /** Fields of the run hash. */
  readonly fields: Readonly<Record<string, string>>;
  readonly texts: Texts;
}

interface Texts {
  /** Without the second line, in which a script has put what the ledger says too. */
  readonly record: string;
  readonly rows: readonly string[];
  readonly log: readonly string[];
  /** By slot; without those that were consumed, of which no body is kept. */
  readonly inbox: Readonly<Record<string, string>>;
}

export function runsIn(corpus: Corpus): readonly KeptRun[] {
  const prefix = `{reprise:${namespace}:0}:`;
  const records = Object.keys(corpus).filter((key) => key.startsWith(`${prefix}rec:`));
  return records.map((key) => {
    const member = key.slice(`${prefix}rec:`.length);
    const [tenant = "", id = ""] = member.split(":");
    // What lies under these keys is of these types.
    const at = <Value>(of: string, usual: Value) => (corpus[`${prefix}${of}:${member}`]?.value as Value) ?? usual;
    const inbox = Object.entries(at<Readonly<Record<string, string>>>("inbox", {}));
    const texts = {
      record: at("rec", "").split("\n")[0] ?? "",
      rows: at<readonly string[]>("ledger", []),
      log: at<readonly string[]>("log", []),
      inbox: Object.fromEntries(inbox.filter(([, text]) => text.split("\n").length > 3)),
    };
    return { run: { tenant, id }, fields: at("run", {}), texts };
  });
}

/** Whose entry it is stands in the first of each fence, which a script knows. */
export function withoutActors(log: readonly string[]): readonly string[] {
  return log.map((text) => {
    const { a: _actor, o: _owner, ...entry } = JSON.parse(text) as Record<string, unknown>;
    return JSON.stringify(entry);
  });
}

/** The texts as they are written once they were read. */
export function writtenAgain({ run, fields, texts }: KeptRun): Texts {
  const revision = Number(fields["v"]);
  const stored = { text: texts.record, revision, status: fields["s"] ?? "", pool: null, priority: null };
  const first = revision - texts.log.length + 1;
  const entries = decodeLog(run, first, texts.log, true) ?? [];
  return {
    record: encodeRecord(decodeRecord(run, stored)).text,
    rows: texts.rows.map((text, at) => encodeRow(decodeRow(run, at + 1, text))),
    log: withoutActors(entries.map((entry) => encodeLogEntry(entry, null))),
    inbox: Object.fromEntries(Object.entries(texts.inbox).map(([slot, text]) => [slot, entryAgain(run, slot, text)])),
  };
}

function entryAgain(run: RunRef, slot: string, text: string): string {
  const entry = decodeEntry(run, slot, text);
  const { commandId, rest } = encodeEntry(entry);
  return `${entry.position} ${entry.at}\n${commandId}\n${rest}`;
}

// ---- shapes

/** Parts that the codec packs by a table of their own. */
const packed: ReadonlySet<string> = new Set(["record.s", "row.c", "row.u", "row.u.c", "row.in", "row.ap"]);

/** Names of all fields, as `row.c.a` or `log.told.failure`; what users put in is not looked into. */
export function shapesOf(corpus: Corpus): ReadonlySet<string> {
  const shapes = new Set<string>();
  for (const { texts, fields } of runsIn(corpus)) {
    addFields(shapes, "run", fields);
    addFields(shapes, "record", JSON.parse(texts.record));
    for (const text of texts.rows) addFields(shapes, "row", JSON.parse(text.slice(text.indexOf("{"))));
    for (const text of texts.log) addEntry(shapes, JSON.parse(text) as { readonly k?: Taken });
    for (const text of Object.values(texts.inbox)) addFields(shapes, "inbox", JSON.parse(text.split("\n")[3] ?? ""));
  }
  return shapes;
}

function addFields(shapes: Set<string>, path: string, fields: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(fields)) {
    const own = `${path}.${name}`;
    shapes.add(own);
    if (packed.has(own)) addFields(shapes, own, value as Readonly<Record<string, unknown>>);
  }
}

/** What was taken, in one string of terse words or one by one. */
type Taken = string | readonly (string | { readonly what: string; readonly [field: string]: unknown })[];

function addEntry(shapes: Set<string>, entry: { readonly k?: Taken }): void {
  addFields(shapes, "log", entry);
  const { k = [] } = entry;
  for (const taken of typeof k === "string" ? k.split(" ") : k) {
    if (typeof taken === "string") shapes.add(`log.${taken.charAt(0)}`);
    else addFields(shapes, `log.${taken.what}`, taken);
  }
}
