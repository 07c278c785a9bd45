/** What is owed to hooks, in memory: the counterpart of `lua/take_notices.lua` and of the end of `lua/commit.lua`. */
import type { OwedNotice, OwedToHook, TakeNoticesAnswer, TakeNoticesCommand } from "../../core/index.ts";

interface Box {
  /** Text -> time of the commit that owes it. */
  readonly owed: Map<string, number>;
  taker: { readonly owner: string; readonly until: number } | null;
  /** `null`: nobody has taken from it yet. */
  lost: number | null;
}

/** By hook. */
export type NoticeBoxes = Map<string, Box>;

export function owe(boxes: NoticeBoxes, notices: readonly OwedNotice[], now: number): void {
  for (const { hook, text } of notices) boxOf(boxes, hook).owed.set(text, now);
}

export function takeNotices(boxes: NoticeBoxes, command: TakeNoticesCommand, now: number): TakeNoticesAnswer {
  const { hook, owner, leaseMs, limit, most } = command;
  const box = boxOf(boxes, hook);
  if (box.taker !== null && box.taker.owner !== owner && box.taker.until > now) return { answer: "HELD" };
  box.taker = leaseMs === 0 ? null : { owner, until: now + leaseMs };
  if (leaseMs === 0) return { answer: "OK", texts: [], lost: 0 };
  const texts = inOrder(box);
  const lost = Math.max(0, texts.length - most);
  for (const text of texts.slice(0, lost)) box.owed.delete(text);
  box.lost = (box.lost ?? 0) + lost;
  return { answer: "OK", texts: texts.slice(lost, lost + limit), lost };
}

export function dropNotices(boxes: NoticeBoxes, hook: string, texts: readonly string[]): void {
  for (const text of texts) boxes.get(hook)?.owed.delete(text);
}

export function owedIn(boxes: NoticeBoxes): readonly OwedToHook[] {
  return [...boxes].flatMap(([hook, { owed, lost }]) => {
    if (lost === null) return [];
    const oldestAt = owed.size === 0 ? null : Math.min(...owed.values());
    return [{ hook, owed: owed.size, oldestAt, lost }];
  });
}

function boxOf(boxes: NoticeBoxes, hook: string): Box {
  const box = boxes.get(hook) ?? { owed: new Map<string, number>(), taker: null, lost: null };
  boxes.set(hook, box);
  return box;
}

function inOrder({ owed }: Box): readonly string[] {
  return [...owed].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)).map(([text]) => text);
}
