/**
 * One run as a value, moved by core alone: no worker, no store, no clock. Owns turning what a test says into the facts that a
 * driver would learn; decides nothing.
 *
 * Invariants: T1 every state of the run was reached by `begin`, `decide` and `evolve`. T2 the registry of intents and the line of
 * turns say yes at once; a step on a named queue is called at once.
 */
import type { DecisionWord } from "../../client/index.ts";
import {
  approvalSlot,
  begin,
  type CallOrder,
  type CallResult,
  type Decision,
  type DriverFact,
  decide,
  evolve,
  type InboxBody,
  type Machine,
  machineOf,
  type Principal,
  type Row,
  type Run,
  structureHashOf,
} from "../../core/index.ts";
import { probeFact, thrownResult, undoResult } from "../../engine/index.ts";
import { RepriseError } from "../../errors.ts";
import { decode, decodeOutput, durationMs, type Json, type ProbeAnswer, type Saga, toJson } from "../../saga/index.ts";
import { rigNamespace, rigSettings } from "../rig/rig.ts";
import { type Fact, nameOf } from "./facts.ts";

const startMs = Date.UTC(2026, 0, 1);
/** What falls due one after the other within one fact, at most. */
const maxTurns = 1_000;
/** Every worker of the story: the next one takes over when it has died. */
const actor = "given";

export class Story {
  readonly saga: Saga;
  readonly machine: Machine;
  now = startMs;
  run: Run;
  /** Calls that the last fact has led to, as `ship`, `undo ship`, `probe ship`. */
  ordered: string[] = [];
  /** When the run next wants attention by itself; `null`: not by itself. */
  wanted: number | null = null;
  readonly #inFlight = new Map<string, CallOrder>();
  #held = false;
  #fence = 0;
  #position = 0;
  #commits = 0;

  constructor(saga: Saga, input: unknown) {
    this.saga = saga;
    this.machine = machineOf(saga.spec);
    const checked = checkedBy(saga.spec.input, input, `the input of ${saga.name}`);
    const { record } = begin({
      ...{ machine: this.machine, hash: structureHashOf(saga), tenant: "default", id: "run", input: checked },
      ...{ priority: 0, now: this.now, startAt: this.now },
    });
    this.run = { record, rows: [], inbox: [] };
    this.#acquire(null);
  }

