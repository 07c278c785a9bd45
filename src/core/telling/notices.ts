/**
 * What is told to whoever wants to hear of runs that end, park or wait. Owns which commits are worth it and what is said of them;
 * `courier.ts` when it is sent. Invariants: N1 what is to be told is owed from the write on that made it true. N2 it is the same
 * text however often it is sent, and names no input, output or message of the run. N3 one commit owes a hook one notice at most.
 */
import type { Commit } from "../commit.ts";
import type { Cause, RunRecord, RunRef } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";

/** `end`: it has ended. `park`: a person must look at it. `wait`: it waits for something else than before. */
export type NoticeKind = "end" | "park" | "wait";
export const noticeKinds = ["end", "park", "wait"] as const satisfies readonly NoticeKind[];

/** What a receiver made of a notice. `refused`: it is never to be sent again. */
export type NoticeFate = "taken" | "refused" | "failed";

/** Somebody who wants to hear. What is owed to it lies in the store under its name. */
export interface NoticeHook {
  readonly name: string;
  readonly on: readonly NoticeKind[];
  /** Of these only; `null`: of all. */
  readonly sagas: readonly string[] | null;
  readonly tenants: readonly string[] | null;
}

/** One thing to be told. */
export interface Notice {
  readonly event: NoticeKind;
  readonly tenant: string;
  readonly run: string;
  readonly saga: string;
  readonly version: number;
  /** Of the log entry that it is about. */
  readonly revision: number;
  /** Store time. */
  readonly at: number;
  readonly status: RunRecord["status"];
  readonly rollback: RunRecord["rollback"];
  readonly waitingFor: RunRecord["waitingFor"];
  /** What a person is asked; `null`: nothing. */
  readonly review: { readonly n: number; readonly reason: string } | null;
  readonly cause: Pick<Cause, "kind" | "step"> | null;
}

/** A notice as it lies in the store: of one hook and shard they come by time, then by text, which begins with the revision. */
export interface OwedNotice {
  readonly hook: string;
  readonly text: string;
}

export interface TakeNoticesCommand {
  readonly shard: number;
  readonly hook: string;
  /** Whoever takes them; nobody else does for `leaseMs`. 0: it takes none any more. */
  readonly owner: string;
  readonly leaseMs: number;
  readonly limit: number;
  /** More than these are not kept: the oldest go. */
  readonly most: number;
}

export type TakeNoticesAnswer =
  /** The oldest that are owed, and how many were lost for want of room. */
  | { readonly answer: "OK"; readonly texts: readonly string[]; readonly lost: number }
  /** Another one takes them. */
  | { readonly answer: "HELD" };

/** What is owed to one hook, in all shards. */
export interface OwedToHook {
  readonly hook: string;
  readonly owed: number;
  /** Store time of the oldest; `null`: none is owed. */
  readonly oldestAt: number | null;
  /** Since the hook has been known. */
  readonly lost: number;
}

/** Where notices are owed until they were told. They are written by `commit`. */
export interface NoticeBox {
  takeNotices(command: TakeNoticesCommand): Promise<TakeNoticesAnswer>;
  /** They are owed no more. */
  dropNotices(shard: number, hook: string, texts: readonly string[]): Promise<void>;
  /** By name, of every hook that was ever known. */
  noticesOwed(): Promise<{ readonly hooks: readonly OwedToHook[]; readonly now: number }>;
}

/** What a commit owes. */
export function noticesOf(
  hooks: readonly NoticeHook[],
  before: RunRecord,
  { record, log }: Commit,
): readonly OwedNotice[] {
  if (hooks.length === 0) return [];
  const event = kindOf(before, record);
  if (event === null) return [];
  const wanted = hooks.filter((hook) => wants(hook, event, record));
  if (wanted.length === 0) return [];
  const text = textOf(noticeOf(event, record, log.at));
  return wanted.map(({ name }) => ({ hook: name, text }));
}

function kindOf(before: RunRecord, after: RunRecord): NoticeKind | null {
  if (hasEnded(after.status)) return hasEnded(before.status) ? null : "end";
  if (after.review !== null) return before.review?.n === after.review.n ? null : "park";
  if (after.status !== "waiting") return null;
  return before.status === "waiting" && before.waitingFor === after.waitingFor ? null : "wait";
}

function wants({ on, sagas, tenants }: NoticeHook, event: NoticeKind, { saga, tenant }: RunRecord): boolean {
  return on.includes(event) && (sagas?.includes(saga) ?? true) && (tenants?.includes(tenant) ?? true);
}

function noticeOf(event: NoticeKind, record: RunRecord, at: number): Notice {
  const { tenant, id, saga, version, revision, status, rollback, waitingFor, review, cause } = record;
  return {
    ...{ event, tenant, run: id, saga, version, revision, at, status, rollback, waitingFor },
    review: review === null ? null : { n: review.n, reason: review.reason },
    cause: cause === null ? null : { kind: cause.kind, step: cause.step },
  };
}

/** Revisions of one run that were written in the same millisecond stay in their order. */
function textOf(notice: Notice): string {
  return `${String(notice.revision).padStart(10, "0")} ${JSON.stringify(notice)}`;
}

/** The way back; what lies there was put there by a commit. */
export function noticeIn(text: string): Notice {
  return JSON.parse(text.slice(text.indexOf(" ") + 1)) as Notice;
}

/** The same on every delivery, and no other notice's. */
export function noticeId(namespace: string, { tenant, run, revision }: Notice): string {
  return `${namespace}/${tenant}/${run}/${revision}`;
}

export function runOfNotice({ tenant, run }: Notice): RunRef {
  return { tenant, id: run };
}
