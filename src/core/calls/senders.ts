/**
 * Who may still send a call: the processes that were given a send of it, have not said what became of that, and are not
 * known to be gone. One that is frozen (a stopped process, a suspended machine) may send it when it wakes up, whatever the
 * deadline. Owns who stands there (`call.senders`), and when it is too late for what somebody has sent after all.
 *
 * Invariants: N1 whoever is given a send stands there from that commit on. N2 nobody goes for the time that has passed: only by
 * a word about the send, by being gone, or because nothing is in doubt any more. N3 what somebody who goes may have sent
 * until then has the lateness of the step to arrive.
 */
import type { CallSpec } from "../../saga/index.ts";
import { callAt, type Draft, type Place, patchCall, rowAt, specOf } from "../draft.ts";
import { doubtOf, effectiveClass, isFinal, later } from "../rows.ts";
import type { Call, CallResult, Sender } from "../run/index.ts";

const nobody: readonly Sender[] = [];

/** Who may send it once `owner` is given its next send. Nobody needs to know where no probe is asked. */
export function sendersWith(call: Call, spec: CallSpec, owner: string): readonly Sender[] {
  if (!spec.hasProbe || effectiveClass(call, spec) === "none") return nobody;
  return [...sendersInDoubt(call), { send: call.send + 1, owner }];
}

/** Those whose sends are in doubt: an absence that was proven is about all of them. */
export function sendersInDoubt(call: Call): readonly Sender[] {
  return doubtOf(call) === null ? nobody : call.senders;
}

/** The worker of a named queue has won the permit for the newest send. */
export function permitted(draft: Draft, place: Place, owner: string): void {
  const call = callAt(draft, place);
  const spec = specOf(draft, rowAt(draft, place.seq), place.side);
  if (spec.hasProbe) patchCall(draft, place, { senders: [...call.senders, { send: call.send, owner }] });
}

/**
 * Somebody has said what became of a send, if only that it was given up. Where that tells nothing and nobody else may
 * send it, it is found out anew: an answer counts from now on.
 */
export function hasSpoken(draft: Draft, place: Place, send: number, { kind }: CallResult): void {
  const call = callAt(draft, place);
  const left = call.senders.filter((sender) => sender.send !== send);
  if (isFinal(call) || left.length === call.senders.length) return;
  const isTelling = kind !== "unknown" && kind !== "suspended" && kind !== "defect";
  patchCall(draft, place, isTelling ? { senders: left } : { senders: left, ...untilArrived(draft, place, send) });
  if (isTelling || left.length > 0 || call.state !== "unknown" || call.probeAt === null) return;
  patchCall(draft, place, { probes: 0, probeAt: draft.input.now });
}

/** These processes are gone; `true`: one of them might have sent it. */
export function haveGone(draft: Draft, place: Place, gone: readonly string[]): boolean {
  const { senders, send } = callAt(draft, place);
  const left = senders.filter(({ owner }) => !gone.includes(owner));
  if (left.length === senders.length) return false;
  patchCall(draft, place, { senders: left, ...untilArrived(draft, place, send) });
  return true;
}

/** A send that left just now may arrive until then; later than what a probe that is under way was asked for. */
function untilArrived(draft: Draft, place: Place, send: number): Pick<Call, "deadline" | "doubtUntil"> {
  const { deadline, doubtUntil, send: newest } = callAt(draft, place);
  const until = draft.input.now + specOf(draft, rowAt(draft, place.seq), place.side).latenessMs + 1;
  if (send === newest && deadline !== null) return { deadline: later(deadline, until), doubtUntil };
  return { deadline, doubtUntil: later(doubtUntil, until) };
}

/** Why no absence is believed; `null`: nobody may send it any more. */
export function sendersInWords({ senders }: Call): string | null {
  if (senders.length === 0) return null;
  const names = [...new Set(senders.map(({ owner }) => owner))];
  const [are, have] = names.length === 1 ? ["is", "has"] : ["are", "have"];
  return `${names.join(" and ")} ${are} not gone and ${have} not said what became of it, so it may still be sent`;
}
