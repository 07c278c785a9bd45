/** Owns: what people write on a command line, read: durations, times, JSON from an argument, a file or stdin, pairs. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { UsageError } from "../exit.ts";
import type { Input, Io } from "./io.ts";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Longest text that is read from a file or stdin. */
const maxInputBytes = 2 ** 29;

/** `500ms`, `30s`, `5m`, `2h`, `7d` in ms. Throws UsageError naming the flag. */
export function durationOf(text: string, flag: string): number {
  const [, digits, unit] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const ms = Number(digits) * (unitMs[unit ?? ""] ?? Number.NaN);
  if (Number.isFinite(ms)) return Math.round(ms);
  throw new UsageError(`${flag} ${text} is not a duration: write 500ms, 30s, 5m, 2h or 7d`);
}

/** So long ago (`2h`), or a date: ms since 1970. */
export function timeOf(text: string, flag: string, now: number): number {
  if (/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/.test(text)) return now - durationOf(text, flag);
  const at = Date.parse(text);
  if (Number.isFinite(at)) return at;
  throw new UsageError(`${flag} ${text} is neither a duration (2h) nor a date (2026-01-31T09:00Z)`);
}

export function wholeOf(text: string, flag: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${flag} ${text} is not a whole number from ${least} to ${most}`);
}

/** One of these words. */
export function oneOf<const Word extends string>(text: string, flag: string, words: readonly Word[]): Word {
  const found = words.find((word) => word === text);
  if (found !== undefined) return found;
  throw new UsageError(`${flag} ${text}: it is ${words.join(", ")}`);
}

/** `key=value`; the value as JSON where it is one, else as text. */
export function pairOf(text: string, flag: string): readonly [key: string, value: unknown] {
  const at = text.indexOf("=");
  if (at < 1) throw new UsageError(`${flag} ${text} is not key=value`);
  const value = text.slice(at + 1);
  try {
    return [text.slice(0, at), JSON.parse(value)];
  } catch {
    return [text.slice(0, at), value];
  }
}

/** JSON as it stands, from a file (`@file`), or from stdin (`-`). Throws UsageError naming the flag. */
export async function jsonOf(given: string, flag: string, io: Io): Promise<unknown> {
  const text = await textOf(given, flag, io);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${flag} is not JSON: ${jsonProblem(error)}`);
  }
}

/** What JSON.parse says, without the piece of the text that it quotes: that may be a secret. */
export function jsonProblem(error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return why.replace(/,? (?:\.\.\.)?".*"(?:\.\.\.)? is not valid JSON$/s, "");
}

async function textOf(given: string, flag: string, { stdin, cwd }: Io): Promise<string> {
  if (given === "-") return await readAll(stdin, flag);
  if (!given.startsWith("@")) return given;
  try {
    return await readFile(resolve(cwd, given.slice(1)), "utf8");
  } catch (error) {
    throw new UsageError(`${flag} ${given}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function readAll(stdin: Input, flag: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const buffer = Buffer.from(chunk);
    bytes += buffer.length;
    if (bytes > maxInputBytes) throw new UsageError(`${flag} -: more than ${maxInputBytes} bytes`);
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}
