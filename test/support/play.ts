/**
 * Plays one run against core alone, under virtual time: what a driver, a store and the outside would do, as plain values.
 * Every decision is made twice on a frozen run (D1), goes through JSON (R5), and is held to the invariants of
 * `play-invariants.ts`.
 */
import { isDeepStrictEqual } from "node:util";
import {
  type AskTurnAnswer,
  begin,
  type CallOrder,
  type CallResult,
  type ChildSeen,
  type ClaimIntentAnswer,
  type ClaimOrder,
  type DecideInput,
  type Decision,
  type DriverFact,
  decide,
  type InboxBody,
  type InboxEntry,
  type IntentWord,
  type LogEntry,
  type Machine,
  machineOf,
  type Parent,
  type PermitState,
  type PublishOrder,
  type Remembered,
  type Row,
  type Run,
  type Shares,
  type Taken,
  type ToolAnswer,
  type ToolAsk,
  type TurnOrder,
  toolAnswer,
  type VerbCommand,
} from "../../src/core/index.ts";
import { callOf } from "../../src/core/rows.ts";
import type { Json, Saga } from "../../src/saga/index.ts";
import { checkDecision } from "./play-invariants.ts";
import { Witness } from "./play-witness.ts";

export const epochMs = 1_000_000;

export interface PlayOptions {
  /** `r1` unless given. */
  readonly id?: string;
  readonly input?: Json;
  readonly settings?: Partial<DecideInput["settings"]>;
  readonly machine?: Machine;
  /** Store time from which it may begin; at once unless given. */
  readonly startAt?: number;
  /** Told of every decision that was written. */
  readonly watch?: () => void;
  /** The run that has started it, and what it may use of that one's budgets. */
  readonly parent?: Parent;
  readonly shares?: Shares;
  /** Do not begin yet. */
  readonly idle?: boolean;
}

export const settings = {
  startWithinMs: 2_000,
  abortGraceMs: 1_000,
  inlineWaitMs: 2_000,
  quiesceMs: 5_000,
  intentWaitMs: 60_000,
  barrierMs: 1_500,
  maxRunBytes: 64_000_000,
  logEntries: 2_000,
  retentionMs: null,
};

export class Play {
  run: Run;
  readonly log: LogEntry[];
  now = epochMs;
  fence = 0;
  /** The lease is held. */
  held = false;
  /** Drivers that lost the run and are not gone: they may be frozen. */
  readonly frozen = new Set<string>();
  random = 0.5;
  machine: Machine;
  /** Calls and probes under way. */
  readonly inFlight = new Map<string, CallOrder>();
  /** Claims and words for the registry of intents under way, by `claim:<seq>`, `publish:<seq>`. */
  readonly registry = new Map<string, ClaimOrder | PublishOrder>();
  /** What is under way to the line of its turns, by `turn:ask`, `turn:give`. */
  readonly line = new Map<string, TurnOrder>();
  /** Those of drivers that are gone: they may still arrive. */
  readonly ghosts: (ClaimOrder | PublishOrder)[] = [];
  /** All calls ordered so far, as `charge`, `undo charge`, `probe charge`. */
  readonly ordered: string[] = [];
  readonly orders: CallOrder[] = [];
  /** What actions have asked for so far. */
  readonly asks: ToolAsk[] = [];
  readonly permits = new Map<number, PermitState>();
  /** Step jobs offered so far, by step. */
  readonly offered: string[] = [];
  aborted: string[] = [];
  last: Decision | null = null;
  /** When the run next wants attention by itself, while nobody holds it. */
  due: number | null = null;
  readonly #settings: DecideInput["settings"];
  readonly #watch: (() => void) | undefined;
  #witness = new Witness(this.frozen);
  readonly #answered = new Set<ToolAsk>();
  #stopping = false;
  #asks = 0;
  #position = 0;
  #commits = 0;

