/**
 * What bounds runs, read off their logs. B1 nothing is begun that would use more of a budget than its hard limit at that time.
 * B2 no deadline passes early. B3 nothing is begun while a run is paused. L1 of one key no more runs have a turn at once than its
 * limit allows, and none does anything before its turn.
 */
import type { LogEntry, Row, Taken } from "../../src/core/index.ts";
import type { Book, Complain } from "./checker.ts";

export function checkBounds(book: Book, say: Complain): void {
  checkBudgets(book, say);
  checkCounted(book, say);
  const { record, saga, log } = book;
  let paused = false;
  for (const { at, to, taken } of log) {
    for (const each of taken) {
      if (each.what === "control" && (each.control === "pause" || each.control === "resume"))
        paused = each.control === "pause";
      // Going back is not paused; there a call may be made once more to learn what it gave.
      if (each.what === "sent" && paused && to !== "unwinding") say("B3", `row ${each.seq} was begun in a pause`);
      const ms = saga?.deadline?.ms ?? 0;
      if (each.what === "deadline" && each.seq === null && at < record.startAt + ms)
        say("B2", `its deadline was passed ${record.startAt + ms - at} ms early`);
    }
  }
}

// ---- budgets

type OnBudget = Extract<Taken, { readonly what: "budget" }>;
const byThemselves: ReadonlySet<string> = new Set(["steps", "toolCalls", "time"]);

/** Of what actions report: at a hard limit nothing is begun before somebody raises it. */
function checkBudgets({ saga, record, log }: Book, say: Complain): void {
  const limits = new Map<string, { used: number; hard: number }>();
  for (const [name, { hard }] of Object.entries(saga?.budgets?.({ input: record.input }) ?? {})) {
    if (hard !== null && !byThemselves.has(name)) limits.set(name, { used: 0, hard });
  }
  // To look at a run that was started uses nothing.
  const started = new Set<number>();
  for (const { revision, to, taken } of log) {
    for (const each of taken) {
      if (each.what === "budget") note(limits.get(each.name), each);
      if (each.what === "child") started.add(each.seq);
      if (each.what !== "sent" || to === "unwinding" || started.has(each.seq)) continue;
      for (const [name, { used, hard }] of limits)
        if (used >= hard) say("B1", `revision ${revision} begins row ${each.seq} with ${used} of ${hard} ${name} used`);
    }
  }
}

function note(limit: { used: number; hard: number } | undefined, { used, raised }: OnBudget): void {
  if (limit === undefined) return;
  limit.used = used;
  limit.hard = raised ?? limit.hard;
}

/** Of what is counted: no more was ever begun than the limit is now. */
function checkCounted({ record, rows }: Book, say: Complain): void {
  const begun = (isTool: boolean) =>
    rows.filter(({ call, tool }) => call.firstSentRevision !== null && call.send > 0 && (tool !== null) === isTool)
      .length;
  for (const [name, isTool] of [
    ["steps", false],
    ["toolCalls", true],
  ] as const) {
    const budget = record.budgets[name];
    if (budget === undefined || budget.hard === null) continue;
    if (begun(isTool) > budget.hard) say("B1", `${begun(isTool)} ${name} were begun, of ${budget.hard}`);
  }
}

// ---- turns

interface Turn {
  readonly id: string;
  readonly limit: number;
  readonly from: number;
  readonly to: number;
}

export function checkTurns(books: readonly Book[], complain: Complain): void {
  const lines = new Map<string, Turn[]>();
  for (const book of books) {
    const { limit, tenant, saga, id } = book.record;
    if (limit === null) continue;
    const mine = book.log.find(({ taken }) =>
      taken.some((each) => each.what === "turn_taken" && each.state === "mine"),
    );
    // That it took its turn may be among what the store forgot; what came back then is the record alone.
    const isWhole = !book.log.some(({ taken }) => taken.some(({ what }) => what === "restored"));
    const early = book.rows.find((row) => isWhole && wasSentBefore(row, mine));
    if (early !== undefined) complain("L1", `${id} has begun ${early.step} before it was its turn`);
    if (mine === undefined) continue;
    const ended = book.log.find(({ taken }) => taken.some((each) => each.what === "ended"));
    const turn = { id, limit: limit.limit, from: mine.at, to: ended?.at ?? Number.POSITIVE_INFINITY };
    const key = JSON.stringify([tenant, saga, limit.key]);
    lines.set(key, [...(lines.get(key) ?? []), turn]);
  }
  for (const turns of lines.values()) for (const turn of turns) checkTurn(turn, turns, complain);
}

function wasSentBefore({ call }: Row, mine: LogEntry | undefined): boolean {
  const { firstSentRevision: sent } = call;
  return sent !== null && (mine === undefined || sent < mine.revision);
}

function checkTurn(turn: Turn, turns: readonly Turn[], complain: Complain): void {
  const { id, from, limit } = turn;
  const others = turns.filter((each) => each.from <= from && from < each.to);
  if (others.length > limit)
    complain("L1", `${others.map((each) => each.id)} had a turn at once when ${id} took its own, of ${limit}`);
}
