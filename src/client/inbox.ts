/**
 * The one inbox for everything that needs a person: parked runs, runs that ask people, and runs that no living worker serves.
 * Invariant: I1 a run in the hands of a worker that serves it is never called unserved, nor one whose workers were missed
 * only once.
 */
import {
  askingListing,
  hasEnded,
  isDriven,
  openListing,
  parkedListing,
  type Review,
  type ReviewReason,
  type Serving,
  type SharedRun,
  type Store,
  structureName,
  type UnreadableRun,
  unreadableListing,
  unservedBy,
  type Verb,
} from "../core/index.ts";
import type { Json } from "../saga/index.ts";
import { type PendingApproval, pendingIn } from "./approvals.ts";
import type { Connection } from "./connection.ts";
import { missedOnce, missedTwice } from "./lost.ts";

export interface InboxQuery {
  /** All tenants unless given. */
  readonly tenant?: string;
  /** From the page before. */
  readonly cursor?: string;
  /** 1 to 1,000; 50 unless given. */
  readonly limit?: number;
}

/** Something that needs a person. */
export interface InboxItem {
  /**
   * `review`: the run is parked with a question. `approval`: it asks people, as it was written to. `unserved`: it cannot go on
   * until a worker serves its structure.
   */
  readonly kind: "review" | "approval" | "unserved";
  readonly tenant: string;
  readonly id: string;
  readonly saga: string;
  readonly version: number;
  readonly reason: ReviewReason | "approval" | "unserved";
  /** In plain words, for the person who must act. */
  readonly message: string;
  readonly evidence: Json;
  /** What `run(id).operator` takes; none of an unserved run, which wants a worker, and of an approval, which wants a decision. */
  readonly verbs: readonly Verb[];
  /** The number of the review: give it with the verb, and only what you saw is decided. `null`: it is none. */
  readonly review: number | null;
  /** What people are asked, for `run(id).decide`; `null`: it is no approval. */
  readonly approval: PendingApproval | null;
  /** The step it is about; `null`: none. */
  readonly step: string | null;
  /** The run that started it as a step and waits for it, and the row there; `null`: none does. */
  readonly parent: { readonly run: string; readonly seq: number } | null;
  /** When it was parked or asked, or, of an unserved run, when it last moved (store time, ms). */
  readonly since: number;
  readonly ageMs: number;
}

export interface InboxPage {
  /** By time of creation of the runs, newest first. */
  readonly items: readonly InboxItem[];
  /** Runs of this page that are there and cannot be read: nothing is done about them before somebody has restored them. */
  readonly unreadable: readonly UnreadableRun[];
  /** Pass it as `cursor` for the next page (a page may be short, or empty, before the last one); `null`: it was the last. */
  readonly cursor: string | null;
}

/** One page of the inbox. */
export async function inboxPage(
  connection: Connection,
  query: InboxQuery & { readonly limit: number },
): Promise<InboxPage> {
  const store = await connection.store();
  const before = await store.serving();
  const lost = await lostFor(before, connection, store);
  const listings = [parkedListing, askingListing, unreadableListing, ...unservedBy(before, lost).map(openListing)];
  const page = await store.listShared({ ...query, listings });
  // Whoever took one of them up meanwhile had registered before.
  const serving = listings.length === 3 ? before : await store.serving();
  const unserved = new Set(unservedBy(serving, lost));
  const now = await store.now();
  const items = page.runs.map((run) => itemsOf(connection, run, { serving, unserved, now }));
  const { unreadable, cursor } = page;
  return { items: (await Promise.all(items)).flat(), unreadable, cursor };
}

/** The owners whose pulses are missing; where runs would be called unserved for that, missing twice. */
async function lostFor(serving: Serving, connection: Connection, store: Store): Promise<ReadonlySet<string>> {
  const lost = await missedOnce(store);
  if (unservedBy(serving, lost).length === unservedBy(serving, new Set()).length) return lost;
  return await missedTwice(connection, store, lost);
}

// ---- one item

/** By what a run is judged. */
interface Seen {
  readonly serving: Serving;
  readonly unserved: ReadonlySet<string>;
  readonly now: number;
}

/** None: it went on between the listing and the reading. */
async function itemsOf(connection: Connection, run: SharedRun, seen: Seen): Promise<readonly InboxItem[]> {
  const asked = run.asks.length === 0 ? [] : await pendingIn(connection, run, seen.now);
  const approvals = asked.map((approval) => approvalItem(run, approval));
  if (run.review !== null) return [reviewItem(run, run.review, seen.now), ...approvals];
  const structure = structureName(run);
  const isUnserved = seen.unserved.has(structure) && !isDriven(seen.serving, structure, run.holder);
  return isUnserved && !hasEnded(run.status)
    ? [await unservedItem(await connection.store(), run, seen), ...approvals]
    : approvals;
}

function approvalItem(run: SharedRun, approval: PendingApproval): InboxItem {
  const { tenant, id, saga, version } = run;
  const { question: message, step, since, ageMs, input } = approval;
  const asked = { reason: "approval", message, evidence: { input }, verbs: [], review: null, approval, step } as const;
  const what = { ...asked, parent: waitingParent(run) };
  return { kind: "approval", tenant, id, saga, version, ...what, since, ageMs };
}

function reviewItem(run: SharedRun, review: Review, now: number): InboxItem {
  const { tenant, id, saga, version, step } = run;
  const { reason, message, evidence, verbs, n, since } = review;
  const what = { reason, message, evidence, verbs, review: n, approval: null, step, parent: waitingParent(run) };
  return { kind: "review", tenant, id, saga, version, ...what, since, ageMs: ageOf(since, now) };
}

async function unservedItem(store: Store, run: SharedRun, { serving, now }: Seen): Promise<InboxItem> {
  const { tenant, id, saga, version, revision, hash } = run;
  const [last] = await store.log(run, revision, revision + 1);
  const since = last?.at ?? run.createdAt;
  const served = [...new Set(serving.owners.flatMap(({ serves }) => serves))].filter((name) =>
    name.startsWith(`${saga}@`),
  );
  const message = `no living worker serves ${saga} version ${version} in the structure ${hash}: start one that does`;
  const evidence = { structure: structureName(run), status: run.status, served };
  const what = { message, evidence, verbs: [], review: null, approval: null, step: null, parent: waitingParent(run) };
  return { kind: "unserved", tenant, id, saga, version, reason: "unserved", ...what, since, ageMs: ageOf(since, now) };
}

function waitingParent({ parent }: SharedRun): InboxItem["parent"] {
  return parent === null || parent.detached ? null : { run: parent.run, seq: parent.seq };
}

function ageOf(since: number, now: number): number {
  return Math.max(0, now - since);
}
