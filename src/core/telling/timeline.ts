/**
 * What a run did with its time: its log read as spans and marks, for whoever draws it. Owns what a log entry says about time.
 *
 * Invariants: T1 nothing is told that the log does not say: when a worker died is not known, only until when it was heard of and
 * when it was found out. T2 spans of one line do not overlap, and an open one has no end.
 */
import { operationId } from "../ids.ts";
import type { Side } from "../rows.ts";
import type { LogEntry, Row, RunRecord, RunStatus, Taken, WaitingFor } from "../run/index.ts";

/**
 * `queue`: offered to a named queue. `call`: under way. `between`: not under way, and not over: it waits for its next attempt, or for what
 * becomes known of it. `people`: somebody is asked.
 */
export type SpanKind = "queue" | "call" | "between" | "people";

/** How a span came to its end. */
export type SpanEnd =
  | "succeeded"
  | "not_applied"
  | "unknown"
  | "interrupted"
  | "taken_back"
  | "withdrawn"
  | "approved"
  | "rejected"
  | "expired"
  | "halted"
  | "went_on";

export interface Span {
  readonly kind: SpanKind;
  readonly from: number;
  /** `null`: it goes on. */
  readonly to: number | null;
  /** Which sending of its call it is, from 1; of other spans the one before. */
  readonly send: number;
  /** Who made the call; `null`: nobody, or the worker of a named queue. */
  readonly worker: string | null;
  readonly end: SpanEnd | null;
}

/** One call of the ledger, action or compensation. */
export interface TimelineRow {
  readonly seq: number;
  readonly step: string;
  readonly occurrence: number;
  readonly side: Side;
  readonly operationId: string;
  readonly spans: readonly Span[];
  /** When the other side was asked, and what it said. */
  readonly probes: readonly { readonly at: number; readonly answer: "happened" | "absent" | "cannot_tell" }[];
}

/** How the run as a whole stood. */
export interface Stretch {
  readonly status: RunStatus;
  readonly from: number;
  readonly to: number | null;
}

/**
 * `crash`: a worker was gone. `hand_over`: another one went on. Of both `worker` is who found it so, `from` whose it was, `heardAt`
 * when that one was last heard of.
 */
export interface Mark {
  readonly at: number;
  readonly what: "crash" | "hand_over" | "parked" | "verb" | "event" | "timer" | "cancel" | "pause" | "resume" | "undo";
  readonly worker: string | null;
  readonly from: string | null;
  readonly heardAt: number | null;
  /** Which event, verb or reason. */
  readonly note: string | null;
}

export interface Timeline {
  readonly from: number;
  /** Its end, or now. */
  readonly to: number;
  readonly isOver: boolean;
  /** `false`: the older part of its log was let go. */
  readonly isWhole: boolean;
  readonly waitingFor: WaitingFor | null;
  /** In the order in which they were first sent. */
  readonly rows: readonly TimelineRow[];
  readonly stretches: readonly Stretch[];
  readonly marks: readonly Mark[];
}

/** A run with the log that is kept of it. */
export interface Logged {
  readonly namespace: string;
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  readonly log: readonly LogEntry[];
  readonly now: number;
}

export function timelineOf({ namespace, record, rows, log, now }: Logged): Timeline {
  const reader = new Reader();
  for (const entry of log) reader.read(entry);
  const first = log[0];
  return {
    from: first?.at ?? record.createdAt,
    to: record.endedAt ?? now,
    isOver: record.endedAt !== null,
    isWhole: first?.revision === 1,
    waitingFor: record.waitingFor,
    rows: [...reader.lines.values()].flatMap((line) => rowOf(line, { namespace, record, rows })),
    stretches: reader.stretches,
    marks: reader.marks,
  };
}

type Naming = Pick<Logged, "namespace" | "record" | "rows">;

function rowOf({ seq, side, spans, probes }: LaidLine, { namespace, record, rows }: Naming): readonly TimelineRow[] {
  const row = rows[seq - 1];
  if (row === undefined) return [];
  const { step, occurrence } = row;
  return [{ seq, step, occurrence, side, operationId: operationId(namespace, record, row, side), spans, probes }];
}

// ---- reading

type Open<Value> = { -readonly [Key in keyof Value]: Value[Key] };

interface LaidLine {
  readonly seq: number;
  readonly side: Side;
  readonly spans: Open<Span>[];
  readonly probes: TimelineRow["probes"][number][];
}

class Reader {
  readonly lines = new Map<string, LaidLine>();
  readonly stretches: Open<Stretch>[] = [];
  readonly marks: Mark[] = [];
  /** Rows whose compensation has begun: what is said of them from then on is said of that. */
  readonly #undoing = new Set<number>();
  #fence = 0;
  #worker: string | null = null;
  #heardAt: number | null = null;

