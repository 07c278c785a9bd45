/**
 * The one checker: compares three witnesses (the world's own lines, the store, the client's history) and names what does
 * not agree. It is offline: it runs when the faults are over and knows nothing of how the runs were driven.
 *
 * Checks I1 to I9 of the fault model: nothing accepted is lost (I1), one run and one verb a key (I2), no effect twice and
 * none missing (I3), a gap-free log from which every snapshot follows (I4), fences that never go back (I5), intent before effect (I6), compensated exactly
 * what happened (I7), in reverse (I8), nothing left queued (I9). What people decided (A1 to A4) is `checker-people.ts`'s, what
 * bounds a run (B1 to B3) and whose turn it was (L1) `checker-bounds.ts`'s.
 */
import { isDeepStrictEqual } from "node:util";
import {
  foldLog,
  type LogEntry,
  machineOf,
  operationId,
  type Row,
  type RunRecord,
  type RunRef,
  runKey,
  type Store,
  type Taken,
} from "../../src/core/index.ts";
import { rowIsOpen } from "../../src/core/rows.ts";
import type { SagaSpec } from "../../src/saga/index.ts";
import type { WorldEntry } from "../../src/testing/index.ts";
import { checkBounds, checkTurns } from "./checker-bounds.ts";
import { checkApprovals, checkApproved, type SaidOn } from "./checker-people.ts";
import { callOfItem } from "./fault-services.ts";

/** What a client did and was told. `info`: it does not know whether it happened. */
export interface ClientEvent {
  readonly op: "start" | "signal" | "cancel" | "verb" | "decide";
  readonly run: RunRef;
  readonly outcome: "ok" | "fail" | "info";
  /** Of what somebody said on an approval. */
  readonly decision?: SaidOn;
}

export interface Witnesses {
  readonly namespace: string;
  readonly sagas: readonly SagaSpec[];
  readonly world: readonly WorldEntry[];
  readonly store: Pick<Store, "read" | "ledger" | "log">;
  readonly client: readonly ClientEvent[];
  /** Wake-ups that lie in the queue for a run, at rest. */
  readonly queued?: (run: RunRef) => Promise<number>;
}

export interface CheckReport {
  readonly violations: readonly string[];
  readonly checks: readonly string[];
  readonly arrivals: number;
  readonly effects: number;
  readonly runs: number;
  readonly byStatus: Readonly<Record<string, number>>;
  /** What people decided, and how often: verbs, and what else was asked of a run. */
  readonly decided: Readonly<Record<string, number>>;
}

interface Seen {
  readonly arrivals: readonly WorldEntry[];
  readonly effects: readonly WorldEntry[];
}

/** A run as the store has it, and its saga. */
export interface Book {
  readonly ref: RunRef;
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  readonly log: readonly LogEntry[];
  readonly saga: SagaSpec | undefined;
}

export type Complain = (invariant: string, what: string) => void;
const names = ["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I9"];
/** Of people, bounds and turns: they hold of any run, and say something of those that have such things. */
const ofPeople = ["A1", "A2", "A3", "A4", "B1", "B2", "B3", "L1"];

export async function check(witnesses: Witnesses): Promise<CheckReport> {
  const violations: string[] = [];
  const complain: Complain = (invariant, what) => violations.push(`${invariant}: ${what}`);
  const byOperation = operations(witnesses.world);
  const known = new Set<string>();
  const byStatus: Record<string, number> = {};
  const decided: Record<string, number> = {};
  const books: Book[] = [];
  for (const ref of startedRuns(witnesses.client)) {
    const book = await bookOf(witnesses, ref);
    if (book === null) {
      if (wasAccepted(witnesses.client, ref)) complain("I1", `${runKey(ref)} was accepted and is not there`);
      continue;
    }
    byStatus[book.record.status] = (byStatus[book.record.status] ?? 0) + 1;
    for (const what of decisionsOf(book)) decided[what] = (decided[what] ?? 0) + 1;
    for (const id of idsOf(witnesses.namespace, book)) known.add(id);
    books.push(book);
    checkBook(witnesses, book, byOperation, complain);
    await checkQueued(witnesses, book, complain);
  }
  checkTurns(books, complain);
  for (const id of byOperation.keys()) if (!known.has(id)) complain("I6", `the world saw ${id}, no ledger has it`);
  const count = (kind: WorldEntry["kind"]) => witnesses.world.filter((entry) => entry.kind === kind).length;
  const checks = [...(witnesses.queued === undefined ? names.slice(0, 8) : names), ...ofPeople];
  const runs = startedRuns(witnesses.client).length;
  return { violations, checks, arrivals: count("arrival"), effects: count("effect"), runs, byStatus, decided };
}

