/** What is owed to hooks, in memory: the counterpart of `lua/shared.notices.lua` and the scripts that need it. */
import type {
  NoticeFailure,
  OwedNotice,
  OwedRun,
  OwedToHook,
  PutOffCommand,
  ShownOwed,
  TakeNoticesAnswer,
  TakeNoticesCommand,
} from "../../core/index.ts";
import { maxNoticesLost } from "../limits.ts";

interface Owed {
  /** By text; never empty. */
  readonly notices: { readonly text: string; readonly at: number }[];
  since: number;
  failure: NoticeFailure | null;
}

interface Box {
  readonly runs: Map<string, Owed>;
  taker: { readonly owner: string; readonly until: number } | null;
  /** `null`: nobody has taken from it yet. */
  lost: number | null;
}

/** By hook. */
export type NoticeBoxes = Map<string, Box>;

export function owe(boxes: NoticeBoxes, run: string, notices: readonly OwedNotice[], now: number): void {
  for (const { hook, text } of notices) {
    const { runs } = boxOf(boxes, hook);
    const owed = runs.get(run) ?? { notices: [], since: now, failure: null };
    owed.notices.push({ text, at: now });
    owed.notices.sort((a, b) => (a.text < b.text ? -1 : 1));
    runs.set(run, owed);
  }
}

export function takeNotices(boxes: NoticeBoxes, command: TakeNoticesCommand, now: number): TakeNoticesAnswer {
  const { hook, owner, leaseMs, limit, most } = command;
  const box = boxOf(boxes, hook);
  if (box.taker !== null && box.taker.owner !== owner && box.taker.until > now) return { answer: "HELD" };
  box.taker = leaseMs === 0 ? null : { owner, until: now + leaseMs };
  if (leaseMs === 0) return { answer: "OK", runs: [], lost: 0, now };
  const lost = Math.min(Math.max(0, sizeOf(box) - most), maxNoticesLost);
  for (let n = 0; n < lost; n += 1) strike(box, bySince(box)[0]?.[0] ?? "");
  box.lost = (box.lost ?? 0) + lost;
  const untried = bySince(box).filter(([, { failure }]) => failure === null);
  const tried = bySince(box).filter(([, { failure }]) => failure !== null);
  tried.sort(([a, x], [b, y]) => againOf(x) - againOf(y) || (a < b ? -1 : 1));
  return { answer: "OK", runs: [...untried.slice(0, limit), ...tried.slice(0, limit)].map(shown), lost, now };
}

export function strikeNotice(
  boxes: NoticeBoxes,
  hook: string,
  { run, text }: Pick<OwedRun, "run" | "text">,
): string | null {
  const box = boxOf(boxes, hook);
  if (box.runs.get(run)?.notices[0]?.text === text) strike(box, run);
  return box.runs.get(run)?.notices[0]?.text ?? null;
}

export function putOffNotice(boxes: NoticeBoxes, command: PutOffCommand, now: number): void {
  const { hook, run, text, afterMs, why } = command;
  const owed = boxOf(boxes, hook).runs.get(run);
  if (owed?.notices[0]?.text !== text) return;
  owed.failure = { tries: (owed.failure?.tries ?? 0) + 1, at: now, why, againAt: now + afterMs };
}

export function owedIn(boxes: NoticeBoxes): readonly OwedToHook[] {
  return [...boxes].flatMap(([hook, box]) => {
    if (box.lost === null) return [];
    const owed = [...box.runs.values()];
    const oldestAt = owed.length === 0 ? null : Math.min(...owed.map(({ since }) => since));
    const failing = owed.filter(({ failure }) => failure !== null).length;
    return [{ hook, owed: sizeOf(box), oldestAt, lost: box.lost, failing }];
  });
}

export function owedRunsIn(boxes: NoticeBoxes, hook: string, limit: number): readonly ShownOwed[] {
  return bySince(boxOf(boxes, hook))
    .slice(0, limit)
    .map(([run, owed]) => ({ ...shown([run, owed]), since: owed.since, owed: owed.notices.length }));
}

/** The first one of a run is owed no more; the next one was not tried. */
function strike({ runs }: Box, run: string): void {
  const owed = runs.get(run);
  owed?.notices.shift();
  const [next] = owed?.notices ?? [];
  if (owed === undefined || next === undefined) runs.delete(run);
  else Object.assign(owed, { since: next.at, failure: null });
}

function boxOf(boxes: NoticeBoxes, hook: string): Box {
  const box = boxes.get(hook) ?? { runs: new Map<string, Owed>(), taker: null, lost: null };
  boxes.set(hook, box);
  return box;
}

function sizeOf({ runs }: Box): number {
  return [...runs.values()].reduce((sum, { notices }) => sum + notices.length, 0);
}

function bySince({ runs }: Box): [string, Owed][] {
  return [...runs].sort(([a, x], [b, y]) => x.since - y.since || (a < b ? -1 : 1));
}

function againOf({ failure }: Owed): number {
  return failure?.againAt ?? 0;
}

function shown([run, { notices, failure }]: readonly [string, Owed]): OwedRun {
  return { run, text: notices[0]?.text ?? "", failure: failure === null ? null : { ...failure } };
}