  constructor(saga: Saga, options: PlayOptions = {}) {
    this.machine = options.machine ?? machineOf(saga.spec);
    this.#settings = { ...settings, ...options.settings };
    this.#watch = options.watch;
    const { record, log } = begin({
      machine: this.machine,
      hash: "hash",
      tenant: "default",
      id: options.id ?? "r1",
      input: options.input ?? {},
      priority: 0,
      now: this.now,
      startAt: options.startAt ?? this.now,
      ...(options.parent === undefined ? {} : { parent: options.parent }),
      ...(options.shares === undefined ? {} : { shares: options.shares }),
    });
    this.run = { record, rows: [], inbox: [] };
    this.log = [log];
    if (options.idle !== true) this.acquire();
  }

  // ---- what a test looks at

  get status() {
    return this.run.record.status;
  }
  get rollback() {
    return this.run.record.rollback;
  }
  get review() {
    return this.run.record.review;
  }
  row(step: string, occurrence = 1): Row {
    const found = this.run.rows.find((row) => row.step === step && row.occurrence === occurrence);
    if (found === undefined) throw new Error(`no row of ${step}`);
    return found;
  }
  /** What the driver does after the last decision. */
  get next(): { readonly does: string; readonly wanted: number | null; readonly due: number | null } {
    if (this.last === null) throw new Error("nothing was decided yet");
    return { does: this.last.then, wanted: this.last.wanted, due: this.last.commit?.due ?? null };
  }
  /** What was logged, as one word each: `sent 1`, `outcome 1 unknown probe`. */
  taken(): readonly Taken[] {
    return this.log.flatMap((entry) => entry.taken);
  }
  /** Steps whose action or compensation is under way: `charge`, `undo charge`, `probe charge`. */
  flying(): readonly string[] {
    return [...this.inFlight.values()].map((order) => this.nameOf(order));
  }

  // ---- the driver

  /** Wins the lease. `died`: the owner before is known to be dead; `undefined`: the lease had been given back. */
  acquire(takenFrom: { readonly died: boolean } | null = null): Decision {
    this.fence += 1;
    this.held = true;
    this.#stopping = false;
    this.inFlight.clear();
    this.ghosts.push(...this.registry.values());
    this.registry.clear();
    this.line.clear();
    const permits = [...this.permits.values()].map((permit) => ({ ...permit, expired: permit.until <= this.now }));
    const from = takenFrom === null ? null : { owner: `w${this.fence - 1}`, died: takenFrom.died };
    return this.step({ type: "acquired", takenFrom: from, permits });
  }

  /** The process that held the run is gone; another one takes over. */
  takeOver(how: { readonly died: boolean } = { died: true }): Decision {
    this.#witness.lost(this.inFlight.values());
    return this.acquire(how);
  }

  /** The process that held the run stands still, and lives; another one takes over. Gives its name. */
  freeze(): string {
    const owner = `w${this.fence}`;
    this.frozen.add(owner);
    this.takeOver({ died: false });
    return owner;
  }

  /** The store is one that stands elsewhere: whatever was under way here is of another world, and nobody drives it. */
  becomes(run: Run, log: readonly LogEntry[]): void {
    this.run = run;
    this.log.splice(0, this.log.length, ...log);
    for (const held of [this.inFlight, this.registry, this.line, this.permits]) held.clear();
    this.#witness = new Witness(this.frozen);
    this.#stopping = false;
    this.held = false;
    this.due = this.now;
  }

  /** A process takes it that remembers more than the store. */
  remembers(remembered: Remembered): Decision {
    this.becomes(this.run, [...this.log]);
    this.fence += 1;
    this.held = true;
    return this.step({ type: "acquired", takenFrom: null, permits: [], remembered });
  }

  stop(): Decision {
    this.#stopping = true;
    return this.step();
  }

  tick(): Decision {
    return this.step({ type: "tick" });
  }

