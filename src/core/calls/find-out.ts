/**
 * A call whose outcome nobody knows: repeated where that is safe, asked about where there is a probe, else given up (which
 * the machine, the unwind or a person has to live with). Owns the state `unknown` and the way back to `planned`.
 *
 * Invariants: O1 a `once` call is never planned again unless nothing happened was *proven*. O2 an `absent` is believed only
 * when it was asked for past the deadline (a twin could still land), and after everybody who was given a send of it was gone or
 * had said what became of it (who is frozen sends it when it wakes up: `senders.ts`).
 */
import type { Json } from "../../saga/index.ts";
import { callAt, type Draft, note, type Place, patchCall, rowAt, specOf, stepOf } from "../draft.ts";
import { callOf, doubtOf, isFinal, isLastWord, isOverdue, mayRepeat } from "../rows.ts";
import type { Call, Proof } from "../run/index.ts";
import { closeNotApplied, haltUndo, happened, keepEvidence } from "./closing.ts";
import { backoffMs, nextProbeAt } from "./retry.ts";
import { haveGone, sendersInWords } from "./senders.ts";

/** Wants another grant at `at`. */
export function planAgain(draft: Draft, place: Place, at: number): void {
  patchCall(draft, place, { state: "planned", nextAt: at, probeAt: null });
}

/** Does anybody still want the call to be made for its own sake? */
export function isWanted(draft: Draft, { seq, side }: Place): boolean {
  return side === "undo" || (draft.record.unwind === null && !rowAt(draft, seq).abandoned);
}

/** Is it wanted, with attempts and time left? */
export function mayTryAgain(draft: Draft, place: Place): boolean {
  const row = rowAt(draft, place.seq);
  const spec = specOf(draft, row, place.side);
  if (place.side === "action" && isOverdue(row, draft.input.now)) return false;
  return isWanted(draft, place) && callAt(draft, place).attempt < spec.retry.attempts;
}

/** What the policy says to wait before the next attempt. */
export function delayMs(draft: Draft, place: Place, retryAfterMs: number | null): number {
  if (retryAfterMs !== null) return retryAfterMs;
  const spec = specOf(draft, rowAt(draft, place.seq), place.side);
  return backoffMs(spec.retry, callAt(draft, place).attempt, draft.input.random);
}

/** An effect that may have happened: repeated after `delay` where that is safe (a probe is asked once before). */
export function doubt(draft: Draft, place: Place, delay: number): void {
  const spec = specOf(draft, rowAt(draft, place.seq), place.side);
  const at = draft.input.now + delay;
  if (!mayTryAgain(draft, place) || !mayRepeat(callAt(draft, place), spec, at)) return findOut(draft, place);
  if (!spec.hasProbe) return planAgain(draft, place, at);
  patchCall(draft, place, { state: "unknown", probes: 0, probeAt: draft.input.now, nextAt: at });
}

/** No repeat is safe or wanted: the other side is asked as often as the policy says; without a probe it is given up. */
export function findOut(draft: Draft, place: Place): void {
  const { hasProbe } = specOf(draft, rowAt(draft, place.seq), place.side);
  patchCall(draft, place, { state: "unknown", probes: 0, probeAt: hasProbe ? draft.input.now : null, nextAt: null });
  if (!hasProbe) giveUp(draft, place);
}

/** It cannot be found out: left `unknown` with no probe to come, which halts a compensation. */
export function giveUp(draft: Draft, place: Place): void {
  patchCall(draft, place, { state: "unknown", probeAt: null, nextAt: null });
  if (place.side === "undo") haltUndo(draft, place.seq);
}

/** A probe's answer. */
export interface Probed {
  readonly answer: "happened" | "absent" | "cannot_tell";
  readonly output: Json;
  readonly unusable: boolean;
  readonly note: string | null;
  /** Of those who might still have sent it: who was known to be gone before it was asked. */
  readonly gone?: readonly string[];
}

/** A probe has answered. */
export function probed(draft: Draft, place: Place, probe: Probed): void {
  const call = callOf(rowAt(draft, place.seq), place.side);
  if (call === null || isFinal(call)) return;
  if (probe.answer === "happened") return seen(draft, place, call, probe);
  if (call.state !== "unknown" || call.probeAt === null) return;
  const isNews = haveGone(draft, place, probe.gone ?? []);
  const held = sendersInWords(callAt(draft, place));
  const told = { what: "probed", seq: place.seq, answer: probe.answer } as const;
  note(draft, probe.answer === "absent" && held !== null ? { ...told, note: held } : told);
  notSeen(draft, place, { asked: call.probeAt, answer: probe.answer, isNews, isHeld: held !== null });
}

/** The effect is there. Where the call was sent anew meanwhile, that send is still waited for. */
function seen(draft: Draft, place: Place, { state, send }: Call, { output, unusable, note: words }: Probed): void {
  note(draft, { what: "probed", seq: place.seq, answer: "happened" });
  const problem = unusable && place.side === "action" ? (words ?? "it does not fit") : null;
  if (state === "sent" || state === "offered") return keepEvidence(draft, place, { send, output, unusable: problem });
  happened(draft, place, { output, unusable: problem, proof: "probe", which: "some" });
}

interface NotSeen {
  readonly asked: number;
  readonly answer: "absent" | "cannot_tell";
  /** Somebody who might have sent it is gone, since the probe before: it is found out anew. */
  readonly isNews: boolean;
  /** Somebody may still send it. */
  readonly isHeld: boolean;
}

function notSeen(draft: Draft, place: Place, { asked, answer, isNews, isHeld }: NotSeen): void {
  const { now } = draft.input;
  const call = callAt(draft, place);
  // It is only found out while a send of it is in doubt.
  const deadline = doubtOf(call) as number;
  if (answer === "absent" && asked >= deadline && !isHeld) return provenAbsent(draft, place, "probe");
  if (call.nextAt !== null) return planAgain(draft, place, Math.max(call.nextAt, now));
  const probes = isNews ? 1 : call.probes + 1;
  const probeAt = nextProbeAt(probes, now, deadline, isHeld);
  patchCall(draft, place, { probes, probeAt });
  if (probeAt === null) giveUp(draft, place);
}

/** Proven: nothing happened. The next attempt may be made, under a fresh key where the step says so. */
export function provenAbsent(draft: Draft, place: Place, proof: Proof): void {
  const call = callAt(draft, place);
  const { error, send, generation } = call;
  note(draft, { what: "outcome", seq: place.seq, send, outcome: "not_applied", proof });
  patchCall(draft, place, { doubtUntil: null, deadline: null, senders: [], probeAt: null, proof, interruptions: 0 });
  draft.record.interruptions = 0;
  if (isLastWord(call) || !mayTryAgain(draft, place)) return closeNotApplied(draft, place, proof);
  const fresh = place.side === "action" && stepOf(draft, rowAt(draft, place.seq)).freshKeyAfterAbsent;
  if (fresh) patchCall(draft, place, { generation: generation + 1, firstSentAt: null });
  const delay = proof === "probe" && error?.kind !== "interrupted" ? delayMs(draft, place, null) : 0;
  planAgain(draft, place, draft.input.now + delay);
}
