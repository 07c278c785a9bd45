/** Owns: a timeline as a picture of lines: what each row did, who drove it, where it was handed over, and what the signs mean. Pure. */
import type { Mark, Span, SpanEnd, Timeline, TimelineRow } from "../../core/index.ts";
import { type Ink, ink, type Line, type Style } from "../base/ink.ts";
import { clockText, lengthText, timeText } from "../base/words.ts";
import { type Axis, axisOf } from "./axis.ts";

const maxLabel = 24;
const maxMarks = 12;
const durationColumns = 16;
const dayMs = 86_400_000;
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** One sign of the picture. */
interface Sign {
  readonly char: string;
  readonly style: Style | null;
}

type Track = (Sign | undefined)[];

export function ganttLines(timeline: Timeline, width: number): readonly Line[] {
  const labels = timeline.rows.map(labelOf);
  const label = Math.min(maxLabel, Math.max(8, ...labels.map((text) => [...text].length))) + 2;
  const axis = axisOf(timeline, Math.max(16, width - label - durationColumns));
  const names = workersOf(timeline);
  return [
    [" ".repeat(label), ...axisLine(timeline, axis)],
    [ink("bold", "run".padEnd(label)), ...pieces(runTrack(timeline, axis))],
    ...(names.length === 0
      ? []
      : [[ink("dim", "worker".padEnd(label)), ...pieces(workerTrack(timeline, axis, names))]]),
    ...timeline.rows.map(
      (row): Line => [
        fitted(labelOf(row), label),
        ...pieces(rowTrack(row, timeline, axis)),
        ...summaryOf(row, timeline),
      ],
    ),
    "",
    ...legendOf(timeline, names),
    ...marksOf(timeline, names),
  ];
}

function labelOf({ seq, step, side }: TimelineRow): string {
  return side === "undo" ? `${seq} ↶ ${step}` : `${seq} ${step}`;
}

function fitted(text: string, columns: number): string {
  const chars = [...text];
  return chars.length < columns
    ? text.padEnd(columns - chars.length + text.length)
    : `${chars.slice(0, columns - 2).join("")}… `;
}

function axisLine({ from, to, isOver }: Timeline, { columns }: Axis): readonly (string | Ink)[] {
  const say = sayer({ from, to });
  const [first, last] = [say(from), isOver ? say(to) : "now"];
  return [ink("dim", `${first}${last.padStart(Math.max(1, columns - first.length))}`)];
}

/** Of more than a day the date is said, too. */
function sayer({ from, to }: Pick<Timeline, "from" | "to">): (at: number) => string {
  return to - from < dayMs ? clockText : timeText;
}

// ---- tracks

const statusSigns: Readonly<Record<Timeline["stretches"][number]["status"], readonly [string, Style]>> = {
  running: ["─", "cyan"],
  waiting: ["┈", "blue"],
  paused: ["‖", "yellow"],
  needs_review: ["!", "red"],
  unwinding: ["↶", "magenta"],
  completed: ["✓", "green"],
  failed: ["✗", "red"],
  cancelled: ["⊘", "yellow"],
};

function runTrack({ stretches, marks, to }: Timeline, axis: Axis): Track {
  const track: Track = Array(axis.columns).fill(undefined);
  for (const stretch of stretches) {
    const [char, style] = statusSigns[stretch.status];
    fill(track, axis, stretch.from, stretch.to ?? to, { char, style });
  }
  shorten(track, axis);
  for (const mark of marks) {
    const sign = markSigns[mark.what];
    if (sign !== null) track[axis.at(mark.at)] = sign;
  }
  return track;
}

const markSigns: Readonly<Record<Mark["what"], Sign | null>> = {
  crash: { char: "✸", style: "red" },
  hand_over: null,
  parked: { char: "!", style: "red" },
  verb: { char: "◆", style: "yellow" },
  event: { char: "▸", style: "blue" },
  timer: { char: "◷", style: "blue" },
  cancel: { char: "⊘", style: "yellow" },
  pause: { char: "‖", style: "yellow" },
  resume: { char: "▸", style: "yellow" },
  undo: { char: "↶", style: "magenta" },
};

/** In the order in which they came. */
function workersOf({ rows, marks }: Timeline): readonly string[] {
  const heard = [
    ...rows.flatMap(({ spans }) =>
      spans.flatMap(({ worker, from }) => (worker === null ? [] : [{ worker, at: from }])),
    ),
    ...marks.flatMap(({ what, worker, at }) => (what === "hand_over" && worker !== null ? [{ worker, at }] : [])),
  ];
  return [...new Set(heard.toSorted((a, b) => a.at - b.at).map(({ worker }) => worker))];
}

/** Who drove it while something was under way: a letter each. */
function workerTrack({ rows, to }: Timeline, axis: Axis, names: readonly string[]): Track {
  const track: Track = Array(axis.columns).fill(undefined);
  for (const { worker, from, to: end } of rows.flatMap(({ spans }) => spans)) {
    if (worker !== null) fill(track, axis, from, end ?? to, { char: letterOf(worker, names), style: "dim" });
  }
  return track;
}

function letterOf(worker: string, names: readonly string[]): string {
  return letters[names.indexOf(worker)] ?? "?";
}

const endStyles: Readonly<Record<SpanEnd, Style>> = {
  succeeded: "green",
  approved: "green",
  not_applied: "red",
  rejected: "red",
  expired: "red",
  halted: "red",
  unknown: "yellow",
  interrupted: "yellow",
  taken_back: "dim",
  withdrawn: "dim",
  went_on: "dim",
};

const spanChars: Readonly<Record<Span["kind"], string>> = { call: "█", queue: "░", between: "·", people: "▒" };

