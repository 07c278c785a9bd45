/**
 * Is a value JSON and nothing else? The strict check that stands before everything that is stored. On the hot path:
 * one pass, nothing allocated unless something is wrong or must be left out.
 *
 * Invariant: what passes is unchanged by `JSON.parse(JSON.stringify(value))`, `-0` (becomes 0) and symbol keys
 * (left out) excepted.
 */
import type { Json } from "./spec.ts";

/** Deeper than this is refused; it also ends the walk of a cycle. */
export const maxJsonDepth = 100;

const loneSurrogate = /\p{Surrogate}/u;

/** A value checked: its JSON form, or what is wrong and where. */
export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: string };

/** Something is not JSON: what, and the way to it, innermost key first. */
interface Fault {
  readonly what: string;
  readonly path: (string | number)[];
}

/** Nothing to report · a property that is `undefined` must be left out · a fault. */
type Scan = null | "undefined" | Fault;

/** What is not JSON about `value` and where (`at .items[2].price: NaN ...`); `null`: it is JSON. */
export function jsonProblem(value: unknown): string | null {
  const scan = scanValue(value, 0);
  return scan === null || scan === "undefined" ? null : describe(scan, value);
}

/** `value` as JSON: itself, or a copy without the properties that are `undefined`. */
export function toJson(value: unknown): Checked<Json> {
  const scan = scanValue(value, 0);
  // The scan has just proven it.
  if (scan === null) return { ok: true, value: value as Json };
  if (scan === "undefined") return { ok: true, value: withoutUndefined(value) };
  return { ok: false, problem: describe(scan, value) };
}

function scanValue(value: unknown, depth: number): Scan {
  switch (typeof value) {
    case "string":
      return isText(value) ? null : fault("half a character (a lone surrogate) is no text");
    case "boolean":
      return null;
    case "number":
      return Number.isFinite(value) ? null : fault(`${value} is not a JSON number`);
    case "object":
      if (value === null) return null;
      if (depth >= maxJsonDepth) return fault(`nested deeper than ${maxJsonDepth} levels`);
      return Array.isArray(value) ? scanArray(value, depth) : scanObject(value, depth);
    case "undefined":
      return fault("undefined is not JSON; use null");
    case "bigint":
    case "symbol":
    case "function":
      return fault(`a ${typeof value} is not JSON`);
  }
}

function scanArray(array: readonly unknown[], depth: number): Scan {
  let found: Scan = null;
  for (let index = 0; index < array.length; index++) {
    const scan = scanValue(array[index], depth + 1);
    if (scan === null) continue;
    if (scan !== "undefined") return within(scan, index);
    found = scan;
  }
  return found;
}

function scanObject(object: object, depth: number): Scan {
  if (!isPlain(object)) return fault(`${nameOfClass(object)} is not JSON`);
  let found: Scan = null;
  for (const key in object) {
    if (!Object.hasOwn(object, key)) continue;
    if (key === "__proto__" || key === "constructor" || key === "prototype") {
      return within(fault(`a property may not be called ${key}`), key);
    }
    if (!isText(key)) return within(fault("half a character (a lone surrogate) is no text"), key);
    // `key` is an own key of it.
    const property = (object as Readonly<Record<string, unknown>>)[key];
    const scan = property === undefined ? "undefined" : scanValue(property, depth + 1);
    if (scan === null) continue;
    if (scan !== "undefined") return within(scan, key);
    found = scan;
  }
  return found;
}

/** What no UTF-8 can hold would come back as something else, and has no canonical form (RFC 8785). */
function isText(value: string): boolean {
  return !loneSurrogate.test(value);
}

/** An object literal, `Object.create(null)`, or the like from another realm. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOfClass(object: object): string {
  const name: unknown = object.constructor?.name;
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "an instance of a class";
}

function fault(what: string): Fault {
  return { what, path: [] };
}

function within(inner: Fault, key: string | number): Fault {
  inner.path.push(key);
  return inner;
}

function describe(found: Fault, value: unknown): string {
  const deep = found.path.length >= maxJsonDepth;
  if (deep && isCyclic(value, new Set())) return "it contains itself (a cycle), which JSON cannot";
  const path = (deep ? found.path.slice(-5) : found.path).reverse().map(pathPart).join("");
  return path === "" ? found.what : `at ${path}${deep ? "..." : ""}: ${found.what}`;
}

function pathPart(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function isCyclic(value: unknown, above: Set<object>): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (above.has(value)) return true;
  // Not a cycle, merely deep: this walk, too, has an end.
  if (above.size > 10 * maxJsonDepth) return false;
  above.add(value);
  const cyclic = Object.values(value).some((inner) => isCyclic(inner, above));
  above.delete(value);
  return cyclic;
}

/** Only called on what a scan has found to be JSON but for `undefined` properties. */
function withoutUndefined(value: unknown): Json {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null) return value as Json;
  const copy: Record<string, Json> = {};
  for (const [key, property] of Object.entries(value)) {
    if (property !== undefined) copy[key] = withoutUndefined(property);
  }
  return copy;
}
