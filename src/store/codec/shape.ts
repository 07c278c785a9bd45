/**
 * How a value gets its stored form: short keys, and nothing that follows from a default or from another field. A table
 * has a line for every key of its type, so a field added to a type does not compile until its stored form is decided.
 */
import { RepriseError } from "../../errors.ts";

/** One field's stored form. `Whole` is the value it is a field of; its earlier fields are there when it is decoded. */
export interface Field<Whole, Value> {
  readonly short: string;
  /** Left out when the field has this value. Without it the field is always stored, and missing means corrupt. */
  readonly usual?: (whole: Whole) => Value;
  readonly pack?: (value: Value, whole: Whole) => unknown;
  readonly unpack?: (stored: never, whole: Whole) => Value;
  /** It may be missing from the value too, and is not made up. */
  readonly optional?: boolean;
}

export type Table<Whole> = { readonly [Key in keyof Required<Whole>]: Field<Whole, Whole[Key]> };

/** Both ways of one type. */
export interface Shape<Whole> {
  pack(whole: Whole): Record<string, unknown>;
  /** Throws a plain Error that says what is missing; `corrupt` tells which run. */
  unpack(stored: unknown): Whole;
}

type AnyField = Field<Record<string, unknown>, unknown> & { readonly key: string };

export function shapeOf<Whole extends object>(table: Table<Whole>): Shape<Whole> {
  // A table says for each key what its own field needs; walking it, the compiler only sees the union of them all.
  const fields = Object.entries(table as Record<string, Omit<AnyField, "key">>).map(([key, field]) => ({
    key,
    ...field,
  }));
  return {
    pack: (whole) => packWith(fields, whole as Record<string, unknown>),
    unpack: (stored) => unpackWith(fields, stored) as Whole,
  };
}

function packWith(fields: readonly AnyField[], whole: Record<string, unknown>): Record<string, unknown> {
  const stored: Record<string, unknown> = {};
  // The hot loop of every commit: destructuring and iterators would cost half as much again.
  for (let at = 0; at < fields.length; at += 1) {
    const field = fields[at] as AnyField;
    const value = whole[field.key];
    if (value === undefined || (field.usual !== undefined && isSame(value, field.usual(whole)))) continue;
    stored[field.short] = field.pack === undefined ? value : field.pack(value, whole);
  }
  return stored;
}

function unpackWith(fields: readonly AnyField[], given: unknown): Record<string, unknown> {
  if (typeof given !== "object" || given === null) throw new Error("it is no object");
  const stored = given as Record<string, unknown>;
  const whole: Record<string, unknown> = {};
  for (const { key, short, usual, unpack, optional } of fields) {
    const value = stored[short];
    if (value !== undefined) whole[key] = unpack === undefined ? value : unpack(value as never, whole);
    else if (usual !== undefined) whole[key] = usual(whole);
    else if (optional !== true) throw new Error(`it has no ${key}`);
  }
  return whole;
}

/** The same primitive, or both empty. */
function isSame(value: unknown, usual: unknown): boolean {
  if (value === usual) return true;
  if (typeof value !== "object" || typeof usual !== "object" || value === null || usual === null) return false;
  if (Array.isArray(value)) return Array.isArray(usual) && value.length === 0;
  for (const _ in value) return false;
  return true;
}

export const nothing = () => null;
export const zero = () => 0;
export const one = () => 1;
export const no = () => false;
const noElements: readonly never[] = Object.freeze([]);
const noEntries: Readonly<Record<string, never>> = Object.freeze({});
export const emptyList = () => noElements;
export const emptyMap = () => noEntries;

/** Words that are stored as one letter each. */
export interface Letters<Word extends string> {
  letterOf(word: Word): string;
  /** Throws a plain Error for a letter that stands for nothing. */
  wordOf(letter: string): Word;
}

export function lettersOf<Word extends string>(table: Readonly<Record<Word, string>>): Letters<Word> {
  const words = new Map(Object.entries<string>(table).map(([word, letter]) => [letter, word as Word]));
  return {
    letterOf: (word) => table[word],
    wordOf: (letter) => {
      const word = words.get(letter);
      if (word === undefined) throw new Error(`"${letter}" stands for none of ${Object.keys(table).join(", ")}`);
      return word;
    },
  };
}

/** Decodes, or throws RECORD_CORRUPT naming the run and what of it cannot be read. */
export function decoded<Value>(what: string, run: string, decode: () => Value): Value {
  try {
    return decode();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RepriseError("RECORD_CORRUPT", `${what} of run ${run} cannot be read: ${why}`, {
      details: { run, what },
      cause,
    });
  }
}
