/**
 * Owns: where a time lies on an axis of so many columns. Stretches in which nothing was under way and that would take most of the width
 * are drawn in a few columns. Pure.
 */
import type { Timeline } from "../../core/index.ts";

export interface Axis {
  readonly columns: number;
  /** The column of a time, from 0. */
  readonly at: (time: number) => number;
  /** Stretches that are drawn short: their columns, and how long they are. */
  readonly short: readonly { readonly from: number; readonly to: number; readonly ms: number }[];
}

/** Idle time longer than this share of the whole is drawn short. */
const longShare = 0.2;
const shortColumns = 7;

interface Piece {
  readonly from: number;
  readonly to: number;
  readonly isShort: boolean;
}

export function axisOf(timeline: Timeline, columns: number): Axis {
  const pieces = piecesOf(timeline);
  const shorts = pieces.filter(({ isShort }) => isShort).length;
  const free = Math.max(1, columns - shorts * shortColumns);
  const length = Math.max(
    1,
    pieces.reduce((sum, piece) => sum + (piece.isShort ? 0 : piece.to - piece.from), 0),
  );
  let start = 0;
  const laid = pieces.map((piece) => {
    const width = piece.isShort ? shortColumns : ((piece.to - piece.from) / length) * free;
    const from = start;
    start += width;
    return { ...piece, start: from, width };
  });
  const at = (time: number) => {
    const piece = laid.find(({ to }) => time <= to) ?? laid.at(-1);
    if (piece === undefined) return 0;
    const part = piece.to === piece.from ? 0 : (time - piece.from) / (piece.to - piece.from);
    return Math.min(columns - 1, Math.max(0, Math.floor(piece.start + part * piece.width)));
  };
  const short = laid.flatMap(({ isShort, from, to, start: first, width }) =>
    isShort ? [{ from: Math.ceil(first), to: Math.min(columns, Math.floor(first + width)), ms: to - from }] : [],
  );
  return { columns, at, short };
}

/** The whole time cut where something begins or ends to be under way. */
function piecesOf({ from, to, rows }: Timeline): readonly Piece[] {
  const busy = rows
    .flatMap(({ spans, probes }) => [
      ...spans.flatMap((span) =>
        span.kind === "call" || span.kind === "queue" ? [[span.from, span.to ?? to] as const] : [],
      ),
      ...probes.map(({ at }) => [at, at] as const),
    ])
    .toSorted(([a], [b]) => a - b);
  const pieces: Piece[] = [];
  let at = from;
  for (const [begin, end] of [...busy, [to, to] as const]) {
    if (begin > at) pieces.push({ from: at, to: begin, isShort: begin - at > longShare * (to - from) });
    if (end > Math.max(at, begin)) pieces.push({ from: Math.max(at, begin), to: end, isShort: false });
    at = Math.max(at, begin, end);
  }
  // Where everything is idle there is nothing to make room for.
  return pieces.every(({ isShort }) => isShort) ? pieces.map((piece) => ({ ...piece, isShort: false })) : pieces;
}