  /** Decides, writes, and does what follows. */
  step(...facts: readonly DriverFact[]): Decision {
    for (const fact of facts) this.#witness.heard(fact, this.run);
    let told: readonly DriverFact[] = this.#stopping ? [...facts, { type: "stopping" }] : facts;
    let decision = this.#decide(told);
    const permitted = decision.commit?.withdraw.flatMap(({ seq, send }) => {
      const permit = this.permits.get(seq);
      return permit?.send === send ? [permit] : [];
    });
    if (permitted !== undefined && permitted.length > 0) {
      told = [...told, { type: "permitted", permits: permitted }];
      decision = this.#decide(told);
      if (decision.commit?.withdraw.some(({ seq, send }) => this.permits.get(seq)?.send === send) === true) {
        throw new Error("a permitted row is withdrawn again");
      }
    }
    this.#apply(decision);
    if (this.held) for (const ask of this.asks) this.#lookAtAsk(ask);
    this.#watch?.();
    return decision;
  }

  #decide(facts: readonly DriverFact[]): Decision {
    const input: DecideInput = {
      machine: this.machine,
      namespace: "ns",
      settings: this.#settings,
      now: this.now,
      commitId: `c${this.#commits}`,
      random: this.random,
      actor: `w${this.fence}`,
      fence: this.fence,
      inFlight: new Set([...this.inFlight.keys(), ...this.registry.keys(), ...this.line.keys()]),
    };
    const run = frozen(this.run);
    const decision = decide(run, facts, input);
    const again = decide(run, facts, input);
    if (!isDeepStrictEqual(plain(decision), plain(again))) throw new Error("the same decision came out otherwise");
    checkDecision({ before: run, decision, input, log: this.log });
    return decision;
  }

  #apply(decision: Decision): void {
    const { commit, then } = decision;
    this.last = decision;
    this.run = plain(decision.run);
    if (!isDeepStrictEqual(this.run, decision.run)) throw new Error("the run is not JSON");
    if (commit !== null) {
      this.#commits += 1;
      this.log.push(...plain(commit.lost), plain(commit.log));
      for (const seq of commit.settledPermits) this.permits.delete(seq);
    }
    for (const key of decision.abort) this.aborted.push(key);
    for (const order of decision.calls) this.#order(order);
    for (const offer of decision.offers) this.offered.push(this.run.rows[offer.seq - 1]?.step ?? "");
    for (const order of decision.claims) this.#register(`claim:${order.seq}`, order);
    for (const order of decision.publishes) this.#register(`publish:${order.seq}`, order);
    if (decision.turn !== null) this.#stand(decision.turn);
    if (then === "hold") return;
    this.held = false;
    this.due = decision.wanted;
  }

  /** An action that is out waits only for what somebody goes on with. */
  #lookAtAsk(ask: ToolAsk): void {
    if (this.#answered.has(ask)) return;
    // An action is answered once: one that was suspended does not wait any more, whatever comes.
    if (this.toolAnswer(ask).is !== "pending") return void this.#answered.add(ask);
    if (this.inFlight.get(`action:${ask.parent}`)?.send !== ask.send) return;
    const isOpen = this.run.rows.some(({ tool, told }) => tool?.parent === ask.parent && told === null);
    if (!isOpen) throw new Error(`row ${ask.parent} waits for a tool that nobody goes on with`);
  }

  #order(order: CallOrder): void {
    const key = `${order.kind}:${order.seq}`;
    if (this.inFlight.has(key)) throw new Error(`${key} is ordered twice`);
    this.#witness.ordered(order, this.run, this.machine, { now: this.now, owner: `w${this.fence}` });
    this.inFlight.set(key, order);
    this.orders.push(order);
    this.ordered.push(this.nameOf(order));
  }

  #register(key: string, order: ClaimOrder | PublishOrder): void {
    if (this.registry.has(key)) throw new Error(`${key} is ordered twice`);
    this.registry.set(key, order);
  }

  #stand(order: TurnOrder): void {
    const key = `turn:${order.kind}`;
    if (this.line.has(key)) throw new Error(`${key} is ordered twice`);
    this.line.set(key, order);
  }

  /** The line answers whether it is the run's turn. */
  turned(answer: AskTurnAnswer): Decision {
    const order = this.line.get("turn:ask");
    if (order?.kind !== "ask") throw new Error("nobody has asked for a turn");
    this.line.delete("turn:ask");
    return this.step({ type: "turn", answer, asked: order.asked });
  }
  /** The line has heard that it is over. */
  given(): Decision {
    if (!this.line.delete("turn:give")) throw new Error("nobody has given a turn");
    return this.step({ type: "turn_given" });
  }

  nameOf({ kind, seq, side }: Pick<CallOrder, "kind" | "seq" | "side">): string {
    const step = this.run.rows[seq - 1]?.step ?? "?";
    if (kind === "probe") return side === "undo" ? `probe undo ${step}` : `probe ${step}`;
    return kind === "undo" ? `undo ${step}` : step;
  }

  // ---- the outside

  /** The call of that step's action (or, `undo charge`, its compensation) comes back. */
  answer(name: string, result: CallResult): Decision {
    const order = this.#land(name);
    return this.step(resultOf(order, result));
  }

  /** Several come back at once, in this order. */
  answers(...results: readonly (readonly [string, CallResult])[]): Decision {
    return this.step(...results.map(([name, result]) => resultOf(this.#land(name), result)));
  }

  /** A probe comes back. */
  probe(name: string, answer: "happened" | "absent" | "cannot_tell", output: Json = { id: "found" }): Decision {
    const { seq, side } = this.#land(`probe ${name}`);
    const known = answer === "happened" && side === "action" ? output : null;
    const row = this.run.rows[seq - 1];
    const senders = row === undefined ? [] : (callOf(row, side)?.senders ?? []);
    const gone = senders.flatMap(({ owner }) => (this.frozen.has(owner) ? [] : [owner]));
    return this.step({ type: "probed", seq, side, answer, output: known, unusable: false, note: null, gone });
  }

  /** A request to the child of that step's row (`undo order`: to go back) comes back; `nth` of those under way. */
  looks(name: string, seen: ChildSeen, nth = 0): Decision {
    const { seq, send, side } = this.#land(name, nth);
    return this.step({ type: "child", seq, send, side, seen });
  }
  /** A child says that it has moved. */
  moved(step: string, occurrence = 1): Decision {
    const { seq } = this.row(step, occurrence);
    return this.send(`child:${seq}.${this.#position}`, { type: "child", seq, run: `r1.${seq}` });
  }

  /** A probe finds the effect, with an output that fits nothing. */
  probeUnusable(name: string): Decision {
    const { seq, side } = this.#land(`probe ${name}`);
    return this.step({
      type: "probed",
      seq,
      side,
      answer: "happened",
      output: 7,
      unusable: true,
      note: "not an object",
    });
  }

  #land(name: string, nth = 0): CallOrder {
    const found = [...this.inFlight].filter(([, order]) => this.nameOf(order) === name)[nth];
    if (found === undefined) throw new Error(`${name} is not under way, only ${this.flying().join(", ") || "nothing"}`);
    this.inFlight.delete(found[0]);
    return found[1];
  }

  // ---- the registry of intents

  /** The registry answers the claim of that step's row. */
  claimed(step: string, answer: ClaimIntentAnswer, theirs: Json = null): Decision {
    const { seq, claim } = this.registered("claim", step);
    return this.step({ type: "claimed", seq, claim, answer, theirs });
  }
  /** The registry has heard what became of that step's row. */
  published(step: string): Decision {
    const order = this.registered("publish", step);
    if (!("became" in order)) throw new Error("a claim is no word");
    return this.step({ type: "published", seq: order.seq, claim: order.claim, became: order.became.state });
  }
  /** What is under way to the registry about that step's row; it is not any more. */
  registered(kind: "claim" | "publish", step: string): ClaimOrder | PublishOrder {
    const key = `${kind}:${this.run.rows.findLast((row) => row.step === step)?.seq}`;
    const order = this.registry.get(key);
    if (order === undefined) throw new Error(`${key} is not under way, only ${[...this.registry.keys()].join(", ")}`);
    this.registry.delete(key);
    return order;
  }
  /** Another run says what became of an intent. */
  word(step: string, owner: string, became: IntentWord): Decision {
    const { seq } = this.row(step);
    return this.send(`intent:${seq}:1:${became}`, { type: "intent", seq, owner, became });
  }
  /** An action says what it has used. */
  spend(step: string, uses: Readonly<Record<string, number>>, key: Json = null): Decision {
    const { seq, call } = this.row(step);
    return this.step({ type: "spend", seq, send: call.send, uses, key });
  }
  /** An action asks for a tool. */
  ask(parent: string, tool: string, more: Partial<ToolAsk> = {}, occurrence = 1): ToolAsk {
    const { seq, call } = this.row(parent, occurrence);
    this.#asks += 1;
    const ask = {
      ask: `a${this.#asks}`,
      parent: seq,
      send: call.send,
      tool,
      key: null,
      intent: null,
      input: {},
      ...more,
    };
    this.asks.push(ask);
    this.step({ type: "tool", ...ask });
    return ask;
  }
  /** What the action is answered now. */
  toolAnswer(ask: ToolAsk): ToolAnswer {
    const step = this.machine.saga.steps[this.run.rows[ask.parent - 1]?.step ?? ""]?.uses[ask.tool];
    if (step === undefined) throw new Error(`no tool ${ask.tool}`);
    return toolAnswer(this.run, step, ask, this.#stopping);
  }

  // ---- time

  /** Time passes; what falls due meanwhile is seen to, by this driver or by the next one. */
  advance(ms: number): void {
    const end = this.now + ms;
    for (let turns = 0; ; turns += 1) {
      if (turns > 500) throw new Error("it is due again and again");
      const next = this.#nextAt();
      if (next === null || next > end) break;
      this.now = Math.max(this.now, next);
      this.#attend();
    }
    this.now = end;
  }

  #nextAt(): number | null {
    return this.held ? (this.last?.wanted ?? null) : this.due;
  }

  #attend(): void {
    if (this.held) this.tick();
    else this.acquire();
  }

  // ---- the inbox

  /** An entry arrives, and whoever holds the run hears of it (or is woken). */
  send(slot: string, body: InboxBody, by = "ops"): Decision {
    this.#position += 1;
    const entry: InboxEntry = {
      slot,
      position: this.#position,
      commandId: `m${this.#position}`,
      at: this.now,
      by,
      body,
    };
    this.#witness.sent(entry, this.run);
    if (this.held) return this.step({ type: "inbox", entries: [entry] });
    this.run = { ...this.run, inbox: [...this.run.inbox, entry] };
    return this.acquire();
  }
  event(type: string, payload: Json = {}, id = `e${this.#position}`): Decision {
    return this.send(`event:${id}`, { type: "event", event: type, payload });
  }
  cancel(reason = "not wanted", mode: "compensate" | "stop" | "kill" = "compensate"): Decision {
    return this.send(mode === "compensate" ? "cancel" : `cancel:${mode}`, { type: "cancel", mode, reason });
  }
  pause(): Decision {
    return this.send(`control:p${this.#position}`, { type: "control", control: "pause", reason: "look" });
  }
  resume(): Decision {
    return this.send(`control:r${this.#position}`, { type: "control", control: "resume", reason: "seen" });
  }
  /** Asks that the run be undone, once it has ended. */
  undo(reason = "regretted", despitePivot = false): Decision {
    const slot = despitePivot ? "undo:despite_pivot" : "undo";
    return this.send(slot, { type: "undo", reason, despitePivot });
  }
  /** A verb on the open review. */
  verb(command: VerbCommand): Decision {
    return this.send(`review:${this.review?.n ?? 0}`, { type: "verb", verb: command });
  }
  /** A worker that had lost the run says what became of a send. */
  late(step: string, send: number, result: CallResult, side: "action" | "undo" = "action"): Decision {
    const { seq } = this.row(step);
    return this.send(`late:${seq}:${send}:${side}`, { type: "late", seq, send, side, result });
  }
  /** The worker of a named queue says what became of a send. */
  settle(step: string, result: CallResult): Decision {
    return this.settleRow(this.row(step), result);
  }
  settleRow({ seq, call: { send } }: Row, result: CallResult): Decision {
    return this.send(`settle:${seq}:${send}`, { type: "settle", seq, send, side: "action", result });
  }

  /** A worker of a named queue wins the permit. */
  permit(step: string): void {
    this.permitRow(this.row(step));
  }
  permitRow({ seq, call: { send } }: Row): void {
    const { now } = this;
    const times = { until: now + 10_000, sentAt: now, deadline: now + 43_000 };
    this.#witness.granted(`action:${seq}`, { send, owner: "gpu", at: now, deadline: times.deadline, operationId: "" });
    this.permits.set(seq, { seq, send, side: "action", token: "t", owner: "gpu", ...times, expired: false });
  }
}

