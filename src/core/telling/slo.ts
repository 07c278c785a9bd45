/**
 * What the objectives of a saga count: events that are good or not, in a commit as it happens (for metrics), and in the whole
 * story of a run as it is kept (for a report over a window). Owns the definitions; `saga/slo.ts` owns what may be promised.
 *
 * Invariants: O1 both readings count the same things. O2 a run is counted where it first ends; one that is undone
 * later counts for how that went, and for what its calls met; one that a late result or a forgetful store takes up again ends anew. O3 a person had to step in where the run was parked; an approval that the saga asks for is no such case.
 */
import type { ObjectiveSpec, SloName, SloSpec } from "../../saga/index.ts";
import type { Amounts, Call, LogEntry, Row, RunRecord, Taken } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";

/** Something that an objective may count. `value`: ms, or what was used; `good`: by itself, where there is no bound. */
export interface SloEvent {
  readonly name: SloName;
  readonly good: boolean;
  readonly value: number | null;
  /** The step it is about; `null`: the run. */
  readonly step: string | null;
}

/** Is it good by this objective? */
export function isGood({ within }: ObjectiveSpec, { good, value }: SloEvent): boolean {
  return within === null || value === null ? good : value <= within;
}

/** What a run would have done twice, by what it was prevented. */
export interface Prevented {
  /** Outcomes of others that were taken instead. */
  readonly reused: number;
  /** Effects that a probe or a person found to be there. */
  readonly found: number;
  /** Tool calls that were asked for again. */
  readonly absorbed: number;
}

export function preventedBy(rows: readonly Row[]): Prevented {
  const count = (of: (row: Row) => number) => rows.reduce((sum, row) => sum + of(row), 0);
  return {
    reused: count(({ call }) => (call.state === "reused" ? 1 : 0)),
    found: count(({ call, undo }) => [call, undo?.call].filter(wasFound).length),
    absorbed: count(({ tool }) => (tool === null ? 0 : tool.asks - 1)),
  };
}

function wasFound(call: Call | null | undefined): boolean {
  return call?.state === "succeeded" && (call.proof === "probe" || call.proof === "person");
}

// ---- as it happens

/** A run before a commit and after it. */
export interface Moved {
  readonly before: { readonly record: RunRecord; readonly rows: readonly Row[] };
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  readonly entry: LogEntry;
}

/** What a commit has added. `budget`: what `cost` is about. */
export function sloEvents({ before, record, rows, entry }: Moved, budget: string | null): readonly SloEvent[] {
  const ends = hasEnded(record.status) && before.record.endedAt === null ? endsOf(record, rows, budget) : [];
  const calls = entry.taken.flatMap((taken) => callEvents(taken, entry.at, (seq) => watched(before.rows[seq - 1])));
  return calls.length === 0 ? ends : [...ends, ...calls];
}

/** What is known of a row's call under way. */
interface Watched {
  readonly step: string;
  readonly sentAt: number | null;
  /** A crash has cut it off, or it is made again because a person has said so. */
  readonly cut: boolean;
  readonly unknown: boolean;
}

function watched(row: Row | undefined): Watched | null {
  if (row === undefined) return null;
  const undo = row.undo?.call ?? null;
  const call = undo ?? row.call;
  const cut = call.error?.kind === "interrupted";
  return { step: row.step, sentAt: call.sentAt, cut, unknown: call.state === "unknown" };
}

// ---- what a run as a whole, and each of its calls, comes to

/** How a run ended, and when. */
type End = Pick<LogEntry, "at"> & { readonly status: RunRecord["status"] };

function endsOf(record: RunRecord, rows: readonly Row[], budget: string | null): readonly SloEvent[] {
  const { status, endedAt, startAt } = record;
  const first = isUndone(record) ? [] : endEvents(record, rows, budget, { status, at: endedAt ?? startAt });
  return [...first, ...unwindEvents(record)];
}

/** It had ended, and somebody wanted it undone: that says nothing of how it ended. */
function isUndone({ unwind }: RunRecord): boolean {
  return unwind?.cause.kind === "undone";
}

function unwindEvents({ status, rollback }: RunRecord): readonly SloEvent[] {
  if (!hasEnded(status) || !isUnwound(rollback)) return [];
  return [{ name: "unwind", good: rollback === "complete", value: null, step: null }];
}

function endEvents(record: RunRecord, rows: readonly Row[], budget: string | null, end: End): readonly SloEvent[] {
  const { reviews, startAt } = record;
  const prevented = preventedBy(rows);
  const event = (name: SloName, good: boolean, value: number | null = null) => ({ name, good, value, step: null });
  return [
    event("completion", end.status === "completed" && reviews === 0),
    event("intervention", reviews === 0),
    event("duplicates", prevented.reused + prevented.found + prevented.absorbed === 0),
    ...(end.status === "completed" ? [event("latency", true, Math.max(0, end.at - startAt))] : []),
    ...(budget === null ? [] : [event("cost", true, record.budgets[budget]?.used ?? 0)]),
  ];
}

