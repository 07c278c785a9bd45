/**
 * Taking what was sent to a run. Owns which entry is taken when: cancel and pause before everything else, then the rest
 * oldest first. Invariants: B1 an entry is consumed once; one
 * whose transition is a defect stays, to be taken by mended code. B2 an event that no transition takes now is kept, and offered
 * again after every change of the snapshot. B3 reserved event names never reach the machine (`machine.ts` refuses them).
 */
import type { Json } from "../saga/index.ts";
import { settle } from "./calls.ts";
import { type Draft, isParked, note, viewOf } from "./draft.ts";
import type { InboxEntry } from "./run.ts";
import { feed } from "./turn.ts";
import { takeCancel, takeVerb } from "./verbs.ts";

/** Adds newly delivered entries, by position. */
export function receive(draft: Draft, entries: readonly InboxEntry[]): void {
  for (const entry of entries) {
    if (!draft.inbox.some((known) => known.position === entry.position)) draft.inbox.push(entry);
  }
  draft.inbox.sort((a, b) => a.position - b.position);
  const newest = draft.inbox.at(-1)?.position ?? 0;
  draft.record.seen = Math.max(draft.record.seen, newest);
}

/** Cancel, pause and resume. */
export function takeControls(draft: Draft): void {
  for (const entry of pending(draft)) {
    const { body } = entry;
    if (body.type === "cancel") {
      consume(draft, entry);
      takeCancel(draft, entry, body.reason, body.mode);
    } else if (body.type === "control") {
      consume(draft, entry);
      draft.record.paused = body.control === "pause";
      note(draft, { what: "control", control: body.control, by: entry.by, reason: body.reason });
    }
  }
}

/** Outcomes from elsewhere, verbs and events; `true`: something was taken. */
export function takeInbox(draft: Draft): boolean {
  let taken = false;
  for (const entry of pending(draft)) taken = takeEntry(draft, entry) || taken;
  return taken;
}

function takeEntry(draft: Draft, entry: InboxEntry): boolean {
  const { body } = entry;
  switch (body.type) {
    case "cancel":
    case "control":
      return false;
    case "verb":
      consume(draft, entry);
      takeVerb(draft, entry, body.verb);
      return true;
    case "settle":
    case "late": {
      consume(draft, entry);
      if (draft.rows[body.seq - 1] === undefined) return true;
      if (body.type === "settle") draft.settledPermits.push(body.seq);
      settle(draft, body.seq, body.send, body.side, body.result, body.type === "late" ? "late" : "answer");
      return true;
    }
    case "event":
      return takeEvent(draft, entry, body.event, body.payload);
  }
}

function takeEvent(draft: Draft, entry: InboxEntry, type: string, payload: Json): boolean {
  const { snapshot, unwind, paused } = draft.record;
  if (snapshot === null || snapshot.status !== "active" || unwind !== null || paused || isParked(draft)) return false;
  const event = { type: "external", event: type, payload } as const;
  const accepts = draft.input.machine.accepts(snapshot, event, viewOf(draft));
  if (accepts === "ignored") return false;
  const id = entry.slot.slice("event:".length);
  note(draft, { what: "event", id, type, payload, ...(accepts === "forbidden" ? { forbidden: true } : {}) });
  if (accepts === "taken" && !feed(draft, event)) return true;
  consume(draft, entry);
  return true;
}

function pending(draft: Draft): readonly InboxEntry[] {
  return draft.inbox.filter((entry) => !draft.consumed.includes(entry.slot));
}

function consume(draft: Draft, entry: InboxEntry): void {
  draft.consumed.push(entry.slot);
}

/** What a run that ends leaves unread is logged, so that nobody believes it was heard. */
export function logUnconsumed(draft: Draft): void {
  for (const entry of pending(draft)) {
    consume(draft, entry);
    note(draft, { what: "unconsumed", slot: entry.slot });
  }
}
