/**
 * One ledger of two. A run of which the store had forgotten a part may have gone on in two ways from there: as the store has
 * it, and as somebody remembers it. Whatever was done outside in either has been done.
 *
 * Invariants: N1 two rows are one where both are the same occurrence of the same step, for that is how the outside knows the
 * effect (`ids.ts`). N2 of two words on one call counts the one that says more of the outside (that it has happened, before
 * that it may have; that nothing is there says so only of its own send); what has been undone in either is undone. N3 no send number is given twice.
 * N4 what was asked for only in the course that is not gone on with is abandoned, and so found out and undone.
 */
import { doubtOf, later } from "../rows.ts";
import type { Call, Row, Undo } from "../run/index.ts";

/** The rows of the course that goes on, with what is known of the other one; those come after them that only it has. */
export function joined(goesOn: readonly Row[], other: readonly Row[]): readonly Row[] {
  const others = new Map(other.map((row) => [nameOf(row), row]));
  const rows = goesOn.map((row) => {
    const twin = others.get(nameOf(row));
    return twin === undefined ? row : both(row, twin);
  });
  const seqs = new Map(rows.map((row) => [nameOf(row), row.seq]));
  for (const row of other) {
    if (seqs.has(nameOf(row))) continue;
    const seq = rows.length + 1;
    seqs.set(nameOf(row), seq);
    // What asked for a tool stands before it, so it has its place by now.
    const seqOf = (parent: number): number => seqs.get(nameOf(other[parent - 1] as Row)) as number;
    rows.push(left(row, seq, seqOf));
  }
  return rows;
}

function nameOf({ step, occurrence }: Row): string {
  return `${step}/${occurrence}`;
}

/** Nobody waits for it any more, and a request for the same finds another row. */
function left(row: Row, seq: number, seqOf: (parent: number) => number): Row {
  const { tool, told } = row;
  const renamed = tool === null ? null : { ...tool, parent: seqOf(tool.parent), match: `${tool.match}~${seq}` };
  return { ...row, seq, tool: renamed, abandoned: true, told: told ?? "nothing" };
}

function both(row: Row, twin: Row): Row {
  const spent = [...new Set([...(row.spent ?? []), ...(twin.spent ?? [])])];
  const same: Row = {
    ...row,
    call: bothCalls(row.call, twin.call),
    undo: bothUndone(row, twin),
    child: row.child ?? twin.child,
    ...(spent.length === 0 ? {} : { spent }),
  };
  if (!saysMore(twin.call, row.call)) return same;
  const { output, unusable, reference, intent } = twin;
  // The machine may have been told that nothing is there, and has gone on without it.
  return { ...same, output, unusable, reference, intent, abandoned: row.abandoned || row.told === "failure" };
}

/** The very call where the other word adds nothing. */
function bothCalls(call: Call, twin: Call): Call {
  const isTwins = saysMore(twin, call);
  const [counts, other] = isTwins ? [twin, call] : [call, twin];
  const isCounted = isOneSend(counts, other) || knowsOf(counts, other);
  const send = Math.max(call.send, twin.send);
  const firstSentAt = earlier(call.firstSentAt, twin.firstSentAt);
  const firstSentRevision = earlier(call.firstSentRevision, twin.firstSentRevision);
  // Both may have been sent: what the other one did may still arrive.
  const doubtUntil = isCounted ? counts.doubtUntil : later(counts.doubtUntil, mayHappenUntil(other));
  const senders = isCounted || certaintyOf(counts) === "happened" ? counts.senders : sendersOf(counts, other);
  const isSent = send === call.send && firstSentAt === call.firstSentAt && firstSentRevision === call.firstSentRevision;
  const isDoubt = doubtUntil === call.doubtUntil && senders === call.senders;
  if (isSent && isDoubt && counts === call) return call;
  return { ...counts, send, firstSentAt, firstSentRevision, doubtUntil, senders };
}

function sendersOf({ senders }: Call, other: Call): Call["senders"] {
  if (certaintyOf(other) !== "may") return senders;
  const more = other.senders.filter(
    ({ send, owner }) => !senders.some((known) => known.send === send && known.owner === owner),
  );
  return more.length === 0 ? senders : [...senders, ...more];
}

/** An undoing that was thought needless is judged anew once there may be something to undo. */
function bothUndone({ call, undo }: Row, twin: Row): Undo | null {
  const isNew = saysMore(twin.call, call) && undo?.state === "not_needed";
  const known = isNew ? null : undo;
  const [own, theirs] = [known?.call ?? null, twin.undo?.call ?? null];
  if (theirs === null) return known;
  if (own === null) return certaintyOf(theirs) === "not" ? known : twin.undo;
  // Each has a call, so each is there.
  return { ...((saysMore(theirs, own) ? twin.undo : known) as Undo), call: bothCalls(own, theirs) };
}

/** What a call says of the outside. */
type Certainty = "happened" | "may" | "not";

/** Does the other word on a call say more than this one? */
function saysMore(twin: Call, call: Call): boolean {
  const [theirs, own] = [certaintyOf(twin), certaintyOf(call)];
  if (theirs === "happened" || own === "happened") return own !== "happened";
  if (knowsOf(twin, call)) return true;
  if (knowsOf(call, twin)) return false;
  if (theirs === own) return own === "may" && twin.send > call.send;
  // What one word leaves open of a send the other may know not to have happened; of two sends each may have.
  return own === (isOneSend(twin, call) ? "may" : "not");
}

function isOneSend(a: Call, b: Call): boolean {
  return a.send === b.send && (a.sentAt === b.sentAt || a.state === "offered" || b.state === "offered");
}

/** Was it sent again after what the other word is about, which was the first send of both? */
function knowsOf(call: Call, { send, firstSentAt }: Call): boolean {
  return send === 1 && call.send > 1 && call.firstSentAt === firstSentAt;
}

function certaintyOf(call: Call): Certainty {
  switch (call.state) {
    case "succeeded":
      return "happened";
    case "offered":
    case "sent":
    case "unknown":
      return "may";
    case "planned":
    case "claiming":
      return doubtOf(call) === null ? "not" : "may";
    case "reused":
    case "not_applied":
    case "withdrawn":
      return "not";
  }
}

function mayHappenUntil(call: Call): number | null {
  return certaintyOf(call) === "may" ? later(call.doubtUntil, call.deadline) : null;
}

function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