function isUnwound(rollback: RunRecord["rollback"]): boolean {
  return rollback === "complete" || rollback === "partial" || rollback === "halted";
}

function callEvents(taken: Taken, at: number, look: (seq: number) => Watched | null): readonly SloEvent[] {
  if (taken.what === "interrupted") {
    const call = look(taken.seq);
    return call?.sentAt == null ? [] : [{ name: "recovery", good: true, value: at - call.sentAt, step: call.step }];
  }
  const known = knownBy(taken);
  const call = known === null ? null : look(known.seq);
  if (known === null || call === null) return [];
  const { step, sentAt } = call;
  const age =
    call.unknown && sentAt !== null ? [{ name: "unknownAge", good: true, value: at - sentAt, step } as const] : [];
  return call.cut ? [...age, { name: "resumption", good: known.good, value: null, step }] : age;
}

/** The row whose outcome is known by it, and whether that is a good one. */
function knownBy(taken: Taken): { readonly seq: number; readonly good: boolean } | null {
  if (taken.what === "outcome" && taken.outcome !== "unknown") {
    return { seq: taken.seq, good: taken.outcome === "succeeded" };
  }
  const isUndone = taken.what === "undo" && (taken.state === "done" || taken.state === "halted");
  return isUndone ? { seq: taken.seq, good: taken.state === "done" } : null;
}

// ---- the story of a run

/** A run as it is kept: its record, its ledger and what is left of its log. */
export interface Story {
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  readonly log: readonly LogEntry[];
}

/** A run that went on where a crash, or a person's word, had found it. */
export interface Resumed {
  readonly step: string;
  readonly good: boolean | null;
  /** Steps that had succeeded and were not made again, and what was used until then. */
  readonly kept: number;
  readonly used: Amounts;
}

/** What one run comes to. */
export interface Tally {
  readonly hasEnded: boolean;
  readonly events: readonly SloEvent[];
  readonly prevented: Prevented;
  readonly resumed: readonly Resumed[];
}

export function tallyOf({ record, rows, log }: Story, budget: string | null): Tally {
  const reader = new Reader(rows);
  for (const entry of log) for (const taken of entry.taken) reader.take(taken, entry.at);
  const isOver = hasEnded(record.status);
  const first = isUndone(record) ? log.find(({ to }) => hasEnded(to)) : undefined;
  const before = first === undefined ? [] : endEvents(record, rows, budget, { status: first.to, at: first.at });
  return {
    hasEnded: isOver,
    events: [...before, ...(isOver ? endsOf(record, rows, budget) : []), ...reader.events],
    prevented: preventedBy(rows),
    resumed: [...reader.resumed.values()],
  };
}

/** Reads a log from its beginning, and knows what was under way at each moment. */
class Reader {
  readonly events: SloEvent[] = [];
  /** By row: the last time that it went on. */
  readonly resumed = new Map<string, Resumed>();
  readonly #rows: readonly Row[];
  readonly #calls = new Map<number, Watched>();
  readonly #succeeded = new Set<number>();
  #used: Amounts = {};
  #isAskedAgain = false;
  #times = 0;

  constructor(rows: readonly Row[]) {
    this.#rows = rows;
  }

  take(taken: Taken, at: number): void {
    const events = callEvents(taken, at, (seq) => this.#calls.get(seq) ?? null);
    this.events.push(...events);
    for (const event of events) if (event.name === "resumption") this.#settle(event);
    if (taken.what === "budget") this.#used = { ...this.#used, [taken.name]: taken.used };
    if (taken.what === "verb" && taken.verb === "retry") this.#isAskedAgain = true;
    if (taken.what === "sent" || taken.what === "offered") this.#sent(taken.seq, at);
    if (taken.what === "undo" && taken.state === "sent") this.#sent(taken.seq, at);
    if (taken.what === "interrupted") this.#goesOn(taken.seq);
    if (taken.what === "outcome") this.#outcome(taken.seq, taken.outcome);
  }

  #sent(seq: number, sentAt: number): void {
    const before = this.#calls.get(seq);
    const step = this.#rows[seq - 1]?.step ?? "";
    this.#calls.set(seq, { step, sentAt, cut: before?.cut ?? false, unknown: false });
    if (this.#isAskedAgain) this.#goesOn(seq);
    this.#isAskedAgain = false;
  }

  #goesOn(seq: number): void {
    const call = this.#calls.get(seq);
    if (call === undefined) return; // its grant was trimmed from the log
    const unknown = this.#rows[seq - 1]?.call.effect !== "none";
    this.#calls.set(seq, { ...call, cut: true, unknown: call.unknown || (unknown && !this.#isAskedAgain) });
    this.#times += 1;
    const { step } = call;
    this.resumed.set(`${step} ${this.#times}`, { step, good: null, kept: this.#succeeded.size, used: this.#used });
  }

  #outcome(seq: number, outcome: "succeeded" | "not_applied" | "unknown"): void {
    const call = this.#calls.get(seq);
    if (outcome === "succeeded") this.#succeeded.add(seq);
    if (call !== undefined) this.#calls.set(seq, { ...call, cut: false, unknown: outcome === "unknown" });
  }

  /** All times that its step went on and of which nothing was known have ended so. */
  #settle({ step, good }: SloEvent): void {
    for (const [key, resumed] of this.resumed) {
      if (resumed.step === step && resumed.good === null) this.resumed.set(key, { ...resumed, good });
    }
  }
}