function decisionsOf({ log }: Book): readonly string[] {
  return log
    .flatMap((entry) => entry.taken)
    .flatMap((taken) => (taken.what === "verb" ? [taken.verb] : taken.what === "control" ? [taken.control] : []));
}

function checkBook(witnesses: Witnesses, book: Book, seen: ReadonlyMap<string, Seen>, complain: Complain): void {
  const say: Complain = (invariant, what) => complain(invariant, `${runKey(book.ref)}: ${what}`);
  checkEnd(book, say);
  checkVerbs(book, say);
  checkLog(book, say);
  checkApprovals(book, witnesses.client, say);
  checkBounds(book, say);
  for (const row of book.rows) {
    checkSide(witnesses, book, row, "action", seen, say);
    checkSide(witnesses, book, row, "undo", seen, say);
    checkUndone(witnesses, book, row, seen, say);
  }
  checkOrder(witnesses, book, seen, say);
}

// ---- I1, I2, I4, I5, I9

const restful = new Set(["completed", "failed", "cancelled", "needs_review", "waiting", "paused"]);

function checkEnd({ record, rows }: Book, say: Complain): void {
  if (!restful.has(record.status)) say("I1", `is still ${record.status}`);
  if (record.status === "needs_review" && record.review === null) say("I1", "is parked for no reason");
  const ended = record.endedAt !== null;
  const open = rows.filter(rowIsOpen).map(({ seq }) => seq);
  if (ended && open.length > 0) say("I1", `ended with open rows ${open.join(", ")}`);
  if (!isDeepStrictEqual(record.open, open)) say("I4", `rows ${open} are open, the record says ${record.open}`);
  if (rows.length !== record.rows) say("I4", `the ledger has ${rows.length} rows, the record says ${record.rows}`);
}

function checkVerbs({ log }: Book, say: Complain): void {
  const reviews = log.flatMap((entry) => entry.taken).flatMap((taken) => (taken.what === "verb" ? [taken.review] : []));
  if (new Set(reviews).size !== reviews.length) say("I2", "two verbs were taken on one review");
}

function checkLog({ record, rows, log, saga }: Book, say: Complain): void {
  if (log.length !== record.revision - record.logFrom + 1)
    say("I4", `the log has ${log.length} entries from ${record.logFrom} on, the revision is ${record.revision}`);
  if (log.at(-1)?.digest !== record.logDigest) say("I4", "the newest digest is not the record's");
  if (saga !== undefined) {
    const steps = foldLog(machineOf(saga), { record, rows }, log);
    const last = steps.at(-1);
    if (last !== undefined && last.problem !== null) say("I4", `revision ${last.revision}: ${last.problem}`);
    else if (!isDeepStrictEqual(last?.snapshot, record.snapshot))
      say("I4", "the snapshot is not what the log leads to");
  }
  let fence = 0;
  for (const [index, entry] of log.entries()) {
    const revision = record.logFrom + index;
    if (entry.revision !== revision) say("I4", `entry ${revision} says revision ${entry.revision}`);
    if (entry.fence < fence)
      say("I5", `revision ${entry.revision} was written under fence ${entry.fence} after ${fence}`);
    fence = Math.max(fence, entry.fence);
  }
}

async function checkQueued({ queued }: Witnesses, { ref, record }: Book, complain: Complain): Promise<void> {
  if (queued === undefined) return;
  const jobs = await queued(ref);
  if (jobs > 1) complain("I9", `${runKey(ref)} has ${jobs} wake-ups queued`);
  if (jobs > 0 && record.endedAt !== null) complain("I9", `${runKey(ref)} has ended and has ${jobs} wake-ups queued`);
}

// ---- I3, I6

