/**
 * What a worker knows of a call it may no longer commit itself: an entry for whoever drives the run. `late` from a worker
 * that lost the run or gave the call up, `settle` from a worker of a named queue. Invariant: H1 only what is known is said:
 * an unknown outcome is no word. H2 "not called" is handed in only for a grant that is known to have been written.
 */
import type { CallResult, RunRef, SendAnswer, SendCommand } from "../core/index.ts";
import { type EngineContext, untilAnswered, wake } from "./context.ts";

export interface Word {
  readonly run: RunRef;
  readonly seq: number;
  readonly send: number;
  readonly side: "action" | "undo";
  readonly result: CallResult;
}

/** Hands a result in for good, unless it says nothing. */
export async function handInLate(context: EngineContext, word: Word): Promise<void> {
  if (word.result.kind === "unknown" || word.result.kind === "defect") return;
  await send(context, "late", word);
}

/** Hands in the answer of a routed call; to a run that has ended it is late. */
export async function handInSettled(context: EngineContext, word: Word): Promise<void> {
  const answer = await send(context, "settle", word);
  if (answer?.answer === "ENDED") await handInLate(context, word);
}

async function send(context: EngineContext, type: "late" | "settle", word: Word): Promise<SendAnswer | null> {
  const { run, seq, send: number, side, result } = word;
  const command: SendCommand = {
    run,
    slot: slotOf(type, word),
    commandId: context.ids.next(),
    by: context.owner,
    body: { type, seq, send: number, side, result },
  };
  const sent = await untilAnswered(context, type, () => context.store.send(command));
  if (sent?.answer.answer === "OK") await wake(context, sent.answer.wake);
  return sent?.answer ?? null;
}

/** Action and compensation of a row count their sends apart, so their slots must differ too. */
function slotOf(type: "late" | "settle", { seq, send, side }: Word): string {
  return side === "action" ? `${type}:${seq}:${send}` : `${type}:${seq}:${send}:undo`;
}