// ---- the report

/** How an objective stands in a window. */
export interface SloStanding {
  readonly name: SloName;
  readonly target: number;
  /** In ms, or in the unit of `budget`; `null`: an event is good or bad by itself. */
  readonly within: number | null;
  readonly budget: string | null;
  readonly good: number;
  readonly total: number;
  /** Good of total; `null`: nothing happened that it is about. */
  readonly share: number | null;
  /** What is left of the error budget: 1 all of it, 0 none, below 0 it is overdrawn. */
  readonly budgetLeft: number | null;
  readonly isMet: boolean;
  /** Of the values, where it has a bound. */
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** How the runs of a saga that were started in a window have done. */
export interface SloReport {
  readonly saga: string;
  /** Store time in ms. */
  readonly from: number;
  readonly to: number;
  /** Runs that were looked at, and those of them that have ended. */
  readonly runs: number;
  readonly ended: number;
  /** `false`: there were more than were looked at, the newest were. */
  readonly isWhole: boolean;
  readonly objectives: readonly SloStanding[];
  readonly prevented: Prevented;
  readonly resumptions: readonly { readonly step: string; readonly times: number; readonly succeeded: number }[];
  /** What was not done again because runs went on where they were: steps, and what had been used of each budget. */
  readonly avoided: { readonly steps: number; readonly used: Amounts };
}

export type SloWindow = Pick<SloReport, "saga" | "from" | "to" | "isWhole">;

/** The report of a window; of a saga that promises nothing it has no objectives. */
export function sloReport(spec: SloSpec | null, tallies: readonly Tally[], window: SloWindow): SloReport {
  const events = tallies.flatMap((tally) => tally.events);
  const resumed = tallies.flatMap((tally) => tally.resumed);
  return {
    ...window,
    runs: tallies.length,
    ended: tallies.filter((tally) => tally.hasEnded).length,
    objectives: (spec?.objectives ?? []).map((objective) => standingOf(objective, events)),
    prevented: {
      reused: sum(tallies, ({ prevented }) => prevented.reused),
      found: sum(tallies, ({ prevented }) => prevented.found),
      absorbed: sum(tallies, ({ prevented }) => prevented.absorbed),
    },
    resumptions: byStep(resumed),
    avoided: { steps: sum(resumed, ({ kept }) => kept), used: usedBy(resumed) },
  };
}

function standingOf(objective: ObjectiveSpec, all: readonly SloEvent[]): SloStanding {
  const { name, target, within, budget } = objective;
  const events = all.filter((event) => event.name === name);
  const good = events.filter((event) => isGood(objective, event)).length;
  const total = events.length;
  const share = total === 0 ? null : good / total;
  const values = events.flatMap(({ value }) => (value === null ? [] : [value])).sort((a, b) => a - b);
  const at = (part: number) => values[Math.ceil(values.length * part) - 1] ?? null;
  const budgetLeft = share === null ? null : 1 - (1 - share) / (1 - target);
  const isMet = share === null || share >= target;
  return {
    name,
    target,
    within,
    budget,
    good,
    total,
    share,
    budgetLeft,
    isMet,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
  };
}

function byStep(resumed: readonly Resumed[]): SloReport["resumptions"] {
  const steps = [...new Set(resumed.map(({ step }) => step))].sort();
  return steps.map((step) => {
    const own = resumed.filter((each) => each.step === step);
    return { step, times: own.length, succeeded: own.filter(({ good }) => good === true).length };
  });
}

function usedBy(resumed: readonly Resumed[]): Amounts {
  const used = new Map<string, number>();
  for (const each of resumed) {
    for (const [name, amount] of Object.entries(each.used)) used.set(name, (used.get(name) ?? 0) + amount);
  }
  return Object.fromEntries(used);
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