function checkSide(
  w: Witnesses,
  book: Book,
  row: Row,
  side: "action" | "undo",
  all: ReadonlyMap<string, Seen>,
  say: Complain,
): void {
  // What a child did outside stands in its own book.
  if (row.kind === "child") return;
  const call = side === "action" ? row.call : row.undo?.call;
  const id = operationId(w.namespace, book.ref, row, side);
  const seen = all.get(id);
  if (call === undefined || call === null) {
    if (seen !== undefined) say("I6", `${id} arrived, but its row has no ${side}`);
    return;
  }
  const effects = mostOfOne(seen?.effects ?? []);
  const arrivals = mostOfOne(seen?.arrivals ?? []);
  if (effects > 1 && call.effect !== "none") say("I3", `${id} (${call.effect}) had ${effects} effects`);
  const grants = grantsOf(book, row, side);
  if (call.effect === "once" && arrivals > grants)
    say("I3", `${id} (once) arrived ${arrivals} times for ${grants} grants`);
  if (arrivals > 0 && call.firstSentRevision === null) say("I6", `${id} arrived, but was never said to be sent`);
  checkOutcome(row, side, call, effects, id, say);
  for (const entry of seen?.arrivals ?? []) {
    checkSaw(entry, id, say);
    if (side === "action") checkApproved(entry, id, say);
  }
}

/** A call may carry several items, each with an operation id of its own: how many lines there are of the same one. */
function mostOfOne(entries: readonly WorldEntry[]): number {
  const counts = new Map<string, number>();
  for (const { operationId: id } of entries) counts.set(id, (counts.get(id) ?? 0) + 1);
  return Math.max(0, ...counts.values());
}

function checkOutcome(row: Row, side: string, call: Row["call"], effects: number, id: string, say: Complain): void {
  if (call.effect === "none" || call.proof === "person") return;
  if (call.state === "succeeded" && effects === 0 && row.reference === null)
    say("I3", `${id} is succeeded, the world saw nothing`);
  if (call.state === "withdrawn" && effects > 0) say("I3", `${id} is withdrawn, the world saw it`);
  if (call.state === "not_applied" && effects > 0) say("I3", `${id} (${side}) is not applied, the world saw it`);
}

function wasRestored(log: readonly LogEntry[]): boolean {
  return log.some((entry) => entry.taken.some((taken) => taken.what === "restored"));
}

function grantsOf({ log }: Book, row: Row, side: "action" | "undo"): number {
  // Grants that the store has forgotten are known by the row that came back.
  if (wasRestored(log)) return (side === "action" ? row.call : row.undo?.call)?.send ?? 0;
  const all = log.flatMap((entry) => entry.taken);
  if (side === "undo") return all.filter((t) => t.what === "undo" && t.seq === row.seq && t.state === "sent").length;
  return all.filter((t) => (t.what === "sent" || t.what === "offered") && t.seq === row.seq).length;
}

function checkSaw(entry: WorldEntry, id: string, say: Complain): void {
  if (entry.saw === undefined) return;
  const saw = entry.saw as { readonly intent?: unknown };
  if (saw.intent !== true) say("I6", `${id} arrived before its row said so: ${JSON.stringify(entry.saw)}`);
}

// ---- I7, I8

function checkUndone(w: Witnesses, book: Book, row: Row, all: ReadonlyMap<string, Seen>, say: Complain): void {
  const did = all.get(operationId(w.namespace, book.ref, row))?.effects.length ?? 0;
  const undoing = all.get(operationId(w.namespace, book.ref, row, "undo"));
  const undid = undoing?.effects.length ?? 0;
  // A compensation that changes nothing is seen to arrive.
  const isAnswered = undid > 0 || (row.undo?.call?.effect === "none" && (undoing?.arrivals.length ?? 0) > 0);
  const { status, rollback } = book.record;
  if (row.undo?.state === "not_needed" && did > 0 && row.undo.reason === null)
    say("I7", `${row.step} happened and was called not needed`);
  if (undid > 0 && did === 0 && book.saga?.steps[row.step]?.compensateIfUnknown !== true) {
    say("I7", `${row.step} was undone, but never happened`);
  }
  // A run that went back to a savepoint has undone what came after it.
  const wasRewound = row.told === "nothing";
  if (undid > 0 && status === "completed" && !row.abandoned && !wasRewound)
    say("I7", `${row.step} was undone in a completed run`);
  const undoable = book.saga?.steps[row.step]?.compensation !== null;
  // What can be undone is kept only where the machine has left it.
  const isKept = row.undo?.state === "kept" && row.abandoned;
  const gone = (status === "failed" || status === "cancelled") && rollback === "complete";
  if (gone && undoable && did > 0 && row.call.effect !== "none" && !isAnswered && !isKept) {
    say("I7", `${row.step} happened and was not undone`);
  }
}

