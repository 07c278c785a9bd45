/** Owns: how times, lengths of time and states read in text: an icon, a word and a colour, never one of them alone. */
import type { RunRef, RunStatus } from "../../core/index.ts";
import { type Ink, ink, type Style } from "./ink.ts";

const icons: Readonly<Record<RunStatus, readonly [icon: string, style: Style]>> = {
  running: ["●", "cyan"],
  waiting: ["◷", "blue"],
  paused: ["‖", "yellow"],
  needs_review: ["!", "red"],
  unwinding: ["↶", "magenta"],
  completed: ["✓", "green"],
  failed: ["✗", "red"],
  cancelled: ["⊘", "yellow"],
};

export function statusInk(status: RunStatus): Ink {
  const [icon, style] = icons[status];
  return ink(style, `${icon} ${status}`);
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** `3d 4h`, `2m 5s`, `1.5s`, `40ms`: the two largest units. */
export function lengthText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0).replace(/\.0$/, "")}s`;
  const first = units.findIndex(([, size]) => ms >= size);
  const parts: string[] = [];
  let left = ms;
  for (const [unit, size] of units.slice(first, first + 2)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.join(" ");
}

export function agoText(at: number, now: number): string {
  return at > now ? `in ${lengthText(at - now)}` : `${lengthText(now - at)} ago`;
}

/** UTC, to the second. */
export function timeText(at: number): string {
  return new Date(at)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace("T", " ");
}

/** UTC, to the millisecond. */
export function momentText(at: number): string {
  return new Date(at).toISOString().replace("T", " ");
}

/** UTC, to the millisecond, without the date: for what lies within one day that the reader knows. */
export function clockText(at: number): string {
  return new Date(at).toISOString().slice(11);
}

/** How a run is named to people: with its tenant where that is not the usual one. */
export function runText({ tenant, id }: RunRef, usual: string): string {
  return tenant === usual ? id : `${tenant}/${id}`;
}

export function counted(count: number, what: string, many = `${what}s`): string {
  return `${count} ${count === 1 ? what : many}`;
}
