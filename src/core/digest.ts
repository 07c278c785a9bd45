/**
 * The one place that hashes. 16 bytes of SHA-256, base64url: 22 characters. `digestOf` is of text, `hashOf` of a JSON
 * value in canonical form (RFC 8785), so that equal values have equal hashes whatever the order of their keys.
 */
import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import { type Json, type Saga, type SagaSpec, structureOf } from "../saga/index.ts";
import type { MachineState } from "./machine/port.ts";
import type { LogEntry } from "./run/index.ts";

const digestBytes = 16;

/** Digest of a text. */
export function digestOf(text: string): string {
  return hash("sha256", text, "buffer").subarray(0, digestBytes).toString("base64url");
}

/** SHA-256 of the content of an artifact, in hex: its name, and the proof that it is what was put there. */
export function contentHashOf(content: string | Uint8Array): string {
  return hash("sha256", content, "hex");
}

/** Digest of a JSON value, independent of the order of its keys. */
export function hashOf(value: Json): string {
  const canonical = canonicalize(value);
  if (canonical === undefined) throw new TypeError("only JSON has a hash");
  return digestOf(canonical);
}

const structures = new WeakMap<SagaSpec, string>();

/** The hash that runs of a saga are pinned to, beside its name and version. */
export function structureHashOf(saga: Saga): string {
  const hash = structures.get(saga.spec) ?? hashOf(structureOf(saga));
  structures.set(saga.spec, hash);
  return hash;
}

/**
 * Digest of a log entry: chained to the one before (the first one to the structure hash of its saga), over what it says
 * was taken and the snapshot after it. That is left out where values were missing: nobody knew it whole, and it did not
 * change.
 */
export function entryDigest(
  previous: string,
  { revision, to, taken }: Pick<LogEntry, "revision" | "to" | "taken">,
  snapshot: MachineState | null,
): string {
  const known = taken.some(({ what }) => what === "missing") ? null : snapshot;
  return digestOf(JSON.stringify([previous, revision, to, known, taken]));
}
