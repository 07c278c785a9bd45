/**
 * One namespace of a scenario: its runs, the client that starts them and keeps its history, what the world saw of them,
 * whether the three witnesses agree, and the evidence that is left. Owns no process.
 */
import { type LogEntry, operationId, type Row, type RunRecord, type RunRef, type Store } from "../../src/core/index.ts";
import { type Client, createClient, type Saga } from "../../src/index.ts";
import type { WorldArrival, WorldEntry } from "../../src/testing/index.ts";
import { type CheckReport, type ClientEvent, check } from "../support/checker.ts";
import { leaveProof, type Observed } from "../support/evidence.ts";
import { type FaultConnections, faultConnections } from "../support/fault-connect.ts";
import { harnessTimeoutMs, settings, tenant } from "../support/fault-plan.ts";
import { waitFor } from "../support/processes.ts";
import { type Mischief, type SagaName, sagas } from "./scenarios-sagas.ts";

export interface PlayOptions {
  readonly namespace: string;
  readonly redis: string;
  readonly entries: () => Promise<readonly WorldEntry[]>;
}

/** Statuses in which nothing happens by itself. */
const restful = new Set<RunRecord["status"]>(["completed", "failed", "cancelled", "needs_review"]);
const restMs = 60_000;

export class Play {
  readonly namespace: string;
  readonly client: Client;
  readonly store: Store;
  /** The world's own lines about this play, read from its file. */
  readonly entries: () => Promise<readonly WorldEntry[]>;
  readonly #history: ClientEvent[] = [];
  readonly #connections: FaultConnections;

  constructor({ namespace, redis, entries }: PlayOptions) {
    this.namespace = namespace;
    this.entries = entries;
    this.#connections = faultConnections(redis, namespace, harnessTimeoutMs);
    this.store = this.#connections.store;
    const patient = { ...settings, commandTimeoutMs: harnessTimeoutMs, marginMs: 6_000, leaseMs: 10_000 };
    this.client = createClient({ redis, namespace, sagas: Object.values(sagas), settings: patient });
  }

  async open(): Promise<void> {
    const opened = () => this.store.open().then(() => true);
    await waitFor(opened, { timeoutMs: restMs, what: "the store to open" }); // a full machine is slow, never wrong
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.#connections.close();
  }

  /** Starts a run and notes that it was accepted. */
  async start(saga: SagaName, id: string, mischief: Mischief = "none"): Promise<RunRef> {
    const run = { tenant, id };
    await this.client.startByName(saga, { id, mischief }, run);
    this.#history.push({ op: "start", run, outcome: "ok" });
    return run;
  }

  /** Starts runs `r1` to `r<count>`, one after the other. */
  async startMany(saga: SagaName, count: number): Promise<readonly string[]> {
    const ids = Array.from({ length: count }, (_, at) => `r${at + 1}`);
    for (const id of ids) await this.start(saga, id);
    return ids;
  }

  /** Starts runs `<prefix>1` to `<prefix><count>` of a saga all at once. */
  async startAtOnce(saga: SagaName, prefix: string, count: number): Promise<readonly string[]> {
    const ids = Array.from({ length: count }, (_, at) => `${prefix}${at + 1}`);
    const starts = ids.map((id) => ({ id, tenant, input: { id, mischief: "none" as const } }));
    const started = await this.client.startMany(sagas[saga] as Saga, starts);
    for (const { id, outcome } of started) {
      this.#history.push({ op: "start", run: { tenant, id }, outcome: outcome === "created" ? "ok" : "fail" });
    }
    return ids;
  }

  async record(id: string): Promise<RunRecord> {
    const record = await this.store.read({ tenant, id });
    if (record === null) throw new Error(`${this.namespace} has no run ${id}`);
    return record;
  }

  log(id: string): Promise<readonly LogEntry[]> {
    return this.store.log({ tenant, id });
  }

  rows(id: string): Promise<readonly Row[]> {
    return this.store.ledger({ tenant, id });
  }

  /** Waits until the run has ended or is parked. */
  async rest(id: string, timeoutMs = restMs): Promise<RunRecord> {
    let last: RunRecord | null = null;
    const isRest = async () => {
      last = await this.record(id);
      return restful.has(last.status) && last;
    };
    const what = `run ${id} of ${this.namespace} to come to rest`;
    return await waitFor(isRest, { timeoutMs, everyMs: 40, what, tell: () => JSON.stringify(last) });
  }

  async restAll(ids: readonly string[], timeoutMs = restMs): Promise<readonly RunRecord[]> {
    return await Promise.all(ids.map((id) => this.rest(id, timeoutMs)));
  }

  /** How often the world was called by the operations of a service, and with what effect. */
  async counts(
    service: string,
  ): Promise<{ readonly arrivals: number; readonly effects: number; readonly queries: number }> {
    const mine = (await this.entries()).filter((entry) => entry.service === service);
    const count = (kind: WorldEntry["kind"]) => mine.filter((entry) => entry.kind === kind).length;
    return { arrivals: count("arrival"), effects: count("effect"), queries: count("query") };
  }

  /** Looks at the row of an arrival at that moment, over this play's own connection. */
  async witness({ operationId: id }: WorldArrival): Promise<{ readonly intent: boolean }> {
    const run = { tenant, id: id.split("/")[2] ?? "" };
    const rows = await this.store.ledger(run);
    const intent = rows.some((row) => {
      const { call, undo } = row;
      const isAction = operationId(this.namespace, run, row) === id;
      const isUndo = operationId(this.namespace, run, row, "undo") === id;
      return (isAction && call.firstSentRevision !== null) || (isUndo && undo?.call?.firstSentRevision !== null);
    });
    return { intent };
  }

  /** Compares the three witnesses. */
  async check(): Promise<CheckReport> {
    const specs = Object.values(sagas).map(({ spec }) => spec);
    const { namespace, store } = this;
    return await check({ namespace, sagas: specs, world: await this.entries(), store, client: this.#history });
  }

  /** The three witnesses agree, and evidence is left for the scenario. */
  async prove(id: string, seen: Pick<Observed, "killed" | "checks">): Promise<void> {
    leaveProof(id, await this.check(), seen);
  }
}
