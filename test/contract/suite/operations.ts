/**
 * Operations on a store as data, for the differential test: few runs, few owners, few slots, so that they meet. `Play` turns
 * them into calls; what it knows of the runs comes from the answers.
 */
import fc from "fast-check";
import type { Commit, CreateCommand, RunRecord, RunRef, RunStatus, Store } from "../../../src/core/index.ts";
import { aCommit, aCreate, anOfferedRow, anOfferedUndo, aRow } from "../../support/records.ts";
import { epochMs } from "./harness.ts";

const runs: readonly RunRef[] = ["a", "b", "c"].map((id) => ({ tenant: "default", id }));
const slots = [
  "event:1",
  "event:2",
  "cancel",
  "cancel:stop",
  "cancel:kill",
  "review:1",
  "wait:1.1:ann",
  "late:1:1",
  "undo",
  "undo:despite_pivot",
  "settle:1:1",
] as const;
const statuses: readonly RunStatus[] = ["running", "waiting", "needs_review", "unwinding", "completed", "cancelled"];
const leaseMs = 10_000;

const run = fc.nat(runs.length - 1);
const owner = fc.constantFrom("w-1", "w-2");
const rarely = fc.constantFrom(false, false, false, true);
const seq = fc.integer({ min: 1, max: 3 });
/** Beside the send under which that row is offered. */
const off = fc.constantFrom(0, 0, 0, 0, 1);

export type Operation = typeof anOperation extends fc.Arbitrary<infer Value> ? Value : never;

type Rows = "new" | "change" | "offer" | "offer undo" | "gap" | "none";
const rows = fc.constantFrom<Rows>("new", "change", "offer", "offer", "offer", "offer undo", "gap", "none");

/** Weighted towards what moves a run. */
export const anOperation = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("create" as const),
      run,
      input: fc.nat(1),
      delayMs: fc.constantFrom(0, 0, 7_000),
      again: fc.boolean(),
    }),
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant("acquire" as const), run, owner, again: fc.boolean() }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("commit" as const),
      run,
      status: fc.constantFrom(...statuses, "running", "running", "waiting"),
      rows,
      release: rarely,
      dueMs: fc.option(fc.constantFrom(0, 3_000, 30_000)),
      mustSee: fc.boolean(),
      seen: fc.constantFrom(0, 1, 99, 99, 99),
      consume: fc.subarray([...slots]),
      outcome: fc.boolean(),
      open: fc.boolean(),
      withdraw: rarely,
      settle: rarely,
      abort: rarely,
      ahead: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 5),
      stale: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("resend" as const), run }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("renew" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("release" as const),
      run,
      seen: fc.constantFrom(0, 99),
      dueMs: fc.option(fc.constantFrom(0, 5_000)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("shelve" as const), run, saga: fc.constantFrom("one", "two") }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("unshelve" as const),
      paused: fc.subarray(["one", "two"]),
      limit: fc.constantFrom(1, 2, 100),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("send" as const),
      run,
      slot: fc.constantFrom(...slots),
      who: fc.constantFrom("Ann", "Bob"),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("due" as const), limit: fc.constantFrom(1, 2, 100) }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant("permit" as const),
      run,
      seq,
      off,
      side: fc.constantFrom("action" as const, "undo" as const),
      owner,
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("renewPermit" as const), run, seq, off, owner }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("hello" as const), owner, pulse: fc.constantFrom("1", "2") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("suspect" as const), owner, run: fc.option(run) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("expire" as const), owner, pulse: fc.constantFrom("1", "2") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("goodbye" as const), owner }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.constantFrom(1, 3_000, 5_000, 10_000, 60_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("list" as const), status: fc.option(fc.constantFrom(...statuses)) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("register" as const),
      hash: fc.constantFrom("hash-of-order", "other"),
      schemas: fc.constantFrom("", "{}"),
    }),
  },
);

/** Three runs, two of them held, and then anything. */
export const aSequence: fc.Arbitrary<readonly Operation[]> = fc
  .array(anOperation, { minLength: 30, maxLength: 100, size: "max" })
  .map((rest) => [
    ...runs.map((_, n): Operation => ({ do: "create", run: n, input: 0, delayMs: 0, again: false })),
    { do: "hello", owner: "w-1", pulse: "1" },
    { do: "acquire", run: 0, owner: "w-1", again: false },
    { do: "acquire", run: 1, owner: "w-2", again: false },
    ...rest,
  ]);

type Act = (store: Store) => Promise<unknown>;
type Of<Kind extends Operation["do"]> = Extract<Operation, { readonly do: Kind }>;