function rowTrack({ spans, probes }: TimelineRow, { to, marks }: Timeline, axis: Axis): Track {
  const track: Track = Array(axis.columns).fill(undefined);
  // What is under way is drawn over what lies between.
  const order = spans.toSorted((a, b) => Number(a.kind === "call") - Number(b.kind === "call"));
  for (const span of order) {
    const style =
      span.kind === "call" || span.kind === "people" ? (span.end === null ? "cyan" : endStyles[span.end]) : "dim";
    fill(track, axis, span.from, span.to ?? to, { char: spanChars[span.kind], style });
  }
  for (const { at } of probes) track[axis.at(at)] = { char: "?", style: "yellow" };
  for (const { what, at } of marks) {
    const wasOut = spans.some(({ end, to: over }) => end === "interrupted" && over === at);
    if (what === "crash" && wasOut) track[axis.at(at)] = { char: "✸", style: "red" };
  }
  return track;
}

/** At least one column. */
function fill(track: Track, axis: Axis, from: number, to: number, sign: Sign): void {
  const first = axis.at(from);
  for (let column = first; column <= Math.max(first, axis.at(to) - (to > from ? 1 : 0)); column += 1)
    track[column] = sign;
}

function shorten(track: Track, { short }: Axis): void {
  for (const { from, to, ms } of short) {
    const text = [...`⋯${lengthText(ms).replace(" ", "")}`].slice(0, to - from);
    for (let column = from; column < to; column += 1)
      track[column] = { char: text[column - from] ?? "⋯", style: "dim" };
  }
}

/** Neighbours of one style become one piece. */
function pieces(track: Track): readonly (string | Ink)[] {
  const runs: { text: string; readonly style: Style | null }[] = [];
  for (const sign of track) {
    const { char, style } = sign ?? { char: " ", style: null };
    const last = runs.at(-1);
    if (last !== undefined && last.style === style) last.text += char;
    else runs.push({ text: char, style });
  }
  return runs.map(({ text, style }) => (style === null ? text : ink(style, text)));
}

// ---- words

const endWords: Readonly<Record<SpanEnd, string>> = {
  succeeded: "✓",
  approved: "✓ yes",
  not_applied: "✗",
  rejected: "✗ no",
  expired: "✗ expired",
  halted: "! halted",
  unknown: "? unknown",
  interrupted: "✸",
  taken_back: "–",
  withdrawn: "–",
  went_on: "–",
};

function summaryOf(row: TimelineRow, { to, stretches }: Timeline): readonly (string | Ink)[] {
  // Of a parked run nothing is being found out any more: how its call ended is what is known.
  const isParked = stretches.at(-1)?.status === "needs_review";
  const spans = isParked ? row.spans.filter(({ kind, end }) => kind !== "between" || end !== null) : row.spans;
  const calls = spans.filter(({ kind }) => kind === "call").length;
  const first = spans[0];
  const last = spans.findLast(({ end }) => end !== "went_on") ?? spans.at(-1);
  if (first === undefined || last === undefined) return [];
  const tries = calls > 1 ? ` ×${calls}` : "";
  const length = lengthText((spans.at(-1)?.to ?? to) - first.from);
  return last.end === null
    ? [ink("cyan", ` ● ${length}${tries}`)]
    : [ink(endStyles[last.end], ` ${endWords[last.end]}`), ` ${length}${tries}`];
}

function legendOf({ rows, marks }: Timeline, names: readonly string[]): readonly Line[] {
  const has = (kind: Span["kind"]) => rows.some(({ spans }) => spans.some((span) => span.kind === kind));
  const signs = [
    ...(has("call") ? ["█ under way"] : []),
    ...(has("queue") ? ["░ in a queue"] : []),
    ...(has("between") ? ["· between attempts, or being found out"] : []),
    ...(has("people") ? ["▒ people are asked"] : []),
    ...(rows.some(({ probes }) => probes.length > 0) ? ["? asked the other side"] : []),
    ...(marks.some(({ what }) => what === "crash") ? ["✸ a worker was gone"] : []),
  ];
  return [
    ink("dim", signs.join("   ")),
    ...names.map((name, at): Line => ink("dim", `${letters[at] ?? "?"} = ${name}`)),
  ];
}

/** The newest of what happened to the run, in words. */
function marksOf({ marks, isWhole, ...time }: Timeline, names: readonly string[]): readonly Line[] {
  const say = sayer(time);
  const told = marks.slice(-maxMarks).map((mark): Line => [ink("dim", say(mark.at)), ` ${markText(mark, names)}`]);
  return [
    ...(isWhole ? [] : [ink("yellow", "Only the newer part of its log is kept.")]),
    ...(marks.length > maxMarks ? [ink("dim", `and ${marks.length - maxMarks} before`)] : []),
    ...told,
  ];
}

function markText({ what, worker, from, heardAt, at, note }: Mark, names: readonly string[]): string {
  const name = (who: string | null) => (who === null ? "?" : names.includes(who) ? letterOf(who, names) : who);
  const after = heardAt === null ? "" : `, ${lengthText(at - heardAt)} after its last word`;
  switch (what) {
    case "crash":
      return `✸ ${name(from)} was gone: found by ${name(worker)}${after}`;
    case "hand_over":
      return `⇄ ${name(worker)} went on where ${name(from)} had been${after}`;
    case "parked":
      return `! parked${note === null ? "" : `: ${note}`}`;
    case "verb":
      return `◆ ${worker}: ${note}`;
    case "event":
      return `▸ event ${note}`;
    case "timer":
      return `◷ timer ${note}`;
    case "cancel":
    case "pause":
    case "resume":
    case "undo":
      return `${what} by ${worker}: ${note}`;
  }
}