  /** Calls under way. */
  underWay(): readonly string[] {
    return [...this.#inFlight.values()].map((order) => this.#nameOf(order));
  }

  tell(fact: Fact): void {
    this.ordered = [];
    switch (fact.is) {
      case "outcome":
        return this.#comesBack(nameOf(fact.step), (row) => this.#resultOf(row, fact.came));
      case "undone":
        return this.#comesBack(`undo ${nameOf(fact.step)}`, () =>
          fact.came instanceof Error ? thrownResult(fact.came, null) : undoResult,
        );
      case "probed":
        return this.#probed(nameOf(fact.step), fact.side, fact.answer);
      case "event":
        return this.#send(`event:e${this.#position}`, {
          type: "event",
          event: fact.event,
          payload: this.#payloadOf(fact.event, fact.payload),
        });
      case "time":
        return this.#pass(durationMs(fact.time, "fact.time"));
      case "cancel":
        return this.#send(fact.mode === "compensate" ? "cancel" : `cancel:${fact.mode}`, {
          type: "cancel",
          mode: fact.mode,
          reason: "the test says so",
        });
      case "decision":
        return this.#decided(nameOf(fact.step), fact.word, fact.as);
      case "crash":
        return this.#acquire({ owner: actor, died: true });
    }
  }

  // ---- what a driver does

  #acquire(takenFrom: { readonly owner: string; readonly died: boolean } | null): void {
    this.#fence += 1;
    this.#held = true;
    this.#inFlight.clear();
    this.#step([{ type: "acquired", takenFrom, permits: [] }]);
  }

  /** Looks at it, whether it is held or must be taken up first. */
  #look(facts: readonly DriverFact[]): void {
    if (this.#held) this.#step(facts);
    else this.#acquire(null);
  }

  #step(facts: readonly DriverFact[]): void {
    for (let told = facts, turns = 0; told.length > 0; turns += 1) {
      if (turns > maxTurns) refuse("it goes on and on");
      told = this.#take(this.#decide(told));
    }
  }

  #decide(facts: readonly DriverFact[]): Decision {
    return decide(this.run, facts, {
      ...{ machine: this.machine, namespace: rigNamespace, settings: rigSettings },
      ...{ now: this.now, commitId: `c${this.#commits}`, random: 0.5, actor, fence: this.#fence },
      inFlight: new Set(this.#inFlight.keys()),
    });
  }

  /** What follows from a decision; answers what is known at once. */
  #take(decision: Decision): readonly DriverFact[] {
    const { commit, calls, offers, claims, publishes, turn } = decision;
    if (commit !== null) this.run = evolve(this.run, commit);
    this.#commits += 1;
    this.wanted = decision.wanted;
    this.#held = decision.then === "hold";
    for (const order of calls) {
      this.#inFlight.set(`${order.kind}:${order.seq}`, order);
      this.ordered.push(this.#nameOf(order));
    }
    for (const { seq } of offers) this.ordered.push(this.#rowOf(seq).step);
    const told: readonly DriverFact[] = [
      ...claims.map(({ seq, claim }) => ({
        ...({ type: "claimed", seq, claim, theirs: null } as const),
        answer: { answer: "MINE", generation: 1 } as const,
      })),
      ...publishes.map(({ seq, claim, became }) => ({ type: "published", seq, claim, became: became.state }) as const),
      ...(turn?.kind === "ask" ? [{ type: "turn", answer: { answer: "MINE" }, asked: turn.asked } as const] : []),
      ...(turn?.kind === "give" ? [{ type: "turn_given" } as const] : []),
    ];
    if (told.length > 0) this.#held = true;
    return told;
  }

  #send(slot: string, body: InboxBody, by = "tester"): void {
    this.#position += 1;
    const position = this.#position;
    const entry = { slot, position, commandId: `m${position}`, at: this.now, by, body };
    this.run = { ...this.run, inbox: [...this.run.inbox, entry] };
    this.#look([{ type: "inbox", entries: [entry] }]);
  }

  /** Whatever falls due on the way is seen to. */
  #pass(ms: number): void {
    const end = this.now + ms;
    for (let turns = 0; this.wanted !== null && this.wanted <= end; turns += 1) {
      if (turns > maxTurns) refuse("it is due again and again");
      this.now = Math.max(this.now, this.wanted);
      this.#look([{ type: "tick" }]);
    }
    this.now = end;
  }

  // ---- what comes back

  #comesBack(name: string, resultOf: (row: Row) => CallResult): void {
    const offered = this.run.rows.find(({ step, call }) => step === name && call.state === "offered");
    if (offered !== undefined) {
      const { seq, call } = offered;
      const body = { type: "settle", seq, send: call.send, side: "action", result: resultOf(offered) } as const;
      return this.#send(`settle:${seq}.${call.send}`, body);
    }
    const { kind, seq, send, side } = this.#ordered(name);
    const row = this.#rowOf(seq);
    if (row.kind === "child") refuse(`${row.step} starts another run: have simulate() run both`);
    const result = resultOf(row);
    this.#inFlight.delete(`${kind}:${seq}`);
    this.#step([{ type: "result", seq, send, side, result }]);
  }

  #probed(step: string, side: "action" | "undo", answer: ProbeAnswer): void {
    const order = this.#ordered(side === "undo" ? `probe undo ${step}` : `probe ${step}`);
    this.#inFlight.delete(`${order.kind}:${order.seq}`);
    this.#step([probeFact(order, this.#specOf(step), answer, rigSettings.maxPayloadBytes)]);
  }

  #resultOf({ step }: Row, came: unknown): CallResult {
    if (came instanceof Error) return thrownResult(came, null);
    const spec = this.#specOf(step);
    const output = jsonOf(came ?? null, `the output of ${step}`);
    const checked = decodeOutput(spec, output);
    if (!checked.ok) refuse(`the output of ${step}: ${checked.problem}`);
    return { kind: "succeeded", output };
  }

  #decided(step: string, word: DecisionWord, as: Principal): void {
    const row = this.run.rows.find(({ seq, step: name }) => name === step && this.run.record.asks.includes(seq));
    const asked = row?.approval ?? null;
    if (row === undefined || asked === null) refuse(`${step} asks nobody`);
    const { seq } = row;
    const { n, shown } = asked;
    const decision = word.is === "approve" || word.is === "delegate" ? { ...word, reason: word.reason ?? null } : word;
    this.#send(approvalSlot(seq, n), { type: "decide", seq, n, shown, as, decision }, as.id);
  }

  #payloadOf(event: string, payload: unknown): Json {
    const schema = Object.hasOwn(this.saga.spec.events, event) ? this.saga.spec.events[event] : undefined;
    if (schema === undefined) refuse(`${this.saga.name} takes no event ${event}`);
    return checkedBy(schema, payload, `the payload of ${event}`);
  }

  /** The call of that name that is under way. */
  #ordered(name: string): CallOrder {
    const found = [...this.#inFlight.values()].find((order) => this.#nameOf(order) === name);
    if (found === undefined) refuse(`${name} is not under way; under way: ${this.underWay().join(", ") || "nothing"}`);
    return found;
  }

  #nameOf({ kind, seq, side }: CallOrder): string {
    const { step } = this.#rowOf(seq);
    const of = side === "undo" ? `undo ${step}` : step;
    return kind === "probe" ? `probe ${of}` : of;
  }

  #rowOf(seq: number): Row {
    // Orders name rows that are there.
    return this.run.rows[seq - 1] as Row;
  }

  #specOf(step: string) {
    const spec = this.saga.spec.steps[step];
    if (spec === undefined) refuse(`${this.saga.name} has no step "${step}"`);
    return spec;
  }
}

function checkedBy(schema: Parameters<typeof decode>[0], value: unknown, what: string): Json {
  const json = jsonOf(value, what);
  const checked = decode(schema, json);
  if (!checked.ok) refuse(`${what}: ${checked.problem}`);
  return json;
}

function jsonOf(value: unknown, what: string): Json {
  const json = toJson(value);
  if (!json.ok) refuse(`${what} is not JSON: ${json.problem}`);
  return json.value;
}

function refuse(message: string): never {
  throw new RepriseError("DEFINITION_INVALID", message);
}
