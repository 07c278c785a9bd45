/** What must hold after every decision, whatever the saga and whatever happened (design sections 6 and 7; house rule R1 to R5). */
import { isDeepStrictEqual } from "node:util";
import {
  type CallOrder,
  type DecideInput,
  type Decision,
  evolve,
  hasEnded,
  isAsking,
  type LogEntry,
  type Row,
  type Run,
} from "../../src/core/index.ts";
import { rowIsOpen } from "../../src/core/rows.ts";

export interface Checked {
  readonly before: Run;
  readonly decision: Decision;
  readonly input: DecideInput;
  /** Entries before this decision. */
  readonly log: readonly LogEntry[];
}

export function checkDecision(checked: Checked): void {
  const { decision, before } = checked;
  const problems = [...rules].flatMap(([name, isBroken]) => (isBroken(checked) ? [name] : []));
  if (problems.length === 0) return;
  const rows = decision.run.rows
    .map((row) => `${row.seq} ${row.step} ${row.call.state} ${row.undo?.state ?? ""}`)
    .join("\n  ");
  const { status, review } = decision.run.record;
  throw new Error(
    `broken: ${problems.join("; ")}\n  was ${before.record.status}, is ${status} ${review?.reason ?? ""}, then ${decision.then}, wanted ${decision.wanted}\n  ${rows}`,
  );
}

/** `true`: broken. */
const rules = new Map<string, (checked: Checked) => boolean>([
  [
    "the revision is the length of the log",
    ({ decision: { run, commit }, log }) =>
      commit !== null && run.record.revision !== log.length + commit.lost.length + 1,
  ],
  [
    "the log entry carries the revision and the chain",
    ({ decision: { commit } }) => commit !== null && !isChained(commit),
  ],
  ["rows are numbered without a gap", ({ decision: { run } }) => run.rows.some((row, index) => row.seq !== index + 1)],
  ["the record counts its rows", ({ decision: { run } }) => run.record.rows !== run.rows.length],
  [
    "open holds exactly the rows that owe something",
    ({ decision: { run } }) => !isDeepStrictEqual([...run.record.open], openOf(run)),
  ],
  ["evolve gives the run of the decision", ({ before, decision }) => !isEvolved(before, decision)],
  [
    "a call is made only for what the commit says is sent",
    ({ decision }) => decision.calls.some((order) => !isGranted(order, decision)),
  ],
  [
    "an offer is of an offered row",
    ({ decision }) => decision.offers.some(({ seq, send }) => !isOffered(decision.run.rows[seq - 1], send)),
  ],
  [
    "a claim is sent only after it is on record",
    ({ decision }) => decision.claims.some(({ seq, claim }) => !isClaiming(decision.run.rows[seq - 1], claim)),
  ],
  [
    "nothing with an intent is sent that is not owned",
    ({ decision }) => decision.calls.some((order) => isUnowned(order, decision.run)),
  ],
  [
    "nothing is sent that people have not let go",
    ({ decision }) => decision.calls.some((order) => isUnasked(order, decision.run)),
  ],
  [
    "asks holds exactly the rows that ask people",
    ({ decision: { run } }) =>
      !isDeepStrictEqual(
        [...run.record.asks],
        run.rows.filter(isAsking).map(({ seq }) => seq),
      ),
  ],
  [
    "compensations go in strict reverse",
    ({ decision, input }) =>
      decision.calls.some((order) => order.kind === "undo" && isOutOfOrder(order, decision.run, input)),
  ],
  ["a request of an action is one row", ({ decision: { run } }) => isDoubled(run)],
  ["what belongs to an action is over before its word counts", ({ decision: { run } }) => isToldEarly(run)],
  ["what was reused is never undone", ({ decision: { run } }) => run.rows.some(isUndoneElsewhere)],
  ["a run that waits for nobody is due", ({ decision }) => isLost(decision)],
  ["what is held is under way or wanted", (checked) => isIdle(checked)],
  ["nothing stays due that was decided on", (checked) => isHot(checked)],
  [
    "an ended run has nothing open",
    ({ decision: { run } }) => hasEnded(run.record.status) && run.record.open.length > 0,
  ],
  ["an unwound run has an answer for every effect", ({ decision: { run }, input }) => isUnfinished(run, input)],
  ["needs_review says what for, and how out of it", ({ decision: { run } }) => !isAskedWell(run)],
  [
    "waiting says what for",
    ({ decision: { run } }) => (run.record.status === "waiting") !== (run.record.waitingFor !== null),
  ],
  [
    "the open review and what people are asked can be answered",
    ({ decision: { run, commit } }) => commit !== null && !isDeepStrictEqual([...commit.openSlots], slotsOf(run)),
  ],
  [
    "an ending or parking commit has seen the inbox",
    ({ decision: { run, commit } }) =>
      commit !== null && !commit.mustSee && (hasEnded(run.record.status) || run.record.review !== null),
  ],
  [
    "an ended run has left nothing unread",
    ({ decision: { run, commit } }) => commit !== null && hasEnded(run.record.status) && run.inbox.length > 0,
  ],
]);

function isChained({ log, lost, record, expects }: NonNullable<Decision["commit"]>): boolean {
  return (
    log.revision === expects + lost.length + 1 && record.revision === log.revision && record.logDigest === log.digest
  );
}

function openOf({ rows }: Run): readonly number[] {
  return rows.filter(rowIsOpen).map((row) => row.seq);
}

