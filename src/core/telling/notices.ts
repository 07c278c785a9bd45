/**
 * What is told to whoever wants to hear of runs that end, park or wait. Owns which commits are worth it and what is said of them;
 * `courier.ts` when it is sent. Invariants: N1 what is to be told is owed from the write on that made it true. N2 it is the same
 * text however often it is sent, and names no input, output or message of the run. N3 one commit owes a hook one notice at most.
 */
import type { Commit } from "../commit.ts";
import type { Cause, RunRecord } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";

/** `end`: it has ended. `park`: a person must look at it. `wait`: it waits for something else than before. */
export type NoticeKind = "end" | "park" | "wait";
export const noticeKinds = ["end", "park", "wait"] as const satisfies readonly NoticeKind[];

/** What a receiver made of a notice. `refused`: it is never to be sent again. `away`: the receiver is not there for now, whatever it is sent. */
export type NoticeFate = "taken" | "refused" | "failed" | "away";

/** Somebody who wants to hear. What is owed to it lies in the store under its name. */
export interface NoticeHook {
  readonly name: string;
  readonly on: readonly NoticeKind[];
  /** Of these only; `null`: of all. */
  readonly sagas: readonly string[] | null;
  readonly tenants: readonly string[] | null;
  /** Nothing is sent to it: it reads what is owed to it. */
  readonly isRead?: boolean;
}

/** Of one hook and shard; past them those go that are owed the longest. */
export const maxNoticesKept = 100_000;

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

/** A notice as it lies in the store: those of one run come by text, which begins with the revision. */
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
  /** Of the runs whose next one was not tried yet, and as many of the others. */
  readonly limit: number;
  /** More than these are not kept: those go that are owed the longest. */
  readonly most: number;
}

/** What came of telling a notice that was not taken. Times are the store's. */
export interface NoticeFailure {
  readonly tries: number;
  readonly at: number;
  readonly why: string;
  readonly againAt: number;
}

/** A run of which a hook is to be told. */
export interface OwedRun {
  /** `<tenant>:<id>` */
  readonly run: string;
  /** The first that is owed: no other one of the run is told before it. */
  readonly text: string;
  /** `null`: it was not tried yet. */
  readonly failure: NoticeFailure | null;
}

export type TakeNoticesAnswer =
  /** Those that were not tried, owed the longest first; then the others, those first that may be told again first. `lost`: for want of room. */
  | { readonly answer: "OK"; readonly runs: readonly OwedRun[]; readonly lost: number; readonly now: number }
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
  /** Runs whose next notice was tried and not taken. */
  readonly failing: number;
}

export interface PutOffCommand extends Pick<OwedRun, "run" | "text"> {
  readonly shard: number;
  readonly hook: string;
  readonly afterMs: number;
  readonly why: string;
}

/** A run of which a hook is to be told, for the eye. */
export interface ShownOwed extends OwedRun {
  /** Store time. */
  readonly since: number;
  /** How many are owed of the run, with this one. */
  readonly owed: number;
}

/** Where notices are owed until they were told. They are written by `commit`. */
export interface NoticeBox {
  takeNotices(command: TakeNoticesCommand): Promise<TakeNoticesAnswer>;
  /** It is owed no more, if it is still the first of its run. Answers the next one of the run; `null`: none is owed. */
  strikeNotice(shard: number, hook: string, first: Pick<OwedRun, "run" | "text">): Promise<string | null>;
  /** It was not taken; nothing happens if it is no longer the first of its run. */
  putOffNotice(command: PutOffCommand): Promise<void>;
  /** By name, of every hook that was ever known. */
  noticesOwed(): Promise<{ readonly hooks: readonly OwedToHook[]; readonly now: number }>;
  /** Runs of which this hook is to be told, owed the longest first. */
  owedRuns(hook: string, limit: number): Promise<readonly ShownOwed[]>;
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
