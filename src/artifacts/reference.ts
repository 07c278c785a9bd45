/**
 * What stands in the store in the place of a value: the value itself, or a reference to where it is kept. Owns that the two
 * are told apart whatever the value is: one that looks like a reference is wrapped.
 */
import type { Json } from "../saga/index.ts";

/** Where a value is kept: the hash of its content, and how large it is. */
export interface Reference {
  readonly $artifact: string;
  readonly bytes: number;
}

export function referenceJson({ $artifact, bytes }: Reference): Json {
  return { $artifact, bytes };
}

/** A value as it is stored where it stays in the store. */
export function wrapped(value: Json): Json {
  return looksLikeOne(value) ? { $artifact: null, value } : value;
}

/** What was stored in a place. */
export function readStored(stored: Json): { readonly reference: Reference } | { readonly value: Json } {
  if (!looksLikeOne(stored)) return { value: stored };
  const { $artifact, bytes, value } = stored;
  if (typeof $artifact === "string" && typeof bytes === "number") return { reference: { $artifact, bytes } };
  return { value: value ?? null };
}

function looksLikeOne(value: Json): value is { readonly [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, "$artifact");
}
