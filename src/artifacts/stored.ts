/**
 * The stored form of a value: the value itself, a reference to where it is kept, or an object of which some parts are
 * references. Owns that the forms are told apart whatever the value is: one that looks like another form is wrapped.
 *
 * ```
 * 7, "text", { any: "object" }             itself
 * { $artifact: "<hash>", bytes: 200000 }   a reference
 * { $artifact: null, parts: { ... } }      an object; its values are stored forms
 * { $artifact: null, value: ... }          a value that looks like one of these
 * ```
 */
import { contentHashOf } from "../core/index.ts";
import type { Json } from "../saga/index.ts";

/** Where a value is kept: the hash of its content, and how large it is. */
export interface Reference {
  readonly $artifact: string;
  readonly bytes: number;
}

/** Content that must be kept before what refers to it is written. */
export interface Parcel {
  readonly text: string;
  readonly reference: Reference;
}

export interface Storing {
  /** A value of more bytes is referred to. */
  readonly thresholdBytes: number;
  /** Is this content kept already, for whoever will look for it? */
  readonly isKept: (hash: string) => boolean;
  /** Takes up what is to be kept, by hash. */
  readonly parcels: Map<string, Parcel>;
}

type JsonObject = { readonly [name: string]: Json };

/** A character of a text takes at most so many bytes of JSON (`\u0000`). */
const maxBytesPerChar = 6;

/**
 * The stored form of a value. `isDivided`: it is put together from other values (the context and the output of a machine):
 * what is kept of those is not kept again as a part of it.
 */
export function storedForm(value: Json, storing: Storing, isDivided: boolean): Json {
  if (!mayBeLarge(value, storing)) return value;
  const text = JSON.stringify(value);
  const bytes = Buffer.byteLength(text);
  if (bytes <= storing.thresholdBytes) return wrapped(value);
  const reference = { $artifact: contentHashOf(text), bytes };
  if (isKept(reference, storing)) return { ...reference };
  const divided = isDivided && isObject(value) ? dividedForm(value, storing) : null;
  if (divided !== null) return divided;
  storing.parcels.set(reference.$artifact, { text, reference });
  return { ...reference };
}

/** A value as it is stored where nothing is kept elsewhere. */
export function wrapped(value: Json): Json {
  return looksStored(value) ? { $artifact: null, value } : value;
}

function mayBeLarge(value: Json, { thresholdBytes }: Storing): boolean {
  if (typeof value === "string") return value.length > thresholdBytes / maxBytesPerChar;
  return typeof value === "object" && value !== null;
}

function isKept({ $artifact }: Reference, { isKept, parcels }: Storing): boolean {
  return parcels.has($artifact) || isKept($artifact);
}

/** `null`: it is large without its large parts too. */
function dividedForm(value: JsonObject, storing: Storing): Json | null {
  const tried = { ...storing, parcels: new Map(storing.parcels) };
  const parts = Object.entries(value).map(([name, part]) => [name, storedForm(part, tried, true)]);
  const form = { $artifact: null, parts: Object.fromEntries(parts) as JsonObject };
  if (Buffer.byteLength(JSON.stringify(form)) > storing.thresholdBytes) return null;
  for (const [hash, parcel] of tried.parcels) storing.parcels.set(hash, parcel);
  return form;
}

/** What a stored form refers to. */
export function referencesIn(stored: Json): readonly Reference[] {
  if (!looksStored(stored)) return [];
  const { $artifact, bytes, parts } = stored;
  if (typeof $artifact === "string" && typeof bytes === "number") return [{ $artifact, bytes }];
  return isObject(parts) ? Object.values(parts).flatMap(referencesIn) : [];
}

/** The value of a stored form; `kept` has the value of every reference in it. */
export function valueOfForm(stored: Json, kept: (reference: Reference) => Json): Json {
  if (!looksStored(stored)) return stored;
  const { $artifact, bytes, parts, value } = stored;
  if (typeof $artifact === "string" && typeof bytes === "number") return kept({ $artifact, bytes });
  if (!isObject(parts)) return value ?? null;
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, valueOfForm(part, kept)]));
}

function looksStored(value: Json): value is JsonObject {
  return isObject(value) && Object.hasOwn(value, "$artifact");
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
