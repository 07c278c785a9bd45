/**
 * Taking what was sent to a run. Owns which entry is taken when: cancel and pause before everything else, then the rest
 * oldest first. Invariants: B1 an entry is consumed once; one whose transition is a defect stays, to be taken by mended
 * code. B2 an event that no transition takes now is kept, and offered again after every change of the snapshot. B3 reserved
 * event names never reach the machine (`machine.ts` refuses them).
 */
import type { Json } from "../saga/index.ts";
import { takeShares } from "./bounds/shares.ts";
import { settle } from "./calls/settle.ts";
import { refuseMove } from "./change/migrate.ts";
import { takeChildWord } from "./company/children.ts";
import { takeIntentWord } from "./company/claims.ts";
import { awaitsTurn, takeTurnWord } from "./company/limits.ts";
import { consume, type Draft, isParked, note, viewOf } from "./draft.ts";
import { attend } from "./forward.ts";
import { takeVerb } from "./people/verbs.ts";
import { takeWordOfPerson } from "./people/votes.ts";
import type { InboxBody, InboxEntry } from "./run/index.ts";
import { feed } from "./turn.ts";
import { takeCancel } from "./unwind/cancel.ts";

/** Adds newly delivered entries, by position. */
export function receive(draft: Draft, entries: readonly InboxEntry[]): void {
  if (entries.length === 0 && draft.inbox.length === 0) return;
  const known = new Set(draft.inbox.map((entry) => entry.position));
  for (const entry of entries) {
    if (!known.has(entry.position)) draft.inbox.push(entry);
    known.add(entry.position);
  }
  draft.inbox.sort((a, b) => a.position - b.position);
  draft.record.seen = draft.inbox.reduce((seen, { position }) => Math.max(seen, position), draft.record.seen);
}

/** Cancel, pause and resume. */
export function takeControls(draft: Draft): void {
  for (const entry of draft.inbox.slice()) {
    if (entry.body.type === "cancel" || entry.body.type === "control") takeEntry(draft, entry);
  }
}

/** Takes the oldest entry that can be taken now: outcomes from elsewhere, verbs, events. `false`: there is none. */
export function takeNext(draft: Draft): boolean {
  if (draft.inbox.length === 0) return false;
  if (draft.ignoredBy !== draft.record.snapshot) draft.ignored = null;
  draft.ignoredBy = draft.record.snapshot;
  return draft.inbox.slice().some((entry) => takeEntry(draft, entry));
}

/** Outcomes from elsewhere alone: what an ended run still listens to. */
export function takeWords(draft: Draft): void {
  for (const entry of draft.inbox.slice()) {
    if (entry.body.type === "settle" || entry.body.type === "late") takeWord(draft, entry, entry.body);
  }
}

function takeEntry(draft: Draft, entry: InboxEntry): boolean {
  const { body } = entry;
  switch (body.type) {
    case "cancel":
      consume(draft, entry);
      takeCancel(draft, entry, body);
      return true;
    case "control":
      consume(draft, entry);
      draft.record.paused = body.control === "pause";
      note(draft, { what: "control", control: body.control, by: entry.by, reason: body.reason });
      return true;
    case "verb":
      consume(draft, entry);
      takeVerb(draft, entry, body);
      return true;
    case "settle":
    case "late":
      takeWord(draft, entry, body);
      attend(draft, body.seq);
      return true;
    case "intent":
      return takeIntentWord(draft, entry, body);
    case "turn":
      return takeTurnWord(draft, entry);
    case "event":
      return takeEvent(draft, entry, body.event, body.payload);
    case "decide":
      takeWordOfPerson(draft, entry, body);
      return true;
    case "child":
      return takeChildWord(draft, entry, body);
    case "share":
      takeShares(draft, entry, body);
      return true;
    case "migrate":
      // To a newer version: kept until the run is driven by that (`migrate.ts`).
      if (body.to > draft.record.version) return false;
      refuseMove(draft, { ...entry, body });
      return true;
    case "undo":
      // Kept until the run has ended (`undo.ts`).
      return false;
  }
}

function takeWord(draft: Draft, entry: InboxEntry, body: Extract<InboxBody, { type: "settle" | "late" }>): void {
  consume(draft, entry);
  const { type, seq, send, side, result } = body;
  const row = draft.rows[seq - 1];
  // A permit goes with the outcome of its own send, never of an older one.
  if (type === "settle" && row?.call.send === send) draft.settledPermits.push(seq);
  settle(draft, { seq, send, side, result, proof: type === "late" ? "late" : "answer" });
}

function takeEvent(draft: Draft, entry: InboxEntry, type: string, payload: Json): boolean {
  const { snapshot, unwind, paused } = draft.record;
  if (snapshot === null || snapshot.status !== "active" || unwind !== null || paused || isParked(draft)) return false;
  if (awaitsTurn(draft)) return false;
  if (draft.ignored?.has(entry.position)) return false;
  const event = { type: "external", event: type, payload } as const;
  const accepts = draft.input.machine.accepts(snapshot, event, viewOf(draft));
  if (accepts === "ignored") {
    draft.ignored ??= new Set();
    draft.ignored.add(entry.position);
    return false;
  }
  const id = entry.slot.slice("event:".length);
  note(draft, { what: "event", id, type, payload, ...(accepts === "forbidden" ? { forbidden: true } : {}) });
  if (accepts === "taken" && !feed(draft, event, id)) return true;
  consume(draft, entry);
  return true;
}

/** What a run that ends leaves unread is logged, so that nobody believes it was heard. */
export function logUnconsumed(draft: Draft): void {
  for (const entry of draft.inbox.slice()) {
    consume(draft, entry);
    note(draft, { what: "unconsumed", slot: entry.slot });
  }
}
