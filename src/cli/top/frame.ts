/** Owns: what `reprise top` shows of a namespace, line by line, and what of it a terminal has room for. */
import type { Overview, StatusCounts, Waiting } from "../../client/index.ts";
import { runStatuses, type SeenWorker } from "../../core/index.ts";
import { clean, type Ink, ink, type Line } from "../base/ink.ts";
import { clockText, lengthText, statusInk } from "../base/words.ts";

type Piece = string | Ink;
type Pieces = readonly Piece[];

export interface FrameSize {
  readonly columns: number;
  /** `null`: as many as there are. */
  readonly rows: number | null;
}

/** The lines of one frame, none longer than the terminal is wide. */
export function frameOf(seen: Overview, namespace: string, { columns, rows }: FrameSize): readonly Line[] {
  const lines = [
    [ink("bold", namespace), `  tenant ${seen.tenant}`, ink("dim", `  ${clockText(seen.at).slice(0, 8)}Z`)],
    ...summary(seen),
    [],
    ...workerLines(seen.workers),
    ...sagaLines(seen.sagas.filter(({ runs }) => Object.values(runs).some((count) => count > 0))),
  ];
  const shown = lines.length <= (rows ?? lines.length) ? lines : shortened(lines, rows ?? 0);
  return shown.map((line) => clipped(line, columns));
}

function shortened(lines: readonly Pieces[], rows: number): readonly Pieces[] {
  const kept = Math.max(rows - 1, 0);
  return [...lines.slice(0, kept), [ink("dim", `… ${lines.length - kept} more lines: reprise top --once`)]];
}

function summary(seen: Overview): readonly Pieces[] {
  const [open, over] = [runStatuses.slice(0, 5), runStatuses.slice(5)];
  const { pace, backlog, parked, asking, unknown, notifications, supervisors, unserved } = seen;
  const owed = notifications.filter((hook) => hook.owed > 0 || hook.lost > 0);
  return [
    ["open        ", ...counted(seen.runs, open)],
    ["ended       ", ...counted(seen.runs, over)],
    ["pace        ", `${pace.begun} begun/s  ${pace.ended} ended/s  ${pace.steps} steps/s`],
    ["backlog     ", ...waiting(backlog, "due", false)],
    [
      "people      ",
      parked > 0 ? ink("red", `${parked} parked`) : "0 parked",
      ...["  ", ...waiting(unknown, "unknown", true), "  ", ...waiting(asking, "asked", false)],
    ],
    ...owed.map((hook): Pieces => {
      const lost = hook.lost > 0 ? [ink("red", `  ${hook.lost} lost`)] : [];
      return ["told        ", `${hook.hook}: `, ...waiting({ ...hook, count: hook.owed }, "owed", false), ...lost];
    }),
    [
      "supervisor  ",
      supervisors.length === 0
        ? ink("yellow", "none")
        : `heard of ${lengthText(Math.min(...supervisors.map(({ ageMs }) => ageMs)))} ago`,
    ],
    ...unserved.map((structure): Pieces => [ink("red", `not served  ${structure.split("#")[0] ?? structure}`)]),
  ];
}

function counted(runs: StatusCounts, statuses: readonly (keyof StatusCounts)[]): Pieces {
  const there = statuses.filter((status) => runs[status] > 0);
  if (there.length === 0) return [ink("dim", "none")];
  return there.flatMap((status, at) => [at === 0 ? "" : "  ", statusInk(status), ` ${runs[status]}`]);
}

function waiting({ count, oldestMs }: Waiting, what: string, isBad: boolean): Pieces {
  const text = `${count} ${what}`;
  const age = oldestMs === null ? "" : `, the oldest for ${lengthText(oldestMs)}`;
  return [isBad && count > 0 ? ink("red", text) : text, age];
}

function workerLines(workers: readonly SeenWorker[]): readonly Pieces[] {
  if (workers.length === 0) return [[ink("yellow", "No worker was heard of. Start one: reprise worker")]];
  const head = ["worker", "state", "busy", "steps/s", "lag", "memory", "heard"];
  const rows = workers.map(({ id, state, heartbeat, ageMs }): Pieces => {
    const word = state === "ready" ? ink("green", state) : ink(state === "draining" ? "yellow" : "red", state);
    if (heartbeat === null) return [id, word, "-", "-", "-", "-", "-"];
    const { name, slots, pace, lagMs, rssBytes } = heartbeat;
    return [
      ...[name, word, `${slots.busy}/${slots.total}`, pace === undefined ? "-" : String(pace.steps), `${lagMs} ms`],
      ...[`${Math.round(rssBytes / 1e6)} MB`, ageMs === null ? "-" : lengthText(ageMs)],
    ];
  });
  return table(head, rows, 24);
}

function sagaLines(sagas: Overview["sagas"]): readonly Pieces[] {
  if (sagas.length === 0) return [];
  const head = ["saga", "run", "wait", "pause", "review", "unwind", "done", "failed", "cancel"];
  const rows = sagas.map(({ saga, runs }): Pieces => {
    const cells = runStatuses.map((status): Piece => {
      const text = String(runs[status]);
      if (runs[status] === 0) return ink("dim", text);
      return status === "needs_review" ? ink("red", text) : text;
    });
    return [saga, ...cells];
  });
  return [[], ...table(head, rows, 24)];
}

/** The first column stands left and has room for `first` characters at most, the others stand right. */
function table(head: readonly string[], rows: readonly Pieces[], first: number): readonly Pieces[] {
  const all: readonly Pieces[] = [head.map((title) => ink("bold", title)), ...rows];
  const cut = all.map(([name = "", ...cells]): Pieces => [cutTo(name, first), ...cells]);
  const widths = head.map((_, at) => Math.max(...cut.map((row) => lengthOf(row[at] ?? ""))));
  return cut.map((row) =>
    row.flatMap((cell, at): Pieces => {
      const space = " ".repeat((widths[at] ?? 0) - lengthOf(cell));
      return at === 0 ? [cell, space] : [`  ${space}`, cell];
    }),
  );
}

function clipped(pieces: Pieces, columns: number): Pieces {
  let left = columns;
  return pieces.flatMap((piece) => {
    const length = Math.min(lengthOf(piece), left);
    if (length === 0) return [];
    left -= length;
    return [cutTo(piece, length)];
  });
}

/** As it is shown: a control character is several characters then. */
function lengthOf(piece: Piece): number {
  return textOf(piece).length;
}

function cutTo(piece: Piece, length: number): Piece {
  const text = textOf(piece);
  const cut = text.length <= length ? text : `${text.slice(0, Math.max(length - 1, 0))}…`;
  return typeof piece === "string" ? cut : ink(piece.style, cut);
}

function textOf(piece: Piece): string {
  return clean(typeof piece === "string" ? piece : piece.text);
}