function resultOf({ seq, send, side }: CallOrder, result: CallResult): DriverFact {
  return { type: "result", seq, send, side, result };
}

// ---- results

export const ok = (id = "x"): CallResult => ({ kind: "succeeded", output: { id } });
export const done: CallResult = { kind: "succeeded", output: null };
type Failed = Extract<CallResult, { kind: "not_applied" | "unknown" }>;
const failure = (kind: Failed["kind"], more: Partial<Failed> = {}): Failed => ({
  kind,
  code: null,
  message: kind,
  final: false,
  reason: "error",
  retryAfterMs: null,
  ...more,
});
/** Nothing happened, the policy says when to try again. */
export const notApplied = (more: Partial<Failed> = {}): CallResult => failure("not_applied", more);
/** `fail()`: nothing happened and nothing will. */
export const refused = (message = "declined"): CallResult =>
  failure("not_applied", { final: true, reason: "fail", message });
/** It may have happened. */
export const timedOut = (more: Partial<Failed> = {}): CallResult => failure("unknown", { reason: "timeout", ...more });
/** `fail(reason, { mayHaveHappened: true })` */
export const refusedMaybe: CallResult = failure("unknown", { final: true, reason: "fail", message: "gone wrong" });
export const unusable: CallResult = { kind: "unusable", output: 7, problem: "not an object" };
export const notCalled = (reason = "too late"): CallResult => ({ kind: "not_called", reason });
export const defect: CallResult = { kind: "defect", message: "the input does not fit" };

// ---- verbs

export const resolveHappened = (output: Json = { id: "told" }): VerbCommand => ({
  verb: "resolve",
  as: "happened",
  output,
  reference: "ref-1",
  evidence: "seen",
});
export const resolveAbsent: VerbCommand = {
  verb: "resolve",
  as: "absent",
  output: null,
  reference: null,
  evidence: "not there",
};
export const retry = (input?: Json): VerbCommand => ({ verb: "retry", input, reason: "again" });
export const probeNow: VerbCommand = { verb: "probe" };
export const compensate: VerbCommand = { verb: "compensate", reason: "no use" };
export const discard: VerbCommand = { verb: "discard", reason: "faulty" };
export const rewind = (to: string, despite = false): VerbCommand => ({ verb: "rewind", to, reason: "back", despite });
export const raise = (budget: string, to: number): VerbCommand => ({ verb: "raise", budget, to, reason: "worth it" });
export const skip: VerbCommand = { verb: "skip", reason: "by hand" };
export const close: VerbCommand = { verb: "close", reason: "enough" };

// ---- values

function plain<Value>(value: Value): Value {
  // What core hands over is JSON but for its functions' shape; a copy has the same type.
  return JSON.parse(JSON.stringify(value)) as Value;
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}
