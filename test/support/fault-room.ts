/**
 * One namespace of a fault test: its runs, the client that starts them and keeps its history, what the world saw of them,
 * and whether it all agrees. Does not own processes (fault-stage.ts), nor what is right (checker.ts).
 */
import { type Client, connectedClient } from "../../src/client/index.ts";
import {
  hashOf,
  type LogEntry,
  operationId,
  type Row,
  type RunRecord,
  type RunRef,
  type Store,
  type WakeUps,
} from "../../src/core/index.ts";
import { systemClock, systemIds } from "../../src/engine/index.ts";
import type { Json, Saga } from "../../src/index.ts";
import type { WorldArrival, WorldEntry } from "../../src/testing/index.ts";
import { type CheckReport, type ClientEvent, check } from "./checker.ts";
import { leaveProof, type Observed } from "./evidence.ts";
import { type FaultConnections, faultConnections } from "./fault-connect.ts";
import { harnessTimeoutMs, settings, tenant } from "./fault-plan.ts";
import { over } from "./fault-ports.ts";
import type { SagaName } from "./fault-sagas.ts";
import { callOfItem } from "./fault-services.ts";
import { sagaSets } from "./fault-sets.ts";
import type { Stage } from "./fault-stage.ts";
import { waitFor } from "./processes.ts";

export interface Count {
  readonly arrivals: number;
  readonly effects: number;
  readonly queries: number;
}

/** Statuses in which nothing happens by itself. */
const restful = new Set<RunRecord["status"]>(["completed", "failed", "cancelled", "needs_review"]);
const restMs = 60_000;
const nothing = () => Promise.resolve();

export class Room {
  readonly namespace: string;
  readonly client: Client;
  readonly store: Store;
  /** Real nudges, for tests that lose, double or hurry them. */
  readonly wakeUps: WakeUps;
  readonly history: ClientEvent[] = [];
  readonly #stage: Stage;
  readonly #connections: FaultConnections;
  readonly #sagas: readonly Saga[];

