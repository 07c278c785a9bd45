/**
 * When a schedule ticks. Owns the times: they follow from the definition alone, so every process finds the same ones, whenever it
 * looks.
 *
 * Invariants: C1 `every` ticks at whole multiples since 1970-01-01 UTC, whoever has begun when. C2 `cron` is read on the wall clock
 * of its zone. A time that the clock skips ticks as much later as was skipped; one that it shows twice ticks the first time. But
 * where all hours are meant (`*`), the hours are the real ones: none is left out, none doubled. C3 times that fall together are one
 * tick.
 */
import { CronExpressionParser } from "cron-parser";

/** `cron` has five fields, or six with seconds first. */
export type Timing = { readonly cron: string; readonly timeZone: string } | { readonly everyMs: number };

export const minEveryMs = 1_000;
/** Ticks of the past that are looked at; of more than so many the newest. */
export const maxDueTicks = 100;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Clocks are put forward and back by less than this. */
const widestJumpMs = 3 * hourMs;
/** Growing, so that neither a tick a second nor one in four years is looked for step by step for long. */
const windowsMs = [2 * minuteMs, 2 * hourMs, 5 * dayMs, 120 * dayMs, 5 * 366 * dayMs] as const;

/** Why it is no timing; `null`: it is one, and ticks at some time. */
export function timingProblem(timing: Timing, now: number): string | null {
  if ("everyMs" in timing) {
    const fits = Number.isInteger(timing.everyMs) && timing.everyMs >= minEveryMs;
    return fits ? null : `every is at least ${minEveryMs} ms, in whole ms, and not ${timing.everyMs}`;
  }
  const { cron, timeZone } = timing;
  if (!isZone(timeZone)) return `${JSON.stringify(timeZone)} is no time zone; write one like "Europe/Berlin" or "UTC"`;
  // "H" would be another time in each process.
  if (cron.trim() === "" || /\bH\b/.test(cron)) return `${JSON.stringify(cron)} is no cron expression`;
  try {
    return nextTick(timing, now) === null ? `${JSON.stringify(cron)} never comes` : null;
  } catch (error) {
    return `${JSON.stringify(cron)} is no cron expression: ${(error as Error).message}`;
  }
}

/** The first tick after `after`; `null`: there is none in five years. */
export function nextTick(timing: Timing, after: number): number | null {
  if ("everyMs" in timing) return (Math.floor(after / timing.everyMs) + 1) * timing.everyMs;
  for (const windowMs of windowsMs) {
    const first = ticksBetween(timing, after, after + windowMs)[0];
    if (first !== undefined) return first;
  }
  return null;
}

/** The ticks after `after` and until `now`, oldest first, at most `maxDueTicks` of the newest. */
export function dueTicks(timing: Timing, after: number, now: number): readonly number[] {
  if (now <= after) return [];
  if ("everyMs" in timing) return everyBetween(timing.everyMs, after, now);
  for (const windowMs of windowsMs) {
    const from = Math.max(after, now - windowMs);
    const ticks = ticksBetween(timing, from, now);
    if (from === after || ticks.length >= maxDueTicks) return ticks.slice(-maxDueTicks);
  }
  // What was due more than five years ago is forgotten.
  return [];
}

function everyBetween(everyMs: number, after: number, now: number): readonly number[] {
  const last = Math.floor(now / everyMs);
  const count = Math.min(last - Math.floor(after / everyMs), maxDueTicks);
  return Array.from({ length: Math.max(count, 0) }, (_, n) => (last - count + 1 + n) * everyMs);
}

// ---- cron

/** In order. The wall clock is read as if it were UTC, and every time it shows is then found in the zone. */
function ticksBetween({ cron, timeZone }: Extract<Timing, { cron: string }>, after: number, until: number) {
  const ofZone = offsetsOf(timeZone);
  const { fields } = CronExpressionParser.parse(cron, { tz: "UTC" });
  const isHourly = fields.hour.isWildcard;
  const isDaily = fields.dayOfMonth.isWildcard && fields.month.isWildcard && fields.dayOfWeek.isWildcard;
  const jump = Math.abs(ofZone(after - widestJumpMs) - ofZone(until + widestJumpMs));
  // Every hour of every day: a jump by whole hours changes nothing.
  const isSteady = jump === 0 || (isHourly && isDaily && jump % hourMs === 0);
  const fixed = ofZone(until);
  const offset = isSteady ? () => fixed : ofZone;
  const slack = isSteady ? 0 : widestJumpMs;
  const currentDate = new Date(after + offset(after) - slack);
  const endDate = new Date(until + offset(until) + slack);
  const walls = CronExpressionParser.parse(cron, { currentDate, endDate, tz: "UTC" });
  const ticks = new Set<number>();
  while (walls.hasNext()) {
    for (const at of instantsOf(walls.next().getTime(), offset, isHourly)) if (at > after && at <= until) ticks.add(at);
  }
  return [...ticks].sort((a, b) => a - b);
}

/** When the zone's clock shows this: at one time, at two, or at none. */
function instantsOf(wall: number, offset: (at: number) => number, isHourly: boolean): readonly number[] {
  const [before, after] = [offset(wall - offset(wall) - widestJumpMs), offset(wall - offset(wall) + widestJumpMs)];
  if (before === after) return [wall - before];
  const shown = [wall - before, wall - after].filter((at) => at + offset(at) === wall);
  // Skipped: as much later as was skipped.
  if (shown.length === 0) return [wall - before];
  return isHourly ? shown : shown.slice(0, 1);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** How far the zone's clock is ahead of UTC at a time, in ms. */
function offsetsOf(timeZone: string): (at: number) => number {
  const format = formats.get(timeZone) ?? formatOf(timeZone);
  formats.set(timeZone, format);
  return (at) => {
    const whole = Math.floor(at / 1_000) * 1_000;
    const part = Object.fromEntries(format.formatToParts(whole).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) - whole;
  };
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const number = "numeric" as const;
  const parts = { year: number, month: number, day: number, hour: number, minute: number, second: number };
  return new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", ...parts });
}

function isZone(timeZone: string): boolean {
  try {
    return formatOf(timeZone).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
