/**
 * Shows parked runs to the tooling of queues, and carries out what is put back there by hand. Owns when letters are added and
 * removed; the run record stays the truth, `core/replay/resume.ts` decides what a retry by hand comes to.
 *
 * Invariants: K1 nothing here holds a run up or fails it: what cannot be shown now is shown by a later sweep. K2 a letter is
 * removed only when its review was seen to be over, or never was. K3 a retry by hand is one request with one command id,
 * however often it is taken.
 */
import {
  actOf,
  type DeadLetter,
  type DeadLetterRef,
  type DeadLetters,
  type Judged,
  type LetterFate,
  type Machine,
  parkedListing,
  type Resume,
  type RunRecord,
  type RunRef,
  resumeOf,
  runKey,
  structureName,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { type EngineContext, trouble, wake } from "./context.ts";

/** Parked runs, and letters, that one sweep looks at; the next one goes on where it ended. */
const sweepLimit = 1_000;
/** A run that moves is read again this often before it is judged as read. */
const snapshotTries = 10;
/** Who a verb comes from that was asked for by putting a job back. */
const by = "dead-letter";
const reason = "its job in the queue dead-letter was put back by hand";

const done: LetterFate = { is: "done" };

export interface DeadLetterDeskOptions {
  readonly context: EngineContext;
  readonly letters: DeadLetters;
  /** The sagas by which a run can be judged here. */
  readonly machineFor: (record: RunRecord) => Machine | null;
  readonly sweepMs: number;
}

export class DeadLetterDesk {
  readonly #options: DeadLetterDeskOptions;
  #cursor: string | null = null;
  #from = 0;
  #stopped = false;
  #cancelTimer: (() => void) | null = null;

  constructor(options: DeadLetterDeskOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#plan();
    await this.#options.letters.start((letter) => this.#resume(letter));
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#options.letters.stop(graceMs);
  }

  /** A run has moved: its letter goes where its review is over, and comes where one is open. Resolves at once. */
  follow(before: RunRecord, after: RunRecord): void {
    const [old, letter] = [letterOf(before), letterOf(after)];
    if (old?.review === letter?.review) return;
    const { context, letters } = this.#options;
    if (letter !== null) context.background(letters.add([letter]));
    if (old !== null) context.background(letters.remove([old]));
  }

  // ---- what was lost is shown, what is over is not

  #plan(): void {
    if (this.#stopped) return;
    const { context, sweepMs } = this.#options;
    // Not all workers at once.
    const after = sweepMs * (0.75 + context.ids.random() / 2);
    this.#cancelTimer = context.clock.after(after, () => context.background(this.#sweep().finally(() => this.#plan())));
  }

  async #sweep(): Promise<void> {
    try {
      await this.#sweepOnce();
    } catch (error) {
      trouble(this.#options.context, "dead letters", error);
    }
  }

  async #sweepOnce(): Promise<void> {
    const { context, letters } = this.#options;
    const shown = await letters.list(this.#from, sweepLimit);
    const cursor = this.#cursor === null ? {} : { cursor: this.#cursor };
    const page = await context.store.listShared({ listings: [parkedListing], limit: sweepLimit, ...cursor });
    this.#cursor = page.cursor;
    const open = page.runs.flatMap((run) => letterOf(run) ?? []);
    await letters.add(without(open, shown));
    const over = await this.#over(without(shown, open));
    await letters.remove(over);
    this.#from = shown.length < sweepLimit ? 0 : this.#from + sweepLimit - over.length;
  }

  async #over(letters: readonly DeadLetterRef[]): Promise<readonly DeadLetterRef[]> {
    const areOver = await Promise.all(letters.map((letter) => this.#isOver(letter)));
    return letters.filter((_, at) => areOver[at]);
  }

  async #isOver({ run, review }: DeadLetterRef): Promise<boolean> {
    try {
      const record = await this.#options.context.store.read(run);
      return record?.review?.n !== review;
    } catch (error) {
      // One that cannot be read hides none of the others, and stays where people look.
      if (error instanceof RepriseError && error.code === "STORE_UNAVAILABLE") throw error;
      return false;
    }
  }

  // ---- what was put back by hand

  async #resume(letter: DeadLetterRef): Promise<LetterFate> {
    const judged = await this.#judged(letter.run);
    if (judged === null) return done;
    const resume = resumeOf(judged, letter.review, reason);
    switch (resume.does) {
      case "over":
        return done;
      case "refuse":
        return (await this.#isForOthers(judged)) ? { is: "elsewhere" } : { is: "refused", reason: resume.reason };
      case "act":
        return await this.#act(letter, resume.verb);
    }
  }

  /** Can another worker judge it, where this one does not have the saga? */
  async #isForOthers({ machine, record }: Judged): Promise<boolean> {
    if (machine !== null) return false;
    const { owners } = await this.#options.context.store.serving();
    return owners.some(({ serves }) => serves.includes(structureName(record)));
  }

  async #act({ run, review }: DeadLetterRef, verb: Extract<Resume, { does: "act" }>["verb"]): Promise<LetterFate> {
    const { context } = this.#options;
    const slot = `review:${review}`;
    const commandId = `${by} ${runKey(run)} ${review}`;
    const body = { type: "verb", verb } as const;
    const answer = await context.store.send({ run, slot, commandId, by, body, act: actOf(run, by, body) });
    switch (answer.answer) {
      case "OK":
        await wake(context, answer.wake);
        return done;
      case "TAKEN":
        return { is: "refused", reason: `${answer.by} has already decided on this review` };
      case "DUP":
      case "GONE":
      case "ENDED":
      case "ABSENT":
        return done;
    }
  }

  /** Record and ledger of one revision. `null`: there is no such run. */
  async #judged(run: RunRef): Promise<Judged | null> {
    const { context, machineFor } = this.#options;
    const { store, namespace } = context;
    for (let tries = 1; ; tries += 1) {
      const record = await store.read(run);
      if (record === null) return null;
      const rows = await store.ledger(run);
      if (tries < snapshotTries && (await store.read(run))?.revision !== record.revision) continue;
      return { namespace, record, rows, machine: machineFor(record), now: await store.now() };
    }
  }
}

/** What is shown of a run; `null`: it is not parked. */
function letterOf(run: Pick<RunRecord, "tenant" | "id" | "saga" | "version" | "review">): DeadLetter | null {
  const { tenant, id, saga, version, review } = run;
  if (review === null) return null;
  const { n, reason, message, since, verbs } = review;
  return { run: { tenant, id }, review: n, saga, version, reason, message, since, verbs };
}

function without<Letter extends DeadLetterRef>(letters: readonly Letter[], others: readonly DeadLetterRef[]) {
  const keys = new Set(others.map(keyOf));
  return letters.filter((letter) => !keys.has(keyOf(letter)));
}

function keyOf({ run, review }: DeadLetterRef): string {
  return `${runKey(run)} ${review}`;
}
