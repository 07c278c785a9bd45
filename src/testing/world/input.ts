/**
 * Owns: what the fake world refuses of whatever comes from outside, and how it says so.
 *
 * Invariants
 * 1. Everything that is refused carries a status, a code and a sentence naming what is wrong.
 * 2. What was let in is plain JSON: an object of bounded depth, with no value that JSON cannot say.
 */
import { createHash } from "node:crypto";

export const limits = {
  maxBodyBytes: 1024 * 1024,
  maxDepth: 64,
  maxNameLength: 64,
  maxIdLength: 512,
  maxBatchItems: 1_000,
  maxFaults: 1_000,
  maxHeldCalls: 1_000,
  maxEvents: 10_000,
  maxWaitMs: 600_000,
} as const;

export type JsonObject = Readonly<Record<string, unknown>>;

/** A request the fake world does not take: `status` and `code` are what an HTTP caller is answered. */
export class WorldRefusal extends Error {
  override readonly name = "WorldRefusal";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function readObject(value: unknown, where: string): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new WorldRefusal(400, "bad_request", `${where} must be a JSON object`);
  }
  return value as JsonObject; // an object that is neither null nor an array has string keys
}

const namePattern = /^[A-Za-z][\w.-]*$/;

export function readName(value: unknown, where: string): string {
  const name = readText(value, where, limits.maxNameLength);
  if (!namePattern.test(name)) {
    throw new WorldRefusal(400, "bad_request", `${where} must be a word of letters, digits, "_", "." and "-"`);
  }
  return name;
}

export function readText(value: unknown, where: string, maxLength: number = limits.maxIdLength): string {
  if (typeof value !== "string" || value.length === 0 || value.length > maxLength) {
    throw new WorldRefusal(400, "bad_request", `${where} must be a string of 1 to ${maxLength} characters`);
  }
  return value;
}

export interface Range {
  readonly min: number;
  readonly max: number;
}

export function readInteger(value: unknown, where: string, range: Range): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < range.min || value > range.max) {
    throw new WorldRefusal(400, "bad_request", `${where} must be a whole number from ${range.min} to ${range.max}`);
  }
  return value;
}

export function readOneOf<T extends string>(value: unknown, where: string, words: readonly T[]): T {
  const word = words.find((each) => each === value);
  if (word === undefined) throw new WorldRefusal(400, "bad_request", `${where} must be one of ${words.join(", ")}`);
  return word;
}

/** A copy of `args` as it would arrive over the wire. */
export function readArgs(value: unknown): JsonObject {
  assertDepth(value, limits.maxDepth);
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new WorldRefusal(400, "bad_request", `the arguments are not JSON: ${String(cause)}`);
  }
  return readObject(text === undefined ? undefined : JSON.parse(text), "the arguments");
}

function assertDepth(value: unknown, left: number): void {
  if (typeof value !== "object" || value === null) return;
  if (left === 0) throw new WorldRefusal(400, "too_deep", `the arguments are nested deeper than ${limits.maxDepth}`);
  for (const each of Object.values(value)) assertDepth(each, left - 1);
}

/** JSON with the keys of every object in order, so that equal values have equal text (the form of RFC 8785). */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([key, each]) => `${JSON.stringify(key)}:${canonicalJson(each)}`).join(",")}}`;
}

/** The first 16 bytes of the SHA-256 of the canonical JSON, in hex. */
export function hashOf(args: JsonObject): string {
  return createHash("sha256").update(canonicalJson(args)).digest("hex").slice(0, 32);
}