/** What the play believes of one run. */
interface Belief {
  record: RunRecord;
  create: CreateCommand;
  rows: number;
  fence: number;
  token: string;
  owner: string;
  last: Commit | null;
}

export class Play {
  readonly #advance: (ms: number) => Promise<void>;
  readonly #beliefs = new Map<number, Belief>();
  #nowMs = epochMs;
  #count = 0;
  #pending: Commit | CreateCommand | string | null = null;

  constructor(advance: (ms: number) => Promise<void>) {
    this.#advance = advance;
  }

  /** The call that the operation comes to; the same for every store. */
  prepare(operation: Operation): Act {
    switch (operation.do) {
      case "create":
        return this.#create(operation);
      case "acquire":
        return this.#acquire(operation);
      case "commit":
        return this.#commit(operation);
      case "resend":
        return this.#resend(operation);
      case "renew": {
        const leases = [...this.#beliefs.keys()].map((n) => this.#lease(n));
        return (store) => store.renew(leases, leaseMs);
      }
      case "release": {
        const due = operation.dueMs === null ? null : this.#nowMs + operation.dueMs;
        return (store) => store.release(this.#lease(operation.run), operation.seen, due);
      }
      case "shelve":
        return (store) => store.shelve(this.#lease(operation.run), operation.saga);
      case "unshelve": {
        const { paused, limit } = operation;
        return (store) => Promise.all([store.unshelve(0, paused, limit), store.unshelve(1, paused, limit)]);
      }
      case "send":
        return this.#send(operation);
      case "due":
        return (store) => Promise.all([store.due(0, operation.limit), store.due(1, operation.limit)]);
      case "permit":
      case "renewPermit":
        return this.#permit(operation);
      case "hello":
        return (store) =>
          store.hello({ owner: operation.owner, serverId: "s", pulse: operation.pulse, compared: null }, []);
      case "suspect": {
        const driven = operation.run === null ? null : ref(operation.run);
        return (store) => store.suspect(operation.owner, driven);
      }
      case "expire":
        return (store) =>
          store.expire({ owner: operation.owner, serverId: "s", pulse: operation.pulse, compared: null });
      case "goodbye":
        return (store) => store.goodbye(operation.owner);
      case "advance":
        return async () => null;
      case "list": {
        const query = operation.status === null ? {} : { status: operation.status };
        return (store) => store.list({ ...query, limit: 2 });
      }
      case "register": {
        const { hash, schemas } = operation;
        const saga = { saga: "order", version: 1, hash, structure: hash, schemas };
        return (store) => store.register(saga);
      }
    }
  }

  /** Takes in what was answered. */
  async learn(operation: Operation, answer: unknown): Promise<void> {
    if (operation.do === "advance") {
      this.#nowMs += operation.ms;
      await this.#advance(operation.ms);
      return;
    }
    const said = (answer ?? {}) as { readonly answer?: string; readonly fence?: number; readonly record?: RunRecord };
    if (operation.do === "create" && said.answer === "OK") this.#learnCreate(operation.run);
    if (operation.do === "acquire" && said.answer === "OK") this.#learnAcquire(operation, said);
    if (operation.do === "commit" && said.answer === "OK") this.#learnCommit(operation.run);
    this.#pending = null;
  }

  /** All that is readable of all runs. */
  async dump(store: Store): Promise<unknown> {
    const whole = async (of: RunRef) => [
      await store.read(of),
      await store.ledger(of),
      await store.log(of),
      await store.inbox(of),
    ];
    return [await Promise.all(runs.map(whole)), await store.list({ limit: 10 })];
  }

  #create({ run: n, input, delayMs, again }: Of<"create">): Act {
    const known = this.#beliefs.get(n);
    const startAt = this.#nowMs + delayMs;
    const inputHash = `input-${input}`;
    const fresh = aCreate({ ...ref(n), createdAt: this.#nowMs, startAt, inputHash }, this.#next("create"));
    const command = again && known !== undefined ? known.create : fresh;
    this.#pending = command;
    return (store) => store.create(command);
  }

  #learnCreate(n: number): void {
    const create = this.#pending as CreateCommand;
    if (this.#beliefs.has(n)) return;
    this.#beliefs.set(n, { record: create.record, create, rows: 0, fence: 0, token: "none", owner: "w-1", last: null });
  }

  #acquire({ run: n, owner: who, again }: Of<"acquire">): Act {
    const known = this.#beliefs.get(n);
    // A token is of one acquisition by one owner.
    const same = again && known !== undefined ? { owner: known.owner, token: known.token } : null;
    const { owner: by, token } = same ?? { owner: who, token: this.#next("token") };
    this.#pending = token;
    return (store) => store.acquire({ run: ref(n), owner: by, token, leaseMs });
  }

  #learnAcquire({ run: n, owner: who, again }: Of<"acquire">, said: { fence?: number; record?: RunRecord }): void {
    const known = this.#beliefs.get(n);
    if (known === undefined || said.record === undefined) return;
    if (!again) known.owner = who;
    known.fence = said.fence ?? 0;
    known.token = this.#pending as string;
    known.record = said.record;
  }

  #commit(operation: Of<"commit">): Act {
    const known = this.#beliefs.get(operation.run);
    if (known === undefined) return async () => null;
    const commit = this.#commitOf(operation, known);
    this.#pending = commit;
    const lease = this.#lease(operation.run);
    return (store) => outcomeOf(store.commit({ lease, commit, leaseMs }));
  }

  #commitOf(operation: Of<"commit">, known: Belief): Commit {
    const { status, release, mustSee, seen, consume, open, ahead, stale, dueMs } = operation;
    const output = status === "completed" ? { reserve: { text: "x".repeat(120) }, other: 1 } : null;
    return aCommit(known.record, {
      commitId: this.#next("commit"),
      expects: known.record.revision - stale,
      record: { status, output, revision: known.record.revision + 1 - stale },
      rows: rowsOf(operation.rows, known.rows),
      taken: operation.outcome ? [{ what: "outcome", seq: 1, send: 1, outcome: "succeeded", proof: "answer" }] : [],
      release,
      mustSee,
      seen,
      consumed: consume,
      openSlots: open ? ["review:1", "wait:1.1"] : [],
      withdraw: operation.withdraw
        ? [
            { seq: 1, send: 1 },
            { seq: 2, send: 2 },
          ]
        : [],
      settledPermits: operation.settle ? [1, 3] : [],
      abortPermits: operation.abort ? [1, 2] : [],
      now: this.#nowMs + ahead,
      due: dueMs === null ? null : this.#nowMs + dueMs,
    });
  }

  #learnCommit(n: number): void {
    const known = this.#beliefs.get(n);
    const commit = this.#pending as Commit | null;
    if (known === undefined || commit === null) return;
    known.record = commit.record;
    known.last = commit;
    known.rows = Math.max(known.rows, ...commit.rows.map((row) => row.seq));
  }

