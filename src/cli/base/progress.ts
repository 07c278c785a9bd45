/**
 * Owns: how far long work has come, for whoever watches: one line on stderr that changes, and is gone when the work is done.
 * Invariant: G1 nothing is written where stderr is no terminal, nor with `-q`, `--json` and the like.
 */
import type { Output } from "./io.ts";
import { lengthText } from "./words.ts";

export interface Progress {
  /** So much is done. */
  at(done: number): void;
  /** Takes the line away. It may be called again. */
  end(): void;
}

export const silent: Progress = { at: () => undefined, end: () => undefined };

const barCells = 24;
const usualColumns = 80;
/** To the beginning of the line, which is then empty. */
const eraseLine = "\r\u001b[2K";
const drawnEveryMs = 100;

/** `total` `null`: nobody knows. `now` is of a monotonic clock. */
export function progressOn(
  stream: Output,
  what: string,
  total: number | null,
  now: () => number = () => performance.now(),
): Progress {
  const since = now();
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    at: (done) => {
      if (now() - drawnAt < drawnEveryMs) return;
      drawnAt = now();
      const line = progressLine({ what, done, total, ms: drawnAt - since });
      stream.write(eraseLine + line.slice(0, (stream.columns || usualColumns) - 1));
    },
    end: () => {
      if (Number.isFinite(drawnAt)) stream.write(eraseLine);
      drawnAt = Number.POSITIVE_INFINITY;
    },
  };
}

interface Stand {
  readonly what: string;
  readonly done: number;
  readonly total: number | null;
  readonly ms: number;
}

/** `cancel  ██████░░░░░░  12/40  30 %  5s left`. */
export function progressLine({ what, done, total, ms }: Stand): string {
  if (total === null || total === 0) return `${what}  ${done}  ${lengthText(ms)}`;
  const share = Math.min(done / total, 1);
  const full = Math.round(share * barCells);
  const bar = "█".repeat(full) + "░".repeat(barCells - full);
  const left = done === 0 || share === 1 ? "" : `  ${lengthText((ms / done) * (total - done))} left`;
  return `${what}  ${bar}  ${done}/${total}  ${Math.floor(share * 100)} %${left}`;
}
