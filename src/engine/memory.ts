/**
 * What this process remembers of the commits that the store acknowledged to it, and the search for runs of which the store
 * has forgotten some: after a fail-over, a restart, a restored backup (design section 11). What becomes of such a run is
 * core's (`rollback.ts`).
 *
 * Invariants: M1 every acknowledged commit of this process is remembered, the newest of each run, as long as there is room:
 * whole for a while, by revision and digest for longer. M2 after every new connection the store is asked about all of them: of
 * the pulse, and of the one by which commits are acknowledged, over which the last word of the server before has come; and
 * about one run whenever a commit of it is refused. M3 what was found is looked after until it is put right.
 */
import {
  type Commit,
  isForgotten,
  mayBePurged,
  type Remembered,
  type Run,
  type RunRecord,
  type RunRef,
  recreated,
  runKey,
} from "../core/index.ts";
import { type EngineContext, pause, trouble, wake } from "./context.ts";

/** Runs of which a revision and a digest are kept (some 200 bytes each). */
const keptAtAll = 20_000;
/** Of the newest, the whole: as many as weigh this much together, by a rough guess of what one takes. */
const wholeBytes = 32_000_000;
const bytesOf = { run: 2_000, row: 600 } as const;
/** Runs asked about at once. */
const atOnce = 50;
/** Between two attempts to put a run right that somebody else has: often enough to be first when a lease lapses. */
const againMs = 200;

interface Mark extends Omit<Remembered, "run"> {
  readonly ref: RunRef;
  /** It may be deleted from then on; `null`: it is kept. */
  readonly keepUntil: number | null;
}

export class Memory {
  readonly #context: EngineContext;
  /** Drives a run as a wake-up would, and also one that is over for the store. */
  readonly #advance: (run: RunRef) => Promise<void>;
  /** Makes this process give up the run where it drives it: what it holds is of a world that is no more. */
  readonly #giveUp: (run: RunRef) => Promise<void>;
  readonly #marks = new Map<string, Mark>();
  readonly #runs = new Map<string, Run>();
  #weight = 0;
  #comparing: Promise<void> | null = null;
  /** A connection was opened since the comparison under way began. */
  #isAsked = false;
  /** Runs that are being put right. */
  readonly #wrong = new Map<string, Promise<void>>();

  constructor(context: EngineContext, advance: (run: RunRef) => Promise<void>, giveUp: (run: RunRef) => Promise<void>) {
    this.#context = context;
    this.#advance = advance;
    this.#giveUp = giveUp;
  }

  /** A commit was acknowledged; `run` is what it made. */
  keep(commit: Commit, run: Run): void {
    const { record } = run;
    const ref = { tenant: record.tenant, id: record.id };
    const { now: at, keepUntil } = commit;
    const mark = { ref, revision: record.revision, digest: record.logDigest, at, keepUntil, isDenied: false };
    const key = runKey(ref);
    this.#marks.delete(key);
    this.#marks.set(key, mark);
    if (this.#marks.size > keptAtAll) forgetOldest(this.#marks, (oldest) => this.#marks.delete(oldest));
    this.#forget(key);
    this.#runs.set(key, run);
    this.#weight += weightOf(run);
    while (this.#weight > wholeBytes) forgetOldest(this.#runs, (oldest) => this.#forget(oldest));
  }

  #forget(key: string): void {
    const run = this.#runs.get(key);
    if (run === undefined) return;
    this.#runs.delete(key);
    this.#weight -= weightOf(run);
  }

  /** What is remembered of a run, where the store that answered with `stored` has forgotten it. */
  forgottenBy(stored: RunRecord): Remembered | null {
    const key = runKey(stored);
    const mark = this.#marks.get(key);
    if (mark === undefined) return null;
    if (mayBePurged(mark.keepUntil, stored, stored.createdAt)) return null;
    const { ref: _ref, keepUntil: _keepUntil, ...known } = mark;
    const remembered = { ...known, run: this.#runs.get(key) ?? null };
    if (isForgotten(stored, remembered)) return remembered;
    // It was brought back with at least as much. That may be forgotten in its turn, so it is still remembered.
    if (mark.isDenied) this.#marks.set(key, { ...mark, isDenied: false });
    return null;
  }

  /** A commit of the run was refused: has somebody else moved it, or does the store know an older world? */
  doubt(ref: RunRef): void {
    const mark = this.#marks.get(runKey(ref));
    if (mark !== undefined) this.#context.background(this.#check(mark));
  }

  /** Asks the store about everything that is remembered; once more where that is under way, perhaps with another server. */
  compare(): Promise<void> {
    this.#isAsked = true;
    this.#comparing ??= this.#compareWhileAsked().finally(() => {
      this.#comparing = null;
    });
    return this.#comparing;
  }

