/**
 * The three questions that come before all others, as data: where it stopped, the last act outside, what is safe now. Owns which
 * call a run stands at, and which act was the last one; what is known and safe is `verdict.ts`'s.
 */
import type { Json } from "../../saga/index.ts";
import { callOf, type Side } from "../rows.ts";
import type { Call, Review, Row, RunRecord, WaitingFor } from "../run/index.ts";
import type { Attempt } from "./attempts.ts";
import type { Judged } from "./verdict.ts";

/** The call that a run stands at; `null`s: it stands at none. */
export interface StoppedAt {
  readonly status: RunRecord["status"];
  readonly state: Json;
  readonly waitingFor: WaitingFor | null;
  /** Why it is parked; `null`: it is not. */
  readonly review: Review["reason"] | null;
  readonly step: string | null;
  readonly seq: number | null;
  readonly side: Side | null;
  /** How often it was tried, as the retry policy counts. */
  readonly attempt: number | null;
  /** When it was parked, sent or asked (store time, ms); of an ended run its end. */
  readonly since: number | null;
}

/** The newest call that may have changed something outside. */
export interface LastAct extends Attempt {
  /** When it was sent (store time, ms). */
  readonly at: number;
}

interface Place {
  readonly row: Row;
  readonly side: Side;
}

/** Where it stands: what a person is asked about, else what is out or owed, else what it failed at. */
export function stoppedAt({ record, rows }: Judged): StoppedAt {
  const { status, snapshot, waitingFor, review, endedAt, cause } = record;
  const place = reviewed(record, rows) ?? openIn(rows) ?? failedAt(cause?.step ?? null, rows);
  const call = place === null ? null : callOf(place.row, place.side);
  return {
    ...{ status, state: snapshot?.value ?? null, waitingFor, review: review?.reason ?? null },
    step: place?.row.step ?? null,
    seq: place?.row.seq ?? null,
    side: place?.side ?? null,
    attempt: call?.attempt ?? null,
    since: endedAt ?? review?.since ?? place?.row.approval?.since ?? call?.sentAt ?? null,
  };
}

function reviewed({ review }: RunRecord, rows: readonly Row[]): Place | null {
  if (review === null || review.seq === null) return null;
  // A review is about a row that is there, and says which side of it.
  return { row: rows[review.seq - 1] as Row, side: review.side as Side };
}

/** Of several that are open the one that was sent last, or the newest. */
function openIn(rows: readonly Row[]): Place | null {
  const places = rows.flatMap((row): readonly Place[] => {
    if (row.undo?.state === "owed" || row.undo?.state === "sent") return [{ row, side: "undo" }];
    return isOpen(row.call) ? [{ row, side: "action" }] : [];
  });
  return places.toSorted((a, b) => sentAt(a) - sentAt(b)).at(-1) ?? null;
}

function isOpen({ state }: Call): boolean {
  return state === "planned" || state === "claiming" || state === "offered" || state === "sent" || state === "unknown";
}

function sentAt({ row, side }: Place): number {
  return callOf(row, side)?.sentAt ?? 0;
}

function failedAt(step: string | null, rows: readonly Row[]): Place | null {
  const row = step === null ? undefined : rows.findLast((each) => each.step === step);
  return row === undefined ? null : { row, side: "action" };
}

/** What reads or computes is no act. Of two that were sent at one time the later one, by revision. */
export function lastAct({ rows }: Judged, attempted: readonly Attempt[]): LastAct | null {
  const sent = attempted
    .filter(({ effect }) => effect !== "none")
    .map((attempt) => ({ attempt, ...sendingOf(rows, attempt) }))
    .toSorted((a, b) => a.at - b.at || a.revision - b.revision);
  const last = sent.at(-1);
  return last === undefined ? null : { ...last.attempt, at: last.at };
}

function sendingOf(rows: readonly Row[], { seq, side }: Attempt): { readonly at: number; readonly revision: number } {
  // An attempt is of a row that is there, and whose call was sent: both are known.
  const call = callOf(rows[seq - 1] as Row, side) as Call;
  return { at: call.sentAt as number, revision: call.firstSentRevision as number };
}
