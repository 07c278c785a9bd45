/** Lines of turns in memory: the counterpart of `lua/ask_turn.lua` and `lua/give_turn.lua`, branch by branch. */
import type { AskTurnAnswer, AskTurnCommand, GiveTurnAnswer, GiveTurnCommand } from "../../core/index.ts";
import { assertTurn } from "../checks.ts";
import { maxTurnsShown, turnForgottenMs } from "../limits.ts";

interface Line {
  /** Runs that have a turn, and since when. */
  readonly owners: Map<string, number>;
  /** Those that wait, in the order of their places. */
  waiting: readonly { readonly run: string; readonly startedAt: number }[];
  /** Those that have given, and when. */
  readonly gone: Map<string, number>;
  /** The newest number under which each of them has asked. */
  readonly heard: Map<string, number>;
}

/** By `<tenant>:<hash>`. */
export type Lines = Map<string, Line>;

export function askTurn(lines: Lines, member: string, command: AskTurnCommand, now: number): AskTurnAnswer {
  assertTurn(command);
  const { run, startedAt, limit, asked } = command;
  const line = lineOf(lines, member);
  const left = line.gone.get(run);
  const isBack = asked > (line.heard.get(run) ?? Number.POSITIVE_INFINITY);
  if (left !== undefined && left > now - turnForgottenMs && !isBack) return { answer: "GONE" };
  line.gone.delete(run);
  hear(line, run, asked);
  if (line.owners.has(run)) return { answer: "MINE" };
  if (!line.waiting.some((waiting) => waiting.run === run)) line.waiting = placed(line.waiting, { run, startedAt });
  const ahead = line.waiting.findIndex((waiting) => waiting.run === run);
  if (ahead < limit - line.owners.size) {
    line.waiting = line.waiting.filter((waiting) => waiting.run !== run);
    line.owners.set(run, now);
    return { answer: "MINE" };
  }
  const first = line.waiting.slice(0, Math.min(ahead, maxTurnsShown)).map((waiting) => waiting.run);
  const before = [...ownersOf(line).slice(0, maxTurnsShown), ...first];
  return { answer: "WAIT", ahead, before: before.map((each) => ({ run: each, asked: line.heard.get(each) ?? null })) };
}

export function giveTurn(lines: Lines, member: string, command: GiveTurnCommand, now: number): GiveTurnAnswer {
  assertTurn(command);
  const { run, limit, asked } = command;
  const line = lineOf(lines, member);
  if (asked === null || asked >= (line.heard.get(run) ?? asked)) leave(line, run, asked, now);
  const free = Math.min(limit - line.owners.size, maxTurnsShown);
  return { next: line.waiting.slice(0, Math.max(free, 0)).map((waiting) => waiting.run) };
}

function leave(line: Line, run: string, asked: number | null, now: number): void {
  line.owners.delete(run);
  line.waiting = line.waiting.filter((waiting) => waiting.run !== run);
  for (const [other, at] of line.gone) {
    if (at > now - turnForgottenMs) continue;
    line.gone.delete(other);
    line.heard.delete(other);
  }
  if (!line.gone.has(run)) line.gone.set(run, now);
  if (asked !== null) hear(line, run, asked);
}

function hear({ heard }: Line, run: string, asked: number): void {
  heard.set(run, Math.max(asked, heard.get(run) ?? asked));
}

function lineOf(lines: Lines, member: string): Line {
  const line = lines.get(member) ?? { owners: new Map(), waiting: [], gone: new Map(), heard: new Map() };
  lines.set(member, line);
  return line;
}

/** Behind all that were started before it, or in the same ms. */
function placed<Place extends { readonly startedAt: number }>(line: readonly Place[], place: Place): readonly Place[] {
  const behind = line.findIndex(({ startedAt }) => startedAt > place.startedAt);
  return behind === -1 ? [...line, place] : line.toSpliced(behind, 0, place);
}

function ownersOf({ owners }: Line): readonly string[] {
  return [...owners].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)).map(([run]) => run);
}