/** Had a person left its effect, so that it was undone, if at all, after those that it would have held back? */
function wasLeft({ log }: Book, seq: number): boolean {
  const isLeft = (taken: Taken): boolean =>
    (taken.what === "undo" && taken.seq === seq && taken.state === "skipped") ||
    (taken.what === "verb" && taken.verb === "close");
  return log.some((entry) => entry.taken.some(isLeft));
}

/**
 * Undone in reverse of the order in which they happened, where the rows are not of sibling regions. Of tools that one action
 * asked for side by side neither came first.
 */
function checkOrder(w: Witnesses, book: Book, all: ReadonlyMap<string, Seen>, say: Complain): void {
  const pairs = book.rows.flatMap((row) => {
    const seen = all.get(operationId(w.namespace, book.ref, row));
    const did = seen?.effects[0];
    const undid = all.get(operationId(w.namespace, book.ref, row, "undo"))?.effects[0];
    const came = seen?.arrivals[0]?.n ?? 0;
    return did === undefined || undid === undefined || row.abandoned ? [] : [{ row, came, did: did.n, undid: undid.n }];
  });
  for (const a of pairs) {
    for (const b of pairs) {
      const apart = a.row.region.join() !== b.row.region.join();
      const areTools = a.row.tool !== null && a.row.tool.parent === b.row.tool?.parent;
      // Tools of one action may be side by side; of a run that went back to a savepoint, what came later was not there yet.
      const isLater = a.did < (areTools ? b.came : b.did) && b.did < a.undid;
      if (!apart && isLater && a.undid < b.undid && !wasLeft(book, b.row.seq))
        say("I8", `${a.row.step} was undone before ${b.row.step}`);
    }
  }
}

// ---- the witnesses

function operations(world: readonly WorldEntry[]): ReadonlyMap<string, Seen> {
  const map = new Map<string, { arrivals: WorldEntry[]; effects: WorldEntry[] }>();
  for (const entry of world) {
    if (entry.kind === "query") continue;
    const call = callOfItem(entry.operationId);
    const seen = map.get(call) ?? { arrivals: [], effects: [] };
    map.set(call, seen);
    (entry.kind === "arrival" ? seen.arrivals : seen.effects).push(entry);
  }
  return map;
}

function startedRuns(client: readonly ClientEvent[]): readonly RunRef[] {
  const runs = new Map<string, RunRef>();
  for (const event of client) if (event.op === "start") runs.set(runKey(event.run), event.run);
  return [...runs.values()];
}

function wasAccepted(client: readonly ClientEvent[], ref: RunRef): boolean {
  return client.some((event) => event.op === "start" && event.outcome === "ok" && runKey(event.run) === runKey(ref));
}

/** All of one revision: a run that has ended may still put down that it gave its turn, or what was told of it. */
async function bookOf({ store, sagas }: Witnesses, ref: RunRef): Promise<Book | null> {
  let record = await store.read(ref);
  for (;;) {
    if (record === null) return null;
    const [rows, log] = await Promise.all([store.ledger(ref), store.log(ref)]);
    const now = await store.read(ref);
    if (now?.revision === record.revision) return bookIn(sagas, { ref, record, rows, log });
    record = now;
  }
}

function bookIn(sagas: Witnesses["sagas"], { ref, record, rows, log }: Omit<Book, "saga">): Book {
  const saga = sagas.find((candidate) => candidate.name === record.saga && candidate.version === record.version);
  return { ref, record, rows, log, saga };
}

/** Every operation id a row ever had: one for each generation of its key. */
function idsOf(namespace: string, { ref, rows }: Book): readonly string[] {
  return rows.flatMap((row) => {
    const generations = Array.from({ length: row.call.generation }, (_, n) => ({
      ...row,
      call: { ...row.call, generation: n + 1 },
    }));
    return generations.flatMap((each) => [
      operationId(namespace, ref, each),
      operationId(namespace, ref, each, "undo"),
    ]);
  });
}