  /** Resolves when nothing that was found forgotten is left to be put right. */
  async allRight(): Promise<void> {
    while (this.#wrong.size > 0) await Promise.race(this.#wrong.values());
  }

  async #compareWhileAsked(): Promise<void> {
    while (this.#isAsked) {
      this.#isAsked = false;
      await this.#compareAll();
    }
  }

  async #compareAll(): Promise<void> {
    const marks = [...this.#marks.values()];
    for (let from = 0; from < marks.length; from += atOnce) {
      await Promise.all(marks.slice(from, from + atOnce).map((mark) => this.#check(mark)));
    }
  }

  async #check(mark: Mark): Promise<void> {
    const { store } = this.#context;
    const { ref, revision, digest } = mark;
    while (!this.#context.isStopping()) {
      try {
        const [entry] = await store.log(ref, revision, revision);
        if (entry === undefined && (await this.#isTrimmed(mark))) return;
        if (entry?.digest !== digest && (await this.#isPurged(mark))) return;
        if (entry?.digest !== digest) this.#look(mark);
        return;
      } catch (error) {
        trouble(this.#context, "memory", error);
        await pause(this.#context.clock, againMs);
      }
    }
  }

  /** Has somebody moved the run so far that its log no longer goes back to what is remembered? */
  async #isTrimmed({ ref, revision }: Mark): Promise<boolean> {
    const stored = await this.#context.store.read(ref);
    return stored !== null && stored.logFrom > revision;
  }

  /** Is it gone, as it may be, and perhaps another one has its id? Then there is nothing to remember. */
  async #isPurged(mark: Mark): Promise<boolean> {
    const { store } = this.#context;
    const stored = await store.read(mark.ref);
    const isGone = mayBePurged(mark.keepUntil, stored, await store.now());
    const key = runKey(mark.ref);
    if (isGone && this.#marks.get(key) === mark) {
      this.#marks.delete(key);
      this.#forget(key);
    }
    return isGone;
  }

  #look(mark: Mark): void {
    const key = runKey(mark.ref);
    // Of a run that was committed since, the newest is asked about.
    if (this.#marks.get(key) !== mark) return;
    const message = `the store has forgotten revision ${mark.revision} of run ${key}, which it had acknowledged`;
    trouble(this.#context, "memory", new Error(message));
    this.#marks.set(key, { ...mark, isDenied: true });
    // Where it is being put right already, it is until this is put right, too.
    if (this.#wrong.has(key)) return;
    const right = this.#putRight(key);
    this.#wrong.set(key, right);
    this.#context.background(right);
  }

  /** Until a commit of this process has taken the place of the one that was forgotten. */
  async #putRight(key: string): Promise<void> {
    for (let mark = this.#denied(key); mark !== null; mark = this.#denied(key)) {
      try {
        await this.#giveUp(mark.ref);
        if (await this.#isThere(mark)) await this.#advance(mark.ref);
      } catch (error) {
        trouble(this.#context, "memory", error);
      }
      if (this.#denied(key) !== null) await pause(this.#context.clock, againMs);
    }
    this.#wrong.delete(key);
  }

  /** What is to be put right of that run; `null`: nothing, or the worker stops. */
  #denied(key: string): Mark | null {
    const mark = this.#marks.get(key);
    return mark?.isDenied === true && !this.#context.isStopping() ? mark : null;
  }

  /** Is the run in the store, as it is or created anew? One that is not remembered whole cannot be, and is left. */
  async #isThere({ ref, revision, digest, at, isDenied }: Mark): Promise<boolean> {
    const { store, ids } = this.#context;
    if ((await store.read(ref)) !== null) return true;
    const key = runKey(ref);
    const run = this.#runs.get(key);
    if (run === undefined) {
      this.#marks.delete(key);
      return false;
    }
    const remembered = { revision, digest, at, run, isDenied };
    const answer = await store.create({ ...recreated(remembered, run), commandId: ids.next() });
    if (answer.answer === "OK") await wake(this.#context, answer.wake);
    return true;
  }
}

function weightOf({ record, rows }: Run): number {
  return bytesOf.run + record.bytes + rows.length * bytesOf.row;
}

/** What was set last is last. */
function forgetOldest(map: ReadonlyMap<string, unknown>, forget: (key: string) => void): void {
  for (const oldest of map.keys()) return forget(oldest);
}
