/**
 * Drives one run: acquire -> decide -> commit -> call -> feed back -> ... until the run waits, ends or is lost. Owns the
 * order of these, and nothing about what happens next to a run: that is `decide`'s.
 *
 * Invariants: A1 one loop, one mailbox; at most one commit is in flight, and what arrives meanwhile is folded, in order of
 * arrival, into the next. A2 a commit without an answer is sent again unchanged until it is answered; it is never read
 * back and decided anew. A3 a call is begun only after the commit that grants it was acknowledged, within `startWithinMs`
 * of the time it is dated, inside the lease's trust, with no cancel, pause or stop at hand; else the grant is given back as "not
 * called". A4 told FENCED or STALE it commits nothing any more and hands in what it learns as late results. A5 `now` is
 * the time of the last answer plus the monotonic time since; it never comes from a wall clock.
 */
import {
  type Commit,
  type CommitAnswer,
  type Decision,
  type DriverFact,
  decide,
  type InboxEntry,
  isAskedToMove,
  type Machine,
  noticesOf,
  type Offer,
  type Run,
  type RunRef,
  type Timed,
} from "../core/index.ts";
import { Calls } from "./calls.ts";
import { type Answered, type EngineContext, trouble, untilAnswered, wake } from "./context.ts";
import { Intents } from "./intents.ts";
import type { HeldLease, LeaseHolder } from "./lease.ts";
import { highest, Mailbox } from "./mailbox.ts";
import type { OutcomeFact } from "./outcome.ts";
import { leaseLost, type OwnFact, Receipts } from "./receipts.ts";
import { tellBudgets } from "./spending.ts";
import { StoreTime } from "./store-time.ts";
import { ToolDesk, type ToolRequest, type ToolWord } from "./tool-desk.ts";
import { Turns } from "./turns.ts";

/** A run as it was acquired. */
export interface Acquired {
  readonly run: Run;
  readonly machine: Machine;
  readonly fact: DriverFact;
  readonly now: number;
}

/** What became of a decision: written (or there was nothing to write), refused with something new, or the run is lost. */
type Written =
  | { readonly is: "written"; readonly grantedAt: number; readonly inbox: readonly InboxEntry[]; readonly ms: number }
  | { readonly is: "again"; readonly facts: readonly DriverFact[] }
  /** `maybe`: it was sent more than once and may have landed before the run was lost. */
  | { readonly is: "lost"; readonly maybe: Decision | null };

/** After a decision that changed nothing, time must pass before the next one is worth making. */
const idleTickMs = 10;
const nothingNew: readonly InboxEntry[] = [];
const nothingLearnt: readonly DriverFact[] = [];

export class Driver implements LeaseHolder {
  readonly #context: EngineContext;
  readonly #held: HeldLease;
  readonly #machine: Machine;
  readonly #time: StoreTime;
  readonly #calls: Calls;
  readonly #ref: RunRef;
  /** Called when an outcome was committed: what was held against the run before is over. */
  readonly #cleared: () => void;
  readonly #mail: Mailbox;
  readonly #receipts = new Receipts();
  readonly #desk = new ToolDesk();
  readonly #intents: Intents;
  readonly #turns: Turns;
  #run: Run;
  /** What is being decided on: not committed yet. */
  #facts: readonly DriverFact[] = nothingLearnt;
  #reading = false;
  #lost = false;
  #expelled = false;
  /** A request that gives the run back is under way: its own answer says what became of it. */
  #givingBack = false;