  constructor({ namespace, url, stage }: { readonly namespace: string; readonly url: string; readonly stage: Stage }) {
    this.namespace = namespace;
    this.#stage = stage;
    this.#sagas = sagaSets[stage.sagas].sagas;
    this.#connections = faultConnections(url, namespace, harnessTimeoutMs);
    const { store, wakeUps, facts } = this.#connections;
    this.store = store;
    this.wakeUps = wakeUps;
    const ports = {
      store: over(store, { watch: (listener) => (this.isDeaf ? Promise.resolve(nothing) : store.watch(listener)) }),
      wakeUps: over(wakeUps, { wake: (wakes) => this.deliver(wakes) }),
    };
    this.client = connectedClient(
      { ...ports, clock: systemClock, ids: systemIds(), facts },
      { namespace, sagas: this.#sagas, maxPayloadBytes: settings.maxPayloadBytes, maxReplays: 10 },
    );
  }

  /** Set before the client waits for anything: it hears of no commit that is published. */
  isDeaf = false;

  /** How the client's wake-ups are delivered. A test replaces it to lose or double them. */
  deliver: WakeUps["wake"] = (wakes) => this.wakeUps.wake(wakes);

  async open(): Promise<void> {
    await this.store.open();
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.#connections.close();
  }

  /** Starts a run from this process, and notes that it was accepted. */
  start(saga: SagaName, { id = "r1", refuse = false } = {}): Promise<RunRef> {
    return this.startWith(saga, { id, refuse });
  }

  /** The same, of any saga of the stage. */
  async startWith(saga: string, input: Readonly<Record<string, Json>> & { readonly id: string }): Promise<RunRef> {
    const run = { tenant, id: input.id };
    await this.client.startByName(saga, input, run);
    this.history.push({ op: "start", run, outcome: "ok" });
    return run;
  }

  /** What the world sees of a step's call: `pick`, or `undo-pick` for its compensation. */
  operationOf(service: string, id = "r1"): string {
    const [, undo, step] = /^(undo-)?(.+)$/.exec(service) ?? [];
    return `${this.namespace}/${tenant}/${id}/${step}/1${undo === undefined ? "" : "/undo"}`;
  }

  // ---- the store

  async record(id = "r1"): Promise<RunRecord> {
    const record = await this.store.read({ tenant, id });
    if (record === null) throw new Error(`${this.namespace} has no run ${id}`);
    return record;
  }

  async log(id = "r1"): Promise<readonly LogEntry[]> {
    return await this.store.log({ tenant, id });
  }

  async rows(id = "r1"): Promise<readonly Row[]> {
    return await this.store.ledger({ tenant, id });
  }

  async rowOf(step: string, id = "r1"): Promise<Row> {
    const row = (await this.rows(id)).find((each) => each.step === step);
    if (row === undefined) throw new Error(`run ${id} has no row of ${step}`);
    return row;
  }

  /** Waits until the run has ended or is parked. */
  async rest(
    id = "r1",
    isRest: (record: RunRecord) => boolean = ({ status }) => restful.has(status),
  ): Promise<RunRecord> {
    const what = `run ${id} of ${this.namespace} to come to rest`;
    const tell = () => this.#told;
    return await waitFor(() => this.#restOf(id, isRest), { timeoutMs: restMs, everyMs: 40, what, tell });
  }

  #told = "";

  async #restOf(id: string, isRest: (record: RunRecord) => boolean): Promise<RunRecord | false> {
    const record = await this.record(id);
    const { status, open, waitingFor, revision } = record;
    this.#told = JSON.stringify({ status, open, waitingFor, revision });
    return isRest(record) && record;
  }

  /** Jobs that lie in the queue for a run, waiting, active or delayed. */
  async queued({ id }: RunRef): Promise<number> {
    return await this.#jobs(`${id}.*`);
  }

  async queuedInAll(): Promise<number> {
    return await this.#jobs("*");
  }

  /** Deletes every key of its queue. */
  async loseQueue(): Promise<void> {
    const keys = (await this.#stage.redis.ask("KEYS", `{reprise:${this.namespace}:w*}:pool-*`)) as readonly string[];
    await this.#stage.redis.ask("DEL", ...keys);
  }

  async #jobs(which: string): Promise<number> {
    const pattern = `{reprise:${this.namespace}:w*}:pool-*:${tenant}~${which}`;
    const keys = (await this.#stage.redis.ask("KEYS", pattern)) as readonly string[];
    return keys.filter((key) => !key.endsWith(":lock")).length;
  }

  // ---- the world

  /** Looks at the row of an arrival at that moment, over this room's connection (I6). */
  async witness({
    operationId: arrived,
    argsHash,
  }: WorldArrival): Promise<{ readonly intent: boolean; readonly state: string }> {
    const id = callOfItem(arrived);
    const run = { tenant, id: id.split("/")[2] ?? "" };
    for (const row of await this.store.ledger(run)) {
      const sides = [
        { side: "action", call: row.call, args: row.input },
        { side: "undo", call: row.undo?.call ?? null, args: row.output },
      ] as const;
      for (const { side, call, args } of sides) {
        if (call === null || operationId(this.namespace, run, row, side) !== id) continue;
        const isSame = Buffer.from(hashOf(args), "base64url").toString("hex") === argsHash;
        return { intent: call.firstSentRevision !== null && isSame, state: call.state };
      }
    }
    return { intent: false, state: "absent" };
  }

  async entries(): Promise<readonly WorldEntry[]> {
    return await this.#stage.entries(this.namespace);
  }

  /** What the world's file says of each service that a run has called. */
  async counts(id = "r1"): Promise<Readonly<Record<string, Count>>> {
    const counts: Record<string, { arrivals: number; effects: number; queries: number }> = {};
    for (const { service, kind, operationId: of } of await this.entries()) {
      if (of.split("/")[2] !== id) continue;
      const count = counts[service] ?? { arrivals: 0, effects: 0, queries: 0 };
      counts[service] = count;
      if (kind === "arrival") count.arrivals += 1;
      else if (kind === "effect") count.effects += 1;
      else count.queries += 1;
    }
    return counts;
  }

  // ---- whether they agree

  /** Compares the three witnesses; with `queued`, also what lies in the queue. */
  async check(options: { readonly queued?: boolean } = {}): Promise<CheckReport> {
    const { namespace, store, history: client } = this;
    const world = await this.entries();
    const queued = options.queued === true ? { queued: (run: RunRef) => this.queued(run) } : {};
    const specs = this.#sagas.map(({ spec }) => spec);
    return await check({ namespace, sagas: specs, world, store, client, ...queued });
  }

  /** The three witnesses (with `queued`, the queue as well) agree, and evidence is left for the ids. */
  async prove(
    ids: string | readonly string[],
    seen: Pick<Observed, "killed" | "checks">,
    options: { readonly queued?: boolean } = {},
  ): Promise<void> {
    leaveProof(ids, await this.check(options), seen);
  }
}
