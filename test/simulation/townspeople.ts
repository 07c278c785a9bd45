/**
 * Everybody who wants something of the runs of a town while faults last: people who decide, alone and at once, on what they saw
 * a while ago; those who cancel, pause, signal, undo and move runs. They ask through the client, over a network that loses
 * requests and replies. Also the people who answer at the end, when all is quiet.
 *
 * Invariant: what is written down of a decision is what its sender was told, and no more.
 */
import { type Client, connectedClient, type DecisionWord, type PendingApproval } from "../../src/client/index.ts";
import {
  hasEnded,
  type Ids,
  type Principal,
  type RunRecord,
  type RunRef,
  type RunSummary,
  type Store,
  type WakeUps,
} from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";
import type { Saga } from "../../src/saga/index.ts";
import type { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { ClientEvent } from "../support/checker.ts";
import type { Random } from "./random.ts";
import { requester } from "./town-sagas.ts";

const person = (id: string, ...roles: string[]): Principal => ({ id, kind: "person", roles });
const voters = [person("ann", "finance"), person("bob", "finance"), person("cyd", "board")] as const;
const others: readonly Principal[] = [
  person("dan"),
  person(requester, "finance"),
  { ...person("bot", "finance"), kind: "agent" },
];
const tries = 3;
const tenant = "t";

export interface TownParts {
  readonly namespace: string;
  /** As the townspeople reach it. */
  readonly store: Store;
  readonly wakeUps: WakeUps;
  readonly clock: VirtualClock;
  readonly ids: Ids;
  readonly random: Random;
  readonly sagas: readonly Saga[];
  readonly trace: (line: string) => void;
  /** The operator answers what a run asks now. */
  readonly help: (run: RunRef) => Promise<void>;
}

export class Townspeople {
  /** What they asked, and what they were told. */
  readonly history: ClientEvent[] = [];
  readonly #parts: TownParts;
  readonly #client: Client;
  /** Runs that were perhaps started. */
  readonly #doubted = new Set<string>();
  #started = 0;
  #isCalm = false;

  constructor(parts: TownParts) {
    this.#parts = parts;
    const { namespace, store, wakeUps, clock, ids, sagas, trace } = parts;
    const facts = { emit: (fact: object) => trace(`client ${JSON.stringify(fact)}`) };
    const options = { namespace, sagas, maxPayloadBytes: 100_000, maxReplays: 5 };
    this.#client = connectedClient({ store, wakeUps, clock, ids, facts }, options);
  }

  /** Many things at times of their own, until `untilMs` from now. */
  meddle(untilMs: number): void {
    const { random, clock } = this.#parts;
    for (let n = random.between(15, 40); n > 0; n -= 1) {
      // Most of it while most is going on.
      const most = random.chance(0.8) ? untilMs / 3 : untilMs;
      clock.after(random.between(500, Math.floor(most)), () => void this.#now(random.pick(happenings)));
    }
  }

  /** Faults are over: whoever paused something resumes it. */
  async calm(): Promise<void> {
    this.#isCalm = true;
    for (const { name } of this.#parts.sagas) await this.#client.resumeSaga(name, said);
    for (const id of this.#doubted) {
      const run = { tenant, id };
      if ((await this.#parts.store.read(run)) !== null) this.history.push({ op: "start", run, outcome: "ok" });
    }
  }

  /** A run that is at rest is given what it waits for. */
  async attend(record: RunRecord): Promise<void> {
    const run = refOf(record);
    if (record.status === "paused") return await this.#control(run, "resume");
    if (record.waitingFor === "event") await this.#attempt("signal", () => this.#signal(record));
    if (record.waitingFor === "budget" && (await this.#isOrphan(record))) {
      await this.#client.run(run.id, { tenant }).cancel({ ...said });
    }
    if (record.waitingFor !== "approval") return;
    for (const pending of await this.#client.run(run.id, run).approvals()) {
      const isWanted = this.#parts.random.chance(0.8);
      const word: DecisionWord = isWanted ? { is: "approve", reason: "fine" } : { is: "reject", reason: "no" };
      for (const as of voters) await this.#decide(pending, word, as);
    }
  }

  /** A person has closed its parent: nobody is left who would give it more. */
  async #isOrphan({ parent }: RunRecord): Promise<boolean> {
    const above = parent === null ? null : await this.#parts.store.read({ tenant, id: parent.run });
    return above !== null && hasEnded(above.status);
  }

  async #now(happening: Happening): Promise<void> {
    if (this.#isCalm) return;
    const { random, store } = this.#parts;
    await this.#attempt(happening.name, async () => {
      const { runs } = await store.list({ tenant, limit: 1_000 });
      const run = runs.length === 0 ? null : random.pick(runs);
      await happening.call(this, run);
    });
  }

  /** Refusals by name are answers; anything else is a fault of the client. */
  async #attempt(what: string, call: () => Promise<unknown>): Promise<boolean> {
    const { trace } = this.#parts;
    try {
      await call();
      trace(`town: ${what}: done`);
      return true;
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      trace(`town: ${what}: ${error.code} ${error.message}`);
      return false;
    }
  }

  // ---- people decide

  async vote(): Promise<void> {
    const { random, clock } = this.#parts;
    const { approvals } = await this.#client.approvals({ limit: 1_000 });
    if (approvals.length === 0) return;
    const pending = random.pick(approvals);
    const [one, two] = [this.#anybody(), this.#anybody()];
    const [word, another] = [this.#word(pending), this.#word(pending)];
    const isRace = random.chance(0.4);
    // What was seen may be stale by the time it is decided on.
    clock.after(random.chance(0.6) ? 0 : random.between(1, 4_000), () => {
      void this.#decide(pending, word, one);
      if (isRace) void this.#decide(pending, another, two);
    });
  }

  #anybody(): Principal {
    const { random } = this.#parts;
    return random.chance(0.8) ? random.pick(voters) : random.pick(others);
  }

  #word({ input }: PendingApproval): DecisionWord {
    const { random } = this.#parts;
    const { id } = input as { readonly id: string };
    const is = random.pick([
      "approve",
      "approve",
      "approve",
      "edit",
      "reject",
      "ask_back",
      "answer",
      "delegate",
    ] as const);
    switch (is) {
      case "approve":
        return { is, reason: "fine" };
      case "edit":
        return { is: "approve", reason: "less of it", input: { id: `${id}e` } };
      case "reject":
        return { is, reason: "no" };
      case "ask_back":
      case "answer":
        return { is, text: "what for?" };
      case "delegate":
        return { is, to: random.pick(["dan", requester]) };
    }
  }

  /** Sent again under its id until it is answered; now and then once more after that. */
  async #decide(pending: PendingApproval, word: DecisionWord, as: Principal): Promise<void> {
    const { random, ids } = this.#parts;
    const commandId = ids.next();
    const { run: id, seq, n, shown, quorum } = pending;
    const send = () => this.#client.run(id, { tenant }).decide({ seq, n, shown }, word, { as, commandId });
    let outcome: ClientEvent["outcome"] = "info";
    for (let tried = 0; tried < tries; tried += 1) {
      try {
        await send();
        outcome = "ok";
        break;
      } catch (error) {
        if (!(error instanceof RepriseError)) throw error;
        if (error.code === "STORE_UNAVAILABLE") continue;
        if (tried === 0) outcome = "fail";
        break;
      }
    }
    this.#parts.trace(`town: ${as.id} ${word.is} on ${id} row ${seq}.${n}: ${outcome}`);
    const decision = { seq, n, by: as.id, is: word.is, isAlone: quorum === 1 };
    this.history.push({ op: "decide", run: { tenant, id }, outcome, decision });
    if (random.chance(0.2)) await this.#attempt("the same again", send);
  }

  // ---- others

  async cancel(run: RunSummary | null): Promise<void> {
    const mode = this.#parts.random.pick(["compensate", "compensate", "stop", "kill"] as const);
    if (run !== null) await this.#client.run(run.id, { tenant }).cancel({ mode, ...said });
  }

  async undo(run: RunSummary | null): Promise<void> {
    if (run !== null) await this.#client.run(run.id, { tenant }).undo(said);
  }

  async pause(run: RunSummary | null): Promise<void> {
    if (run === null) return;
    await this.#control(refOf(run), "pause");
    this.#later(1, 8_000, () => this.#control(refOf(run), "resume"));
  }

  async #control(run: RunRef, control: "pause" | "resume"): Promise<void> {
    const { store, wakeUps, ids } = this.#parts;
    const id = ids.next();
    const body = { type: "control", control, reason: said.reason } as const;
    const sent = await store.send({ run, slot: `control:${id}`, commandId: id, by: said.by, body });
    if (sent.answer === "OK" && sent.wake !== null) await wakeUps.wake([sent.wake]);
  }

  async pauseSaga(): Promise<void> {
    const { name } = this.#parts.random.pick(this.#parts.sagas);
    await this.#client.pauseSaga(name, said);
    this.#later(500, 6_000, () => this.#client.resumeSaga(name, said));
  }

  async signal(run: RunSummary | null): Promise<void> {
    if (run !== null) await this.#signal(run);
  }

  async #signal({ id, saga, version }: Pick<RunRecord, "id" | "saga" | "version">): Promise<void> {
    const known = this.#parts.sagas.find((each) => each.name === saga && each.version === version);
    if (known === undefined || !("GO" in known.spec.events)) return;
    await (this.#client.run(id, { tenant, saga: known }) as unknown as Signalled).signal("GO", {});
  }

  async signalWithStart(): Promise<void> {
    const { random } = this.#parts;
    const id = `s${random.chance(0.5) ? this.#started : this.#started++}`;
    const lasting = this.#parts.sagas.find(({ name }) => name === "lasting") as Saga<
      string,
      object,
      unknown,
      { GO: object }
    >;
    const start = () =>
      this.#client.signalWithStart(
        lasting,
        { id, refuse: false },
        { id, tenant, event: "GO", payload: {}, signalId: "one" },
      );
    const isKnown = await this.#attempt("signalWithStart", start);
    if (random.chance(0.4)) await this.#attempt("signalWithStart again", start);
    if (isKnown) this.history.push({ op: "start", run: { tenant, id }, outcome: "ok" });
    else this.#doubted.add(id);
  }

  async migrate(): Promise<void> {
    const { runs } = await this.#parts.store.list({ tenant, limit: 1_000 });
    const old = runs.filter(({ saga, version }) => saga === "lasting" && version === 1);
    if (old.length > 0) await this.#client.migrate(refOf(this.#parts.random.pick(old)), { to: 2, ...said });
  }

  async verb(run: RunSummary | null): Promise<void> {
    if (run?.status === "needs_review") await this.#parts.help(refOf(run));
  }

  #later(from: number, to: number, call: () => Promise<unknown>): void {
    const { clock, random } = this.#parts;
    clock.after(random.between(from, to), () => {
      if (!this.#isCalm) void this.#attempt("later", call);
    });
  }
}

const said = { by: "dan", reason: "not wanted" } as const;

interface Signalled {
  signal(event: string, payload: object): Promise<unknown>;
}

type Happening = (this: Townspeople, run: RunSummary | null) => Promise<void>;
const { vote, cancel, undo, pause, pauseSaga, signal, signalWithStart, migrate, verb } = Townspeople.prototype;
const happenings: readonly Happening[] = [
  ...[vote, vote, vote, vote, vote, vote, vote],
  ...[
    cancel,
    undo,
    pause,
    pause,
    pauseSaga,
    signal,
    signal,
    signalWithStart,
    signalWithStart,
    migrate,
    migrate,
    verb,
    verb,
  ],
];

function refOf({ tenant: of, id }: RunRef): RunRef {
  return { tenant: of, id };
}