  constructor(
    context: EngineContext,
    held: (holder: LeaseHolder) => HeldLease,
    acquired: Acquired,
    cleared: () => void,
  ) {
    this.#context = context;
    this.#held = held(this);
    this.#cleared = cleared;
    this.#ref = this.#held.ref.run;
    this.#machine = acquired.machine;
    this.#time = new StoreTime(context.clock, acquired.now);
    this.#run = acquired.run;
    const { inbox, record } = acquired.run;
    this.#mail = new Mailbox(context.clock, acquired.fact, highest(inbox, record.seen));
    const learn = (fact: OutcomeFact, refused: boolean) => this.#learn(fact, refused);
    const ask = (request: ToolRequest) => this.#ask(request);
    this.#calls = new Calls(context, this.#held, this.#machine, this.#time, learn, (fact) => this.#keep(fact), ask);
    this.#intents = new Intents(context, this.#ref, (fact) => this.#mail.post(fact));
    this.#turns = new Turns(context, this.#ref, this.#time, {
      learn: (fact) => this.#mail.post(fact),
      isLost: () => this.#lost,
    });
  }

  /** Resolves when this process has nothing more to do for the run. */
  async drive(): Promise<void> {
    try {
      await this.#drive();
    } catch (error) {
      // Nothing can be decided or written any more: what the calls say must not be lost with this driver.
      this.#lose(this.#facts, null);
      throw error;
    } finally {
      this.#context.leases.drop(this.#held);
      const ended = this.#calls.end();
      if (ended !== null) await ended;
    }
  }

  async #drive(): Promise<void> {
    this.#facts = this.#mail.take();
    for (;;) {
      const decision = this.#decide(this.#facts);
      const { commit, offers, then } = decision;
      const sentAt = this.#context.clock.monotonicMs();
      const sent = commit === null ? null : await this.#send(commit);
      const written = this.#written(decision, sentAt, sent);
      if (written.is === "lost") return this.#lose(this.#facts, written.maybe);
      if (written.is === "again") {
        this.#facts = [...this.#facts, ...this.#mail.take(), ...written.facts];
        continue;
      }
      this.#receipts.written(this.#facts, decision.run);
      this.#facts = nothingLearnt;
      this.#follow(decision, written);
      if (offers.length > 0) await this.#offer(offers);
      if (then === "released") return;
      if (then === "release" && this.#mail.isEmpty && (await this.#release(decision.wanted))) return;
      const heard = this.#listen(decision);
      if (heard !== null) await heard;
      if (this.#lost) return this.#lose([], null);
      if (this.#isThrough()) return await this.#handBack();
      this.#facts = this.#mail.take();
    }
  }

  /** The worker stops, or the saga is paused: calls may end, nothing is begun, and the run is given back. */
  stop(): void {
    this.#mail.post({ type: "stopping" });
  }

  get ref(): RunRef {
    return this.#ref;
  }

  get saga(): string {
    return this.#run.record.saga;
  }

  /** The grace is over: what still runs is aborted, and the run is handed back as it stands. */
  expel(): void {
    this.#expelled = true;
    this.#calls.abortAll();
    this.#mail.wake();
  }

  drives({ tenant, id }: RunRef): boolean {
    return this.#ref.tenant === tenant && this.#ref.id === id;
  }

  /** What it holds is of a world that is no more: it commits nothing, and leaves the run to who comes next. */
  async giveUp(): Promise<void> {
    if (this.#lost || this.#givingBack) return;
    this.fenced();
    const { store } = this.#context;
    await store.release(this.#held.ref, Number.MAX_SAFE_INTEGER, this.#time.now());
  }

  fenced(): void {
    if (this.#lost || this.#givingBack) return;
    this.#lost = true;
    this.#context.facts.emit({ fact: "fenced", run: this.#ref });
    this.#calls.abortAll();
    this.#mail.wake();
  }

  renewed(position: number): void {
    if (this.#calls.takeUnasked()) this.#mail.post({ type: "tick" });
    if (position > this.#mail.fed && !this.#reading) this.#context.background(this.#readInbox());
  }

  // ---- one decision

  #decide(facts: readonly DriverFact[]): Decision {
    const { namespace, settings, ids, owner } = this.#context;
    const isToStop = this.#isStopping || this.#isToMove(facts);
    const told: readonly DriverFact[] = isToStop ? [...facts, { type: "stopping" }] : facts;
    return decide(this.#run, told, {
      machine: this.#machine,
      namespace,
      settings,
      now: this.#time.now(),
      commitId: ids.next(),
      random: ids.random(),
      actor: owner,
      fence: this.#held.ref.fence,
      inFlight: this.#inFlight(),
    });
  }

  /** Is the run asked to move to a version that is at hand here? It is handed back, and taken up by that. */
  #isToMove(facts: readonly DriverFact[]): boolean {
    if (this.#run.record.version !== this.#machine.saga.version) return false;
    const news = facts.flatMap((fact) => (fact.type === "inbox" ? fact.entries : nothingNew));
    const { sagas } = this.#context;
    return isAskedToMove(this.#run, news, (target) => sagas.machineFor(target) !== null);
  }

  get #isStopping(): boolean {
    return this.#context.isStopping() || this.#context.isPaused(this.saga);
  }

  #inFlight(): ReadonlySet<string> {
    const calls = this.#calls.inFlight;
    const intents = this.#intents.inFlight;
    const turns = this.#turns.inFlight;
    return intents.size + turns.size === 0 ? calls : new Set([...calls, ...intents, ...turns]);
  }

  /** What became of a decision whose commit, if it has one, was first sent at `sentAt`. */
  #written(decision: Decision, sentAt: number, sent: Answered<Timed<CommitAnswer>> | null): Written {
    const { clock, leases } = this.#context;
    const { commit } = decision;
    if (commit === null) {
      this.#givingBack = false;
      return { is: "written", grantedAt: sentAt, inbox: nothingNew, ms: 0 };
    }
    if (sent === null) return { is: "lost", maybe: null };
    const { answer: reply, askedAt, resent } = sent;
    this.#time.heard(reply.now);
    switch (reply.answer) {
      case "OK":
      case "DUP":
        leases.confirm(this.#held, sentAt);
        // Its deadlines count from its `now`, which is as old as the last answer was late: no call may outlive them.
        return {
          is: "written",
          grantedAt: askedAt - (reply.now - commit.now),
          inbox: reply.inbox,
          ms: clock.monotonicMs() - sentAt,
        };
      case "INBOX":
        this.#mail.knows(reply.inbox);
        return { is: "again", facts: [{ type: "inbox", entries: reply.inbox }] };
      case "PERMITTED":
        return { is: "again", facts: [{ type: "permitted", permits: reply.permits }] };
      case "CLOCK":
        return { is: "again", facts: [] };
      case "FENCED":
      case "STALE":
        this.#context.facts.emit({ fact: reply.answer === "STALE" ? "stale" : "fenced", run: this.#ref });
        this.#context.refused(this.#ref);
        return { is: "lost", maybe: resent ? decision : null };
    }
  }

  #send(commit: Commit): Promise<Answered<Timed<CommitAnswer>> | null> {
    const { store, settings } = this.#context;
    const notices = noticesOf(this.#context.hooks, this.#run.record, commit);
    const command = { lease: this.#held.ref, commit, leaseMs: settings.leaseMs, notices };
    this.#givingBack = commit.release;
    return untilAnswered(this.#context, "commit", () => store.commit(command));
  }

  /** Begins what follows from an acknowledged decision. */
  #follow(decision: Decision, written: Extract<Written, { is: "written" }>): void {
    const { commit } = decision;
    const before = this.#run;
    this.#run = decision.run;
    if (commit !== null) {
      this.#tell(commit, before, written.ms);
      this.#context.moved(before.record, commit, this.#run);
      if (commit.log.taken.some((taken) => taken.what === "outcome")) this.#cleared();
    }
    for (const key of decision.abort) this.#calls.abort(key);
    this.#calls.begin(decision, written.grantedAt, this.#objection(written.inbox));
    this.#intents.begin(decision);
    this.#turns.begin(decision);
    this.#desk.written(this.#run, this.#isStopping);
    this.#mail.postEntries(written.inbox);
  }

  #tell({ record, log: entry }: Commit, before: Run, ms: number): void {
    const { facts } = this.#context;
    facts.emit({ fact: "committed", run: this.#ref, record, rows: this.#run.rows, entry, before, ms });
    tellBudgets(facts, this.#ref, entry);
  }

  async #offer(offers: readonly Offer[]): Promise<void> {
    const { priority } = this.#run.record;
    try {
      await this.#context.wakeUps.offer(offers.map((offer) => ({ ...offer, run: this.#ref, priority })));
    } catch (error) {
      trouble(this.#context, "offer", error);
    }
  }

  // ---- giving it back

  /** `true`: given back (or somebody else's). `false`: something newer is in the inbox. */
  async #release(due: number | null, seen = this.#mail.fed): Promise<boolean> {
    const { store } = this.#context;
    this.#givingBack = true;
    const sent = await untilAnswered(this.#context, "release", () => store.release(this.#held.ref, seen, due));
    if (sent === null) return true;
    const { answer } = sent;
    if (answer.answer !== "INBOX") {
      await wake(this.#context, answer.wake);
      return true;
    }
    this.#givingBack = false;
    this.#time.heard(answer.now);
    await this.#readInbox();
    return false;
  }

  #isThrough(): boolean {
    return this.#expelled && this.#mail.isEmpty && this.#calls.inFlight.size === 0;
  }

  /** The run goes on elsewhere at once, where everything newer is read; what was not answered is judged there. */
  async #handBack(): Promise<void> {
    await this.#release(this.#time.now(), Number.MAX_SAFE_INTEGER);
  }

  /** Somebody else has the run: what was learnt and not committed is handed in. */
  #lose(facts: readonly DriverFact[], maybe: Decision | null): void {
    this.#lost = true;
    this.#receipts.lose();
    this.#desk.lose();
    this.#calls.abortAll();
    for (const fact of [...facts, ...this.#mail.take()]) if (fact.type === "result") this.#calls.handIn(fact);
    if (maybe !== null) this.#calls.disown(maybe);
  }

  // ---- what is learnt

  #learn(fact: OutcomeFact, refused: boolean): void {
    if (this.#lost) return this.#calls.handIn(fact);
    // During the expulsion an outcome that nobody knows is an interruption: the next driver judges it.
    const interrupted = this.#expelled && !refused && fact.type === "result" && fact.result.kind === "unknown";
    if (interrupted) this.#mail.wake();
    else this.#mail.post(fact);
  }

  /** Resolves when what a step says of itself is committed. */
  #keep(fact: OwnFact): Promise<void> {
    if (this.#lost) return Promise.reject(leaseLost());
    const kept = this.#receipts.of(fact);
    this.#mail.post(fact);
    return kept;
  }

  /** Resolves when what the run has come to answers the request. */
  #ask(request: ToolRequest): Promise<ToolWord> {
    if (this.#lost) return Promise.resolve({ is: "lost" });
    const answered = this.#desk.of(request);
    this.#mail.post({ type: "tool", ...request.ask });
    return answered;
  }

  /** Resolves with mail, at the time wanted, with the loss of the lease or the expulsion; `null`: there is nothing to wait for. */
  #listen({ wanted, commit }: Decision): Promise<void> | null {
    if (this.#lost || this.#isThrough()) return null;
    const least = commit === null ? idleTickMs : 0;
    return this.#mail.listen(wanted === null ? null : Math.max(least, wanted - this.#time.now()));
  }

  async #readInbox(): Promise<void> {
    this.#reading = true;
    try {
      this.#mail.postEntries(await this.#context.store.inbox(this.#ref));
    } catch (error) {
      trouble(this.#context, "inbox", error);
    } finally {
      this.#reading = false;
    }
  }

  /** Why no call may be begun because of what has come in since the grant; `null`: nothing against it. */
  #objection(entries: readonly InboxEntry[]): string | null {
    if (this.#lost) return "the lease was lost";
    if (entries.length === 0 && this.#mail.isEmpty) return null;
    const asked = [...entries, ...this.#mail.entries()].map(({ body }) => body);
    if (asked.some((body) => body.type === "cancel")) return "a cancel is at hand";
    return asked.some((body) => body.type === "control" && body.control === "pause") ? "a pause is at hand" : null;
  }
}
