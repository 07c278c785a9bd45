/**
 * What a worker knows of a call it may no longer commit itself: an entry for whoever drives the run. `late` from a worker
 * that lost the run or gave the call up, `settle` from a worker of a named queue. Invariant: H1 only what is known is said: an
 * unknown outcome is no word, unless somebody waits to hear that this process has let go of the call (`core/calls/senders.ts`);
 * that has a slot of its own, so that what is learnt afterwards is still heard. H2 "not called" is handed in only for a grant that is known to have been written.
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

type Kind = "late" | "settle" | "let_go";

/** Hands a result in for good, unless it says nothing. */
export async function handInLate(context: EngineContext, word: Word): Promise<void> {
  if (word.result.kind === "unknown" || word.result.kind === "defect") return;
  await send(context, "late", word);
}

/** Says that nothing is known of a call and nothing more will be done for it; a run that has ended does not care. */
export async function handInLetGo(context: EngineContext, word: Word): Promise<void> {
  await send(context, "let_go", word);
}

/** Hands in the answer of a routed call; to a run that has ended it is late. */
export async function handInSettled(context: EngineContext, word: Word): Promise<void> {
  const answer = await send(context, "settle", word);
  if (answer?.answer === "ENDED") await handInLate(context, word);
}

async function send(context: EngineContext, type: Kind, word: Word): Promise<SendAnswer | null> {
  const { run, seq, send: number, side, result } = word;
  const command: SendCommand = {
    run,
    slot: slotOf(type, word),
    commandId: context.ids.next(),
    by: context.owner,
    body: { type: type === "settle" ? type : "late", seq, send: number, side, result },
  };
  const sent = await untilAnswered(context, type, () => context.store.send(command));
  if (sent?.answer.answer === "OK") await wake(context, sent.answer.wake);
  return sent?.answer ?? null;
}

/** Action and compensation of a row count their sends apart, so their slots must differ too. */
function slotOf(type: Kind, { seq, send, side }: Word): string {
  return side === "action" ? `${type}:${seq}:${send}` : `${type}:${seq}:${send}:undo`;
}
