/**
 * A run that a row of another run starts: its id, what it is asked when it is to go back, and the word that it leaves with its
 * parent. `child-start.ts` owns its first record; what the parent makes of it is `children.ts`'s.
 *
 * Invariants: H1 the id follows from parent, row and generation alone, so however often it is started there is one. H2 what a
 * parent asks of it is asked under one slot, so asking again changes nothing.
 */
import type { SagaSpec } from "../../saga/index.ts";
import { digestOf } from "../digest.ts";
import type { SendCommand } from "../ports.ts";
import type { Side } from "../rows.ts";
import type { InboxBody, Row, RunRecord, RunRef } from "../run/index.ts";
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

/** What a child leaves with its parent when it has ended, was parked, or goes on after that; `null`: nothing. */
export function wordToParent(before: RunRecord, after: RunRecord): SendCommand | null {
  const { parent, status, tenant, id, revision } = after;
  if (parent === null || parent.detached || before.status === status) return null;
  if (!hasEnded(status) && status !== "needs_review" && before.status !== "needs_review") return null;
  const body: InboxBody = { type: "child", seq: parent.seq, run: id };
  const commandId = `${id} ${revision}`;
  return { run: { tenant, id: parent.run }, slot: `child:${parent.seq}.${revision}`, commandId, by: `run ${id}`, body };
}

/** What a parent waits for, in words. */
export function childInWords({ child }: Row, side: Side): string {
  if (child === null) return "the run that it may have started could not be asked yet";
  const { run, status, why } = child;
  if (why !== null) return `run ${run} is parked for a person: ${why}`;
  return side === "action" ? `run ${run} is ${status}` : `run ${run} goes back; it is ${status}`;
}
