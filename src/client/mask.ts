/**
 * Masking what leaves the installation with a run. Owns what of a JSON value is masked, and saying where.
 *
 * Invariants: K1 whatever stands under the name of a credential is masked whole, lists and objects too. K2 names of states are no
 * values. K3 masking twice changes nothing more.
 */
import { isSecretName, mask, redact } from "../redact.ts";
import type { Json } from "../saga/index.ts";

export interface Masked {
  readonly value: Json;
  /** Paths of what was masked. */
  readonly paths: readonly string[];
}

/** Parts of a snapshot that name states, and amounts by the names of budgets. */
const structural: ReadonlySet<string> = new Set([
  "snapshot.value",
  "snapshot.order",
  "snapshot.history",
  "record.budgets",
]);

/** A value in which what looks like a credential, and all that stands under one of `names` (in any case), is masked. */
export function masked(given: Json, path: string, names: readonly string[]): Masked {
  const paths: string[] = [];
  const secret = new Set(names.map((name) => name.toLowerCase()));
  const isSecret = (name: string) => isSecretName(name) || secret.has(name.toLowerCase());
  const hide = (value: Json, at: string): Json => {
    if (value === mask) return value;
    paths.push(at);
    return mask;
  };
  const walk = (value: Json, at: string, above: string, name: string): Json => {
    if (value === null || typeof value === "boolean" || structural.has(`${above}.${name}`)) return value;
    if (isSecret(name)) return hide(value, at);
    if (typeof value === "number") return value;
    if (typeof value === "string") {
      const shown = redact(value);
      if (shown !== value) paths.push(at);
      return shown;
    }
    // `Array.isArray` does not narrow readonly arrays.
    if (Array.isArray(value)) return (value as readonly Json[]).map((each, n) => walk(each, `${at}.${n}`, name, ""));
    const parts = Object.entries(value as Readonly<Record<string, Json>>);
    return Object.fromEntries(parts.map(([key, part]) => [key, walk(part, `${at}.${key}`, name, key)]));
  };
  return { value: walk(given, path, "", path), paths };
}