function isEvolved(before: Run, { commit, run }: Decision): boolean {
  if (commit === null) return isDeepStrictEqual(run.record, before.record) && isDeepStrictEqual(run.rows, before.rows);
  // Entries that came with the facts are in the store's inbox already.
  const read = new Set(before.inbox.map((entry) => entry.position));
  const { record, rows, inbox } = evolve(before, commit);
  const kept = run.inbox.filter((entry) => read.has(entry.position));
  return isDeepStrictEqual({ record, rows, inbox }, { record: run.record, rows: run.rows, inbox: kept });
}

function isGranted({ kind, seq, side, send }: CallOrder, { run, commit }: Decision): boolean {
  const row = run.rows[seq - 1];
  const call = side === "action" ? row?.call : row?.undo?.call;
  if (call === undefined || call === null || call.send !== send) return false;
  if (kind === "probe") return call.state === "unknown";
  const isWritten = commit?.rows.some((written) => written.seq === seq) === true;
  return isWritten && call.state === "sent" && (side === "action" || row?.undo?.state === "sent");
}

function isClaiming(row: Row | undefined, claim: number): boolean {
  return row?.call.state === "claiming" && row.intent?.claim === claim;
}

function isUnowned({ kind, seq }: CallOrder, { rows }: Run): boolean {
  const intent = rows[seq - 1]?.intent ?? null;
  return kind === "action" && intent !== null && (intent.state !== "mine" || intent.said !== null);
}

function isDoubled({ rows }: Run): boolean {
  const names = rows.flatMap(({ tool }) => (tool === null ? [] : [`${tool.parent} ${tool.match}`]));
  return new Set(names).size < names.length;
}

function isToldEarly({ rows }: Run): boolean {
  return rows.some(({ tool, told }) => {
    const parent = tool === null ? undefined : rows[tool.parent - 1];
    return told === null && (parent?.told === "outcome" || parent?.told === "failure");
  });
}

function isUndoneElsewhere({ call, undo }: Row): boolean {
  return call.state === "reused" && (undo?.call ?? null) !== null;
}

function isOffered(row: Row | undefined, send: number): boolean {
  return row?.call.state === "offered" && row.call.send === send;
}

/** Only rows that stand in no parallel region, or in the same ones, are compared: their order is strict in any case. */
function isOutOfOrder({ seq }: CallOrder, run: Run, { machine }: DecideInput): boolean {
  const row = run.rows[seq - 1];
  if (row === undefined || run.record.unwind === null) return false;
  const strict = machine.saga.unwind === "reverse";
  return run.rows.some((other) => {
    const comparable =
      strict || other.region.length === 0 || row.region.length === 0 || isDeepStrictEqual(other.region, row.region);
    return comparable && isLater(other, row) && !areFanned(other, row) && !isSettled(other, machine);
  });
}

/** Children of one batch are undone side by side. */
function areFanned(a: Row, b: Row): boolean {
  return a.kind === "child" && b.kind === "child" && a.tool !== null && a.tool.parent === b.tool?.parent;
}

function isLater(other: Row, row: Row): boolean {
  const [a, b] = [other.call.firstSentRevision, row.call.firstSentRevision];
  return a !== null && b !== null && (a > b || (a === b && other.seq > row.seq));
}

function isSettled({ call, undo, step }: Row, machine: DecideInput["machine"]): boolean {
  if (undo !== null) return ["done", "not_needed", "kept", "skipped", "accepted"].includes(undo.state);
  const hasNone = call.effect === "none" || machine.saga.steps[step]?.effect === "none";
  return (
    call.state === "not_applied" ||
    call.state === "withdrawn" ||
    call.state === "reused" ||
    (call.state === "succeeded" && hasNone)
  );
}

function isLost({ run, then, wanted }: Decision): boolean {
  if (then === "hold" || wanted !== null) return false;
  const { status, waitingFor } = run.record;
  if (hasEnded(status) || status === "needs_review" || status === "paused") return false;
  return !(status === "waiting" && (waitingFor === "event" || waitingFor === "approval"));
}

function isIdle({ decision: { then, calls, claims, publishes, turn, wanted, run }, input }: Checked): boolean {
  if (claims.length + publishes.length > 0 || turn !== null) return false;
  if (then !== "hold" || calls.length > 0 || input.inFlight.size > 0 || wanted !== null) return false;
  return !run.rows.some((row) => row.call.fence === input.fence || row.undo?.call?.fence === input.fence);
}

/** A tick would find the same thing again, at once. */
function isHot({ decision: { then, commit, wanted, calls }, input: { now } }: Checked): boolean {
  return then === "hold" && commit === null && calls.length === 0 && wanted !== null && wanted <= now;
}

function isUnfinished(run: Run, { machine }: DecideInput): boolean {
  const { status, unwind } = run.record;
  if (unwind === null || !hasEnded(status)) return false;
  return run.rows.some((row) => row.call.firstSentRevision !== null && !isSettled(row, machine));
}

function isAskedWell({ record: { status, review } }: Run): boolean {
  return (status === "needs_review") === (review !== null) && (review === null || review.verbs.includes("close"));
}

function slotsOf({ record: { review, asks }, rows }: Run): readonly string[] {
  const slots = asks.map((seq) => `approval:${seq}.${rows[seq - 1]?.approval?.n}`);
  return review === null ? slots : [`review:${review.n}`, ...slots];
}

/** What is called wants nobody's word, or has it. */
function isUnasked({ kind, seq }: CallOrder, { rows }: Run): boolean {
  const approval = rows[seq - 1]?.approval ?? null;
  return kind === "action" && approval !== null && approval.state !== "approved" && approval.state !== "not_needed";
}
