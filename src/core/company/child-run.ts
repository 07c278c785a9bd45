/**
 * A run that a row of another run starts: its id, what it is asked when it is to go back, and the word that it leaves with its
 * parent. `child-start.ts` owns its first record; what the parent makes of it is `children.ts`'s.
 *
 * Invariants: H1 the id follows from parent, row and generation alone, so however often it is started there is one. H2 what a
 * parent asks of it is asked under one slot, so asking again changes nothing.
 */
import type { SagaSpec } from "../../saga/index.ts";
import { reportOf, sharesUnheard } from "../bounds/shares.ts";
import { digestOf, hashOf } from "../digest.ts";
import type { SendCommand } from "../ports.ts";
import type { Side } from "../rows.ts";
import type { InboxBody, Row, RowChild, RunRecord, RunRef } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";

/** Longest id of a run; a longer one ends in a hash of it. */
const maxIdChars = 64;

/** `<parent>.<row>`, `-<generation>` from the second on. */
export function childRef({ tenant, id }: RunRef, { seq, call }: Pick<Row, "seq" | "call">): RunRef {
  const whole = `${id}.${seq}${call.generation > 1 ? `-${call.generation}` : ""}`;
  if (whole.length <= maxIdChars) return { tenant, id: whole };
  const hash = digestOf(whole);
  return { tenant, id: `${whole.slice(0, maxIdChars - hash.length - 1)}.${hash}` };
}

/** Was the run that has the child's id started by this very row? */
export function isChildOf(
  { saga, version, parent }: RunRecord,
  { run, seq, of }: { readonly run: RunRef; readonly seq: number; readonly of: Pick<SagaSpec, "name" | "version"> },
): boolean {
  return saga === of.name && version === of.version && parent?.run === run.id && parent.seq === seq;
}

/**
 * What becomes of a child that is not in the store. One that this row has never seen is none of its own. One that it has is kept as
 * long as its parent is, so the store has forgotten it: it is left to those who may remember more, and begun again after them.
 */
export function ofMissing({ child }: Pick<Row, "child">, mayBeRemembered: boolean): "foreign" | "wait" | "begin" {
  if (child === null) return "foreign";
  return mayBeRemembered ? "wait" : "begin";
}

type Request = Pick<SendCommand, "slot" | "commandId" | "by" | "body">;

/** What is sent to a child that its parent does not want any more; `null`: nothing is left to ask. */
export function requestTo(child: RunRecord, parent: RunRecord): Request | null {
  const { status } = child;
  const by = `run ${parent.id}`;
  const reason = `run ${parent.id}, which started it, goes back: ${parent.cause?.message ?? "it went on without it"}`;
  const commandId = `${by} ${child.id}`;
  if (!hasEnded(status)) {
    const mode = parent.cancel?.mode ?? "compensate";
    const slot = mode === "compensate" ? "cancel" : `cancel:${mode}`;
    return { slot, commandId, by, body: { type: "cancel", mode, reason } };
  }
  if (status === "cancelled" || leavesNothing(child)) return null;
  return { slot: "undo:parent", commandId, by, body: { type: "undo", reason, despitePivot: false } };
}

/** Is it proven that nothing of it is left, but for what stays by declaration? */
export function leavesNothing({ status, rollback }: Pick<RunRecord, "status" | "rollback">): boolean {
  if (status !== "failed" && status !== "cancelled") return false;
  return rollback === "complete" || rollback === "not_applicable";
}

/** What a child leaves with its parent when there is something that this is to know; `null`: nothing. */
export function wordToParent(before: RunRecord, after: RunRecord): SendCommand | null {
  const { parent, tenant, id, revision } = after;
  if (parent === null || parent.detached || !isNews(before, after)) return null;
  const body: InboxBody = { type: "child", seq: parent.seq, run: id };
  const commandId = `${id} ${revision}`;
  return { run: { tenant, id: parent.run }, slot: `child:${parent.seq}.${revision}`, commandId, by: `run ${id}`, body };
}

/** It has ended, was parked, goes on after that, or wants more of a budget. */
function isNews(before: RunRecord, after: RunRecord): boolean {
  const { status } = after;
  const isParked = status === "needs_review" || before.status === "needs_review";
  return (before.status !== status && (hasEnded(status) || isParked)) || wantsMore(before, after);
}

function wantsMore(before: RunRecord, after: RunRecord): boolean {
  return Object.entries(after.budgets).some(
    ([name, { short }]) => short !== undefined && before.budgets[name]?.short !== short,
  );
}

/** What a child that wants more is told where its parent has ended; `null`: it wants nothing. */
export function wordToOrphan(child: RunRecord): SendCommand | null {
  if (Object.values(child.budgets).every(({ short }) => short === undefined)) return null;
  const { tenant, id } = child;
  const by = `run ${id}`;
  return { run: { tenant, id }, slot: "share:none", commandId: by, by, body: { type: "share", shares: null } };
}

/** A child as its parent sees it. */
export function seenAs(record: RunRecord): RowChild {
  const { id, status, rollback, revision, review } = record;
  const rests = doesRest(record) ? ({ rests: true } as const) : {};
  return { run: id, status, rollback, revision, why: review?.message ?? null, ...rests, ...reportOf(record) };
}

/** (What waits for a run that it has started, or for a budget, goes on by itself.) */
function doesRest({ status, waitingFor }: RunRecord): boolean {
  if (status === "waiting") return waitingFor !== "child" && waitingFor !== "budget";
  return status === "paused" || status === "needs_review";
}

/** What tells a child of what it may use by now, of which it has not heard; `null`: nothing. */
export function shareFor(child: RunRecord, parent: RunRecord, row: Row): Request | null {
  const shares = sharesUnheard(row, child);
  if (shares === null || hasEnded(child.status)) return null;
  const by = `run ${parent.id}`;
  const slot = `share:${hashOf(shares)}`;
  return { slot, commandId: `${by} ${slot}`, by, body: { type: "share", shares } };
}

/** What a parent waits for, in words. */
export function childInWords({ child }: Row, side: Side): string {
  if (child === null) return "the run that it may have started could not be asked yet";
  const { run, status, why } = child;
  if (why !== null) return `run ${run} is parked for a person: ${why}`;
  return side === "action" ? `run ${run} is ${status}` : `run ${run} goes back; it is ${status}`;
}
