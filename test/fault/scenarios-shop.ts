/**
 * A shop, as whoever uses the product runs it: its own worker processes (`workers/worker.ts`, told by their environment),
 * one client that keeps ordering, and a world in this process that writes its file and looks into the store at each
 * arrival (I6). Nothing of the product is wrapped, so what a worker says is what an operator would read.
 *
 * Invariants
 * 1. What is claimed of the outside is read from the world's file.
 * 2. Everything started here is stopped by `close`, by its pid.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { order } from "../../sagas/index.ts";
import { hasEnded, operationId, type Store } from "../../src/core/index.ts";
import { type Client, createClient, RepriseError } from "../../src/index.ts";
import { FakeWorld, serveFakeWorld, type WorldArrival, type WorldEntry } from "../../src/testing/index.ts";
import { type ClientEvent, check } from "../support/checker.ts";
import { leaveEvidence, type Observed } from "../support/evidence.ts";
import { faultConnections } from "../support/fault-connect.ts";
import { harnessTimeoutMs } from "../support/fault-plan.ts";
import { type Child, owned, spawnChild, waitFor } from "../support/processes.ts";

const tenant = "default";
const workerFile = new URL("../../workers/worker.ts", import.meta.url);
const patienceMs = 60_000;
/** R035: an order placed after a fail-over has gone through by then. */
export const backWithinMs = 15_000;
/** What the world sees of an order that went through. */
export const callsPerOrder = 4;

export interface ShopOptions {
  readonly namespace: string;
  /** Where client and workers find Redis. */
  readonly url: string;
  /** Where the harness looks. */
  readonly server: string;
  /** 1 when left out. */
  readonly shards?: number;
  /** Whether the world looks into the store at each arrival. */
  readonly witness?: boolean;
}

/** What one order came to at the counter: the code of the refusal, or `null`. */
export interface Ordered {
  readonly id: string;
  /** When it was placed and when it was answered (ms since 1970). */
  readonly at: number;
  readonly answeredAt: number;
  readonly code: string | null;
}

export interface Ordering {
  /** What was answered so far. */
  readonly ordered: readonly Ordered[];
  /** Places no more; resolves when everything was answered. */
  stop(): Promise<readonly Ordered[]>;
}

export class Shop {
  readonly client: Client;
  readonly world: FakeWorld;
  readonly #options: ShopOptions;
  readonly #file: string;
  readonly #worldUrl: string;
  readonly #history: ClientEvent[] = [];
  readonly #owned = owned();
  #store: Store | null = null;
  #placed = 0;

  private constructor(options: ShopOptions, file: string, world: FakeWorld, worldUrl: string) {
    this.#options = options;
    this.#file = file;
    this.#worldUrl = worldUrl;
    this.world = world;
    const { url: redis, namespace, shards = 1 } = options;
    this.client = createClient({ redis, namespace, shards, sagas: [order], facts: { emit: () => undefined } });
  }

  static async open(options: ShopOptions): Promise<Shop> {
    const directory = await mkdtemp(join(tmpdir(), "reprise-shop-"));
    const file = join(directory, "world.jsonl");
    let shop: Shop | null = null;
    const witness = (arrival: WorldArrival) => shop?.witness(arrival);
    const world = new FakeWorld({ file, ...(options.witness === false ? {} : { witness }) });
    const server = await serveFakeWorld(world);
    shop = new Shop(options, file, world, server.url);
    shop.#owned.own({ close: () => rm(directory, { recursive: true, force: true }) });
    for (const part of [world, server, shop.client]) shop.#owned.own(part);
    await shop.lookAt(options.server);
    return shop;
  }

  /** From now on the harness looks here. */
  async lookAt(server: string): Promise<void> {
    const { namespace, shards } = this.#options;
    const connections = this.#owned.own(faultConnections(server, namespace, harnessTimeoutMs, console.error, shards));
    const opened = () => connections.store.open().then(() => true);
    await waitFor(opened, { timeoutMs: patienceMs, what: "the store to open" });
    this.#store = connections.store;
  }