  read(entry: LogEntry): void {
    this.#handOver(entry);
    for (const taken of entry.taken) this.#take(taken, entry);
    this.#stand(entry);
    this.#fence = entry.fence;
    if (entry.fence > 0) [this.#worker, this.#heardAt] = [entry.actor, entry.at];
  }

  #handOver({ at, actor, fence, taken }: LogEntry): void {
    const isNew = this.#fence > 0 && fence > this.#fence && actor !== this.#worker;
    const isCrash = taken.some(({ what }) => what === "interrupted" || what === "resumed") && fence > this.#fence;
    if (isCrash) this.#mark(at, "crash", actor);
    if (isNew) this.#mark(at, "hand_over", actor);
  }

  #stand({ at, to, taken }: LogEntry): void {
    const last = this.stretches.at(-1);
    if (last?.status === to) return;
    if (last !== undefined) last.to = at;
    const isOver = to === "completed" || to === "failed" || to === "cancelled";
    this.stretches.push({ status: to, from: at, to: isOver ? at : null });
    // What is left open by then was accepted as it was.
    if (isOver) for (const { spans } of this.lines.values()) closeLast(spans, at, "went_on");
    if (to === "needs_review") this.#mark(at, "parked", null, noteIn(taken));
  }

  #take(taken: Taken, { at, actor }: LogEntry): void {
    switch (taken.what) {
      case "sent":
        return this.#open(taken.seq, "call", at, actor);
      case "offered":
        return this.#open(taken.seq, "queue", at, null);
      case "taken_back":
      case "interrupted":
        return this.#goOn(taken.seq, at, taken.what);
      case "withdrawn":
        return this.#close(taken.seq, at, "withdrawn");
      case "outcome":
        if (taken.outcome === "succeeded") return this.#close(taken.seq, at, "succeeded");
        return this.#goOn(taken.seq, at, taken.outcome);
      case "told":
        return this.#close(taken.seq, at, "went_on");
      case "probed":
        this.#line(taken.seq).probes.push({ at, answer: taken.answer });
        return;
      case "undo":
        return this.#undo(taken, at, actor);
      case "approval":
        return this.#asked(taken, at);
      case "event":
        return this.#mark(at, "event", null, taken.type);
      case "timer":
        return this.#mark(at, "timer", null, taken.id);
      case "verb":
        return this.#mark(at, "verb", taken.by, taken.verb);
      case "control":
        return this.#mark(at, taken.control, taken.by, taken.reason);
      default:
        return;
    }
  }

  #undo({ seq, state }: Extract<Taken, { readonly what: "undo" }>, at: number, actor: string): void {
    if (state === "sent") {
      this.#close(seq, at, "went_on");
      this.#undoing.add(seq);
      return this.#open(seq, "call", at, actor);
    }
    if (state === "halted") return this.#close(seq, at, "halted");
    if (state === "done") this.#close(seq, at, "succeeded");
  }

  #asked({ seq, state }: Extract<Taken, { readonly what: "approval" }>, at: number): void {
    if (state === "asking") return this.#open(seq, "people", at, null);
    if (state === "approved" || state === "rejected" || state === "expired") this.#close(seq, at, state);
  }

  /** A new span of a row, after whatever was before. */
  #open(seq: number, kind: SpanKind, from: number, worker: string | null): void {
    this.#close(seq, from, "went_on");
    const { spans } = this.#line(seq);
    const send = spans.filter((span) => span.kind === "call").length + (kind === "call" ? 1 : 0);
    spans.push({ kind, from, to: null, send, worker, end: null });
  }

  /** Its call is not under way any more, and the row is not over. */
  #goOn(seq: number, at: number, end: SpanEnd): void {
    this.#close(seq, at, end);
    this.#open(seq, "between", at, null);
  }

  #close(seq: number, at: number, end: SpanEnd): void {
    closeLast(this.#line(seq).spans, at, end);
  }

  #line(seq: number): LaidLine {
    const side = this.#undoing.has(seq) ? "undo" : "action";
    const key = `${side}:${seq}`;
    const line = this.lines.get(key) ?? { seq, side, spans: [], probes: [] };
    this.lines.set(key, line);
    return line;
  }

  #mark(at: number, what: Mark["what"], worker: string | null, note: string | null = null): void {
    const isFound = what === "crash" || what === "hand_over";
    const [from, heardAt] = isFound ? [this.#worker, this.#heardAt] : [null, null];
    this.marks.push({ at, what, worker, from, heardAt, note });
  }
}

function closeLast(spans: Open<Span>[], at: number, end: SpanEnd): void {
  const last = spans.at(-1);
  if (last === undefined || last.to !== null) return;
  [last.to, last.end] = [at, end];
  // What ends where it began took no time.
  if (last.kind === "between" && last.from === at) spans.pop();
}

function noteIn(taken: readonly Taken[]): string | null {
  const notes = taken.flatMap((each) => (each.what === "parked" ? [each.note ?? null] : []));
  return notes[0] ?? null;
}
