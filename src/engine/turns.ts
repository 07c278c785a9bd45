/**
 * Carries what a run says to the line it stands in, and tells those whose turn it may be. Owns no decision: when a run asks and
 * gives is core's (`core/company/limits.ts`).
 *
 * Invariants: U1 a request is sent again unchanged until it is answered. U2 `turn_given` is learnt only after everybody who may ask
 * now was told; who is told asks, and is answered by the line. U3 no turn is lost with a process: whoever is told to wait looks
 * whether those before it have ended, and gives for them. A run that has ended has no turn, whatever the line says. U4 a turn is
 * given in a world in which its run has ended: a store that came back may have forgotten that, and the run stands in line again. It is
 * not given again before that is known, and what was on its way is of an older number than the run asks under then.
 */
import {
  type AskTurnAnswer,
  type AskTurnCommand,
  type Decision,
  type DriverFact,
  type GiveTurnCommand,
  hasEnded,
  type InLine,
  lastAsked,
  type RunRef,
  type TurnOrder,
  turnOf,
} from "../core/index.ts";
import { type EngineContext, untilAnswered, untilSettled, wake } from "./context.ts";
import type { StoreTime } from "./store-time.ts";

type Learnt = Extract<DriverFact, { readonly type: "turn" | "turn_given" }>;

export interface TurnsParts {
  readonly learn: (fact: Learnt) => void;
  /** Does somebody else drive the run by now, or is it another one than it was? */
  readonly isLost: () => boolean;
}

export class Turns {
  readonly #context: EngineContext;
  readonly #run: RunRef;
  readonly #parts: TurnsParts;
  readonly #time: StoreTime;
  readonly #flights = new Set<string>();

  constructor(context: EngineContext, run: RunRef, time: StoreTime, parts: TurnsParts) {
    this.#context = context;
    this.#run = run;
    this.#time = time;
    this.#parts = parts;
  }

  /** `turn:ask`, `turn:give`. */
  get inFlight(): ReadonlySet<string> {
    return this.#flights;
  }

  /** Begins what a decision orders, once it is written. */
  begin({ turn: order }: Decision): void {
    if (order === null) return;
    const key = `turn:${order.kind}`;
    this.#flights.add(key);
    const fly = async (): Promise<void> => {
      try {
        const fact = await this.#say(order);
        this.#flights.delete(key);
        if (fact !== null) this.#parts.learn(fact);
      } finally {
        this.#flights.delete(key);
      }
    };
    this.#context.background(fly());
  }

  async #say(order: TurnOrder): Promise<Learnt | null> {
    const { tenant, id: run } = this.#run;
    const { turn, limit, startedAt } = order;
    if (order.kind === "give") {
      const command = { turn, run, limit, asked: order.asked };
      const isOurs = async () => !this.#parts.isLost();
      return (await giveTurn(this.#context, tenant, command, isOurs)) ? { type: "turn_given" } : null;
    }
    const { asked } = order;
    const answer = await this.#ask({ turn, run, limit, startedAt, asked });
    return answer === null ? null : { type: "turn", answer, asked };
  }

  async #ask(command: AskTurnCommand): Promise<AskTurnAnswer | null> {
    const asked = await this.#askOnce(command);
    if (asked?.answer !== "WAIT" || !(await this.#giveForEnded(command, asked.before))) return asked;
    return await this.#askOnce(command);
  }

  async #askOnce(command: AskTurnCommand): Promise<AskTurnAnswer | null> {
    const { store } = this.#context;
    const sent = await untilAnswered(this.#context, "turn", () => store.askTurn(command));
    if (sent === null) return null;
    this.#time.heardBeside(sent.answer.now);
    return sent.answer;
  }

  /** `true`: one of them had ended, and its turn is given, unless it has come back and asked again since the line named it. */
  async #giveForEnded({ turn, limit }: AskTurnCommand, before: readonly InLine[]): Promise<boolean> {
    const { tenant } = turn;
    let found = false;
    for (const { run, asked } of before) {
      const isOver = () => hasNoTurn(this.#context, { tenant, id: run });
      if (!(await isOver())) continue;
      await giveTurn(this.#context, tenant, { turn, run, limit, asked }, isOver);
      found = true;
    }
    return found;
  }
}

/** Of a run that has ended and that nobody drives: its turn is given, in case whoever ended it has died before. */
export async function giveLeftTurn(context: EngineContext, run: RunRef): Promise<void> {
  const read = await untilAnswered(context, "turn", () => context.store.read(run));
  const record = read?.answer ?? null;
  if (record === null || record.limit === null || record.limit.state === "freed" || !hasEnded(record.status)) return;
  const { key, limit } = record.limit;
  const command = { turn: turnOf(run.tenant, record.saga, key), run: run.id, limit, asked: lastAsked(record) };
  await giveTurn(context, run.tenant, command, () => hasNoTurn(context, run));
}

/** It has ended, or is not there (any more). `false` also where the process ends before the store has said so. */
async function hasNoTurn(context: EngineContext, run: RunRef): Promise<boolean> {
  const read = await untilAnswered(context, "turn", () => context.store.read(run));
  return read !== null && (read.answer === null || hasEnded(read.answer.status));
}

/**
 * Gives a turn and tells who may ask now; sent twice it tells them twice, which changes nothing. It is not sent again to a store that
 * may have forgotten the run's end before that is known, and `isOver` says so once more. `false`: it is not given, or the process ends.
 */
async function giveTurn(
  context: EngineContext,
  tenant: string,
  command: GiveTurnCommand,
  isOver: () => Promise<boolean>,
): Promise<boolean> {
  const { store, owner: by } = context;
  const isOwed = async () => (await untilSettled(context)) && (await isOver());
  const given = await untilAnswered(context, "turn", () => store.giveTurn(command), isOwed);
  if (given === null) return false;
  for (const id of given.answer.next) {
    const slot = `turn:${command.run}`;
    const word = { run: { tenant, id }, slot, commandId: slot, by, body: { type: "turn" } as const };
    const told = await untilAnswered(context, "turn", () => store.send(word));
    if (told === null) return false;
    if (told.answer.answer === "OK") await wake(context, told.answer.wake);
  }
  return true;
}