  /** A worker process that serves; what differs from its defaults is said by variables of its environment. */
  async worker(env: Readonly<Record<string, string>> = {}): Promise<Child> {
    const { namespace, url, shards = 1 } = this.#options;
    const place = { REDIS_URL: url, REPRISE_NAMESPACE: namespace, REPRISE_SHARDS: String(shards) };
    const told = { ...place, WORLD_URL: this.#worldUrl, ...env };
    const child = this.#owned.own(await spawnChild(workerFile, { env: told }));
    const isServing = () => child.stdout.includes('"event":"ready"');
    await waitFor(isServing, { timeoutMs: patienceMs, what: "the worker to serve", tell: () => child.stderr });
    return child;
  }

  /** Places one order, and notes what was answered. */
  async order(): Promise<Ordered> {
    this.#placed += 1;
    const run = { tenant, id: `o-${this.#placed}` };
    const at = Date.now();
    const answer = (code: string | null) => ({ id: run.id, at, answeredAt: Date.now(), code });
    try {
      await this.client.start(order, { id: run.id, sku: "A", cents: 4_200, email: "a@example.com" }, { id: run.id });
      this.#history.push({ op: "start", run, outcome: "ok" });
      return answer(null);
    } catch (error) {
      this.#history.push({ op: "start", run, outcome: "info" });
      return answer(error instanceof RepriseError ? error.code : String(error));
    }
  }

  /** Places many orders in one request. */
  async orderMany(count: number): Promise<void> {
    const ids = Array.from({ length: count }, (_, at) => `o-${this.#placed + at + 1}`);
    this.#placed += count;
    const placed = await this.client.startMany(
      order,
      ids.map((id) => ({ id, input: { id, sku: "A", cents: 4_200, email: "a@example.com" } })),
    );
    for (const { id } of placed) this.#history.push({ op: "start", run: { tenant, id }, outcome: "ok" });
  }

  /** Places an order every so often, whatever becomes of those before it. */
  keepOrdering(everyMs: number): Ordering {
    const ordered: Ordered[] = [];
    const underWay = new Set<Promise<void>>();
    const timer = setInterval(() => {
      const one: Promise<void> = this.order().then((answer) => {
        ordered.push(answer);
        underWay.delete(one);
      });
      underWay.add(one);
    }, everyMs);
    this.#owned.own({ close: () => clearInterval(timer) });
    return {
      ordered,
      stop: async () => {
        clearInterval(timer);
        await Promise.all(underWay);
        return ordered;
      },
    };
  }

  /** When the last step of an order was made outside (ms since 1970), by the world's own clock. */
  async mailedAt(): Promise<ReadonlyMap<string, number>> {
    const mails = (await this.entries()).filter(({ kind, service }) => kind === "effect" && service === "mail");
    return new Map(mails.map(({ operationId: id, at }) => [id.split("/")[2] ?? "", Date.parse(at)]));
  }

  /** Every order that was accepted has ended or is parked; how many have which status. */
  async restAll(timeoutMs: number): Promise<Readonly<Record<string, number>>> {
    const accepted = new Set(this.#history.flatMap(({ run, outcome }) => (outcome === "ok" ? [run.id] : [])));
    const byStatus: Record<string, number> = {};
    const look = async () => {
      for (const id of accepted) {
        const status = (await this.#looking.read({ tenant, id }))?.status ?? "lost";
        if (status !== "lost" && status !== "needs_review" && !hasEnded(status)) return false;
        accepted.delete(id);
        byStatus[status] = (byStatus[status] ?? 0) + 1;
      }
      return true;
    };
    const tell = () => `${accepted.size} are left: ${[...accepted].slice(0, 10).join(", ")}`;
    await waitFor(look, { timeoutMs, everyMs: 50, what: "every order to come to rest", tell });
    return byStatus;
  }

  /** What its client was told nothing of may have been placed all the same: it goes its way too. */
  async #restUnanswered(): Promise<void> {
    const unanswered = this.#history.flatMap(({ run, outcome }) => (outcome === "info" ? [run] : []));
    for (const run of unanswered) {
      const isAtRest = async () => {
        const { status } = (await this.#looking.read(run)) ?? { status: "failed" };
        return status === "needs_review" || hasEnded(status);
      };
      await waitFor(isAtRest, { timeoutMs: 60_000, everyMs: 50, what: `order ${run.id} to come to rest` });
    }
  }

  /** The world's own lines, read from its file. */
  async entries(): Promise<readonly WorldEntry[]> {
    const lines = (await readFile(this.#file, "utf8")).split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as WorldEntry); // the world wrote it
  }

  /** The three witnesses agree, and evidence is left for the scenario. */
  async prove(id: string, checks: Observed["checks"]): Promise<void> {
    await this.#restUnanswered();
    const { namespace } = this.#options;
    const world = await this.entries();
    const report = await check({
      namespace,
      sagas: [order.spec],
      world,
      store: this.#looking,
      client: this.#history,
    });
    expect(report.violations).toEqual([]);
    const { arrivals, effects } = report;
    leaveEvidence(id, { arrivals, effects, checks: [...checks, ...report.checks] });
  }

  close(): Promise<void> {
    return this.#owned.release();
  }

  /** Looks at the row of an arrival at that moment, over the harness's own connection. */
  async witness({ operationId: id }: WorldArrival): Promise<{ readonly intent: boolean }> {
    const run = { tenant, id: id.split("/")[2] ?? "" };
    // While the store changes hands nobody can look: the outside is slow for so long.
    const rows = await waitFor(() => this.#looking.ledger(run), {
      ...{ what: "the store to be looked into", everyMs: 50, timeoutMs: patienceMs },
    });
    const mine = rows.find((row) => operationId(this.#options.namespace, run, row) === id);
    return { intent: (mine?.call.firstSentRevision ?? null) !== null };
  }

  get #looking(): Store {
    if (this.#store === null) throw new Error("the shop is not open");
    return this.#store;
  }
}

/** When the first order that was placed after that moment had gone through. */
export async function firstThrough(shop: Shop, ordering: Ordering, after: number): Promise<number> {
  const through = async () => {
    const mailedAt = await shop.mailedAt();
    const placed = ordering.ordered.filter(({ at, code }) => at > after && code === null);
    return Math.min(...placed.flatMap(({ id }: Ordered) => mailedAt.get(id) ?? []));
  };
  const tell = () => JSON.stringify(ordering.ordered.slice(-3));
  return await waitFor(async () => Number.isFinite(await through()) && through(), {
    what: "an order to go through again",
    timeoutMs: 2 * backWithinMs,
    everyMs: 50,
    tell,
  });
}

/** Operations the outside has made more than once; `isWhole`: every order that was begun has gone through. */
export async function doubled(shop: Shop, { isWhole = true } = {}): Promise<readonly string[]> {
  const made = new Map<string, number>();
  for (const { kind, operationId } of await shop.entries()) {
    if (kind === "effect") made.set(operationId, (made.get(operationId) ?? 0) + 1);
  }
  if (isWhole) expect(made.size % callsPerOrder).toBe(0);
  return [...made].flatMap(([id, times]) => (times > 1 ? [id] : []));
}