  #resend({ run: n }: Of<"resend">): Act {
    const last = this.#beliefs.get(n)?.last ?? null;
    const lease = this.#lease(n);
    return last === null ? async () => null : (store) => outcomeOf(store.commit({ lease, commit: last, leaseMs }));
  }

  #send({ run: n, slot, who }: Of<"send">): Act {
    const command = {
      run: ref(n),
      slot,
      commandId: `${slot}-${who}`,
      by: who,
      body: { type: "cancel", mode: "compensate", reason: who } as const,
    };
    return (store) => store.send(command);
  }

  #permit(operation: Of<"permit"> | Of<"renewPermit">): Act {
    const side = operation.do === "permit" ? operation.side : ("action" as const);
    const { seq: at, owner: who } = operation;
    const number = sendOf(at) + operation.off;
    const times = { leaseMs, windowMs: 60_000 };
    const command = { run: ref(operation.run), seq: at, send: number, side, owner: who, token: `p-${who}`, ...times };
    return (store) => (operation.do === "permit" ? store.permit(command) : store.renewPermit(command));
  }

  #lease(n: number) {
    const known = this.#beliefs.get(n);
    return { run: ref(n), owner: known?.owner ?? "w-1", fence: known?.fence ?? 0, token: known?.token ?? "none" };
  }

  #next(kind: string): string {
    this.#count += 1;
    return `${kind}-${this.#count}`;
  }
}

function ref(n: number): RunRef {
  return runs[n] ?? { tenant: "default", id: "nobody" };
}

function sendOf(at: number): number {
  return 2 - (at % 2);
}

function rowsOf(kind: Rows, length: number) {
  switch (kind) {
    case "new":
      return [aRow(length + 1, { state: "succeeded", send: 1 }, { output: { text: "x".repeat(120) } })];
    case "change":
      return length === 0 ? [] : [aRow(length, { state: "sent", attempt: 2, send: 2 })];
    case "offer":
      return [anOfferedRow(length + 1, sendOf(length + 1))];
    case "offer undo":
      return [anOfferedUndo(length + 1, 1)];
    case "gap":
      return [aRow(length + 2)];
    case "none":
      return [];
  }
}

/** A refusal that is thrown is an answer too. */
async function outcomeOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    return { threw: (error as { code?: string }).code };
  }
}
