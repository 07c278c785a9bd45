/**
 * The requests that a parent makes of the runs it starts as steps: start it, look at it, ask it to go back. Owns no decision:
 * what is asked and what follows from an answer are core's (`core/company/children.ts`). Also carries a child's word to its parent.
 *
 * Invariants: P1 every request may be sent twice, by two workers, late. P2 nothing here throws: what could not be done says so,
 * and is done again. P3 a child is asked to go back only after it is certain that nobody can start it any more. P4 a child that
 * was there and is not is made again as it was begun, after whoever remembers more of it had the time to bring that back.
 */
import {
  type CallOrder,
  type ChildSeen,
  childRef,
  isChildOf,
  MissingArtifact,
  machineOf,
  ofMissing,
  type Row,
  type RunRecord,
  requestTo,
  seenAs,
  shareFor,
  startChild,
  structureHashOf,
  wordToOrphan,
  wordToParent,
} from "../core/index.ts";
import { type SagaSpec, type StepSpec, sagaOf } from "../saga/index.ts";
import { type EngineContext, trouble, untilAnswered, wake } from "./context.ts";
import { messageOf } from "./outcome.ts";

/** A row that stands for a child, as it was committed. */
export interface ChildCall {
  readonly order: Pick<CallOrder, "side">;
  readonly parent: RunRecord;
  readonly row: Row;
  readonly step: StepSpec;
}

type NotFound = Extract<ChildSeen, { readonly is: "foreign" | "unreached" }>;

/** Does what a call of such a row is: its action starts the child or looks at it, its compensation has it go back. */
export async function callChild(context: EngineContext, call: ChildCall): Promise<ChildSeen> {
  try {
    return call.order.side === "action" ? await forward(context, call) : await back(context, call);
  } catch (error) {
    trouble(context, "child", error);
    return { is: "unreached", why: messageOf(error) };
  }
}

async function forward(context: EngineContext, call: ChildCall): Promise<ChildSeen> {
  if (call.row.child === null && !(await start(context, call, false))) return foreign(call);
  if (call.row.shares !== undefined) await tellShare(context, call);
  return await look(context, call, { asked: null, isPending: false });
}

/** What was given since it was begun. (What it does not hear of now it is told when it is looked at again: it says that it waits.) */
async function tellShare(context: EngineContext, { parent, row }: ChildCall): Promise<void> {
  const run = childRef(parent, row);
  const found = await context.store.read(run);
  const request = found === null ? null : shareFor(found, parent, row);
  if (request === null) return;
  const sent = await context.store.send({ run, ...request });
  if (sent.answer === "OK") await wake(context, sent.wake);
}

/** Nobody can make it any more once it is there, so it is made where it is not, and then asked. */
async function back(context: EngineContext, call: ChildCall): Promise<ChildSeen> {
  const { store } = context;
  const run = childRef(call.parent, call.row);
  if (call.row.child === null && !(await start(context, call, true))) return foreign(call);
  const found = await find(context, call, true);
  if ("is" in found) return found;
  const request = requestTo(found, call.parent);
  if (request === null) return await look(context, call, { asked: null, isPending: false });
  const sent = await store.send({ run, ...request });
  if (sent.answer === "OK") await wake(context, sent.wake);
  // Read before the run is: what is not there any more was taken by the run as it is read then.
  const isPending = (await store.inbox(run)).some(({ slot }) => slot === request.slot);
  return await look(context, call, { asked: request.body.type === "undo" ? "undo" : "cancel", isPending });
}

/** `false`: the id is taken by a run that is none of this row's. */
async function start(context: EngineContext, { parent, row, step }: ChildCall, isVoid: boolean): Promise<boolean> {
  const { of, detached } = childOf(step);
  const saga = sagaOf(of);
  // A call that is made was granted, which has a time.
  const now = (isVoid ? row.undo?.call?.sentAt : row.call.sentAt) as number;
  const command = startChild({
    parent,
    row,
    machine: machineOf(of),
    hash: structureHashOf(saga),
    detached,
    now,
    isVoid,
  });
  const made = await context.store.create(command);
  if (made.answer === "OK") {
    const { record, log: entry } = command;
    context.facts.emit({ fact: "created", run: childRef(parent, row), record, entry });
    await wake(context, made.wake);
  }
  return made.answer === "OK" || made.answer === "EXISTS";
}

async function look(
  context: EngineContext,
  call: ChildCall,
  how: { readonly asked: "cancel" | "undo" | null; readonly isPending: boolean },
): Promise<ChildSeen> {
  const found = await find(context, call, false);
  if ("is" in found) return found;
  const { id, output, cause } = found;
  if (output instanceof MissingArtifact) return { is: "unreached", why: `the result of run ${id} is kept elsewhere` };
  return { is: "run", child: seenAs(found), output, cause, ...how };
}

async function find(context: EngineContext, call: ChildCall, isVoid: boolean): Promise<RunRecord | NotFound> {
  const { store } = context;
  const run = childRef(call.parent, call.row);
  let found = await store.read(run);
  const missing = found === null ? ofMissing(call.row, !context.isOpen()) : null;
  if (missing === "wait") return { is: "unreached", why: `the store may have forgotten run ${run.id}` };
  if (missing === "begin" && (await start(context, call, isVoid))) found = await store.read(run);
  return found !== null && isMine(call, found) ? found : foreign(call);
}

function isMine({ parent, row, step }: ChildCall, found: RunRecord): boolean {
  return isChildOf(found, { run: parent, seq: row.seq, of: childOf(step).of });
}

function childOf(step: StepSpec): { readonly of: SagaSpec; readonly detached: boolean } {
  if (step.child === null) throw new RangeError(`${step.name} is no child`);
  return step.child;
}

function foreign({ parent, row }: ChildCall): NotFound {
  return { is: "foreign", run: childRef(parent, row).id };
}

/** A run has moved: its parent hears of it, where it is one that waits for such news. A word that is lost costs time only. */
export async function tellParent(context: EngineContext, before: RunRecord, after: RunRecord): Promise<void> {
  const word = wordToParent(before, after);
  if (word === null) return;
  const sent = await untilAnswered(context, "child", () => context.store.send(word));
  if (sent?.answer.answer === "OK") await wake(context, sent.answer.wake);
  if (sent?.answer.answer === "ENDED" || sent?.answer.answer === "ABSENT") await tellOrphan(context, after);
}

/** Nobody gives it more: it asks a person. */
async function tellOrphan(context: EngineContext, child: RunRecord): Promise<void> {
  const word = wordToOrphan(child);
  if (word === null) return;
  const sent = await untilAnswered(context, "child", () => context.store.send(word));
  if (sent?.answer.answer === "OK") await wake(context, sent.answer.wake);
}
