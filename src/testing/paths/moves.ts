/**
 * What can be done with a run that has come to rest: what it waits for (events, people, time), and what nobody expects (events
 * that come early, twice or too late, a cancel, an undo). Owns the names of moves, and which there are at a stop.
 */
import type { DecisionWord, PendingApproval } from "../../client/index.ts";
import { hasEnded, machineOf, type Principal } from "../../core/index.ts";
import type { Json, Saga } from "../../saga/index.ts";
import type { Seen } from "../rig/rest.ts";
import type { Simulation } from "../simulate.ts";

/** What a person says about what a run asks. */
export interface PathAnswer {
  readonly word: DecisionWord;
  /** Somebody who may decide, and has not yet, unless given. */
  readonly as?: Principal;
}

export interface MoveOptions {
  /** By event: payloads to send. */
  readonly payloads: Readonly<Record<string, readonly Json[]>>;
  readonly answers: (asked: PendingApproval) => readonly PathAnswer[];
}

export interface Move {
  readonly name: string;
  /** Nobody expects it. */
  readonly strays: boolean;
  readonly go: () => Promise<unknown>;
}

/** Approved and rejected, where both are allowed. */
export function usualAnswers({ allowed }: PendingApproval): readonly PathAnswer[] {
  const words: readonly DecisionWord[] = [{ is: "approve" }, { is: "reject", reason: "no" }];
  return words.filter(({ is }) => allowed.some((each) => each === is)).map((word) => ({ word }));
}

/** Moves that there are at a stop. `dueInMs`: until something happens by itself; `Infinity`: nothing does. */
export async function movesAt<S extends Saga>(
  run: Simulation<S>,
  saga: S,
  { dueInMs, ...options }: MoveOptions & { readonly dueInMs: number },
): Promise<readonly Move[]> {
  const { record } = run.seen;
  const events = eventMoves(run, saga, options.payloads);
  if (hasEnded(record.status)) {
    const undo = move("undo", true, async () => {
      await run.run.undo({ by: "tester", reason: "tried out" });
      await run.settle();
    });
    return record.status === "completed" ? [...events, undo] : events;
  }
  const asked = await run.approvals();
  const mayWait = Number.isFinite(dueInMs) && dueInMs > 0 && record.status !== "needs_review";
  return [
    ...asked.flatMap((each) => answerMoves(run, each, options.answers(each))),
    ...events,
    ...(mayWait ? [move("wait", false, () => run.advance(dueInMs))] : []),
    move("cancel", true, () => run.cancel()),
  ];
}

function move(name: string, strays: boolean, go: () => Promise<unknown>): Move {
  return { name, strays, go };
}

function answerMoves<S extends Saga>(
  run: Simulation<S>,
  asked: PendingApproval,
  answers: readonly PathAnswer[],
): readonly Move[] {
  return answers.map(({ word, as = somebodyFor(asked) }, at) => {
    const same = answers.slice(0, at).filter((other) => other.word.is === word.is).length;
    const name = `${word.is} ${asked.step}${same === 0 ? "" : ` ${same + 1}`}`;
    return move(name, false, async () => {
      await run.run.decide(asked, word, { as });
      await run.settle();
    });
  });
}

function somebodyFor({ roles, votes }: PendingApproval): Principal {
  return { id: `tester-${votes.length + 1}`, kind: "person", roles };
}

/** Each payload of each event: as it is waited for, and twice; or early; or too late. */
function eventMoves<S extends Saga>(run: Simulation<S>, saga: S, payloads: MoveOptions["payloads"]): readonly Move[] {
  const awaited = new Set(awaitedBy(saga, run.seen));
  const isOver = hasEnded(run.seen.record.status);
  const send = (event: string, payload: Json, ids: readonly string[]) => async () => {
    // The names and payloads are the saga's own; `signal` checks them.
    const signal = run.run.signal as (
      event: string,
      payload: Json,
      options: { readonly id: string },
    ) => Promise<unknown>;
    for (const id of ids) await signal.call(run.run, event, payload, { id });
    await run.settle();
  };
  const sent = run.seen.record.revision;
  return Object.entries(payloads).flatMap(([event, samples]) =>
    samples.flatMap((payload, at) => {
      const name = `send ${event}${at === 0 ? "" : ` ${at + 1}`}`;
      const id = `${event}-${at}-${sent}`;
      if (isOver) return [move(`${name} too late`, true, send(event, payload, [id]))];
      if (!awaited.has(event)) return [move(`${name} early`, true, send(event, payload, [id]))];
      return [
        move(name, false, send(event, payload, [id])),
        move(`${name} twice`, true, send(event, payload, [id, id, `${id}-again`])),
      ];
    }),
  );
}

function awaitedBy({ spec }: Saga, { record }: Seen): readonly string[] {
  const { snapshot, status, unwind } = record;
  if (snapshot === null || unwind !== null || status === "needs_review") return [];
  return machineOf(spec).awaited(snapshot, { input: record.input, results: {}, invocations: new Map() });
}
