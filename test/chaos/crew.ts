/**
 * The processes of a round: the world, and workers in places; each place has a way of its own to Redis. Who dies is
 * replaced at once.
 *
 * Invariant: whoever ends a worker says so in the books before.
 */
import { withOrders } from "../support/fault-child.ts";
import type { Plan } from "../support/fault-plan.ts";
import { type Child, type Exit, spawnChild, waitFor } from "../support/processes.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import type { Books } from "./books.ts";
import { pass, type StorePair } from "./store-pair.ts";
import type { WorkerOrders, WorkerReady, WorkerRequest } from "./words.ts";

const workerFile = new URL("./worker.child.ts", import.meta.url);
const bootWithinMs = 60_000;
/** Who cannot reach the store is started again: on a busy machine more than once. */
const fullWithinMs = 240_000;

const retireWithinMs = 60_000;
const wakes = { times: 10, everyMs: 200 } as const;

export interface Place {
  readonly proxy: TcpProxy;
  worker: CrewMember | null;
}

export interface CrewMember {
  readonly child: Child;
  readonly owner: string;
  readonly hits: string;
  readonly version: 1 | 2;
  isFrozen: boolean;
  /** What becomes of it is settled: it is armed, stands still, or leaves. */
  isTaken: boolean;
}

export interface CrewOptions {
  readonly books: Books;
  readonly store: StorePair;
  readonly world: string;
  readonly allowForgetfulStore: boolean;
  /** What the wall clock of the next one is wrong by. */
  readonly nextSkewMs: () => number;
}

export class Crew {
  readonly places: readonly Place[];
  version: 1 | 2 = 1;
  /** How long a worker took of late from its start until it served. */
  bootMs = 0;
  readonly #options: CrewOptions;
  #spawned = 0;
  #closed = false;
  readonly #replacing = new Set<Promise<void>>();

  private constructor(options: CrewOptions, places: readonly Place[]) {
    this.#options = options;
    this.places = places;
  }

  static async open(options: CrewOptions, size: number): Promise<Crew> {
    const proxies = Array.from({ length: size }, () => startTcpProxy({ target: options.store.target }));
    const crew = new Crew(
      options,
      (await Promise.all(proxies)).map((proxy) => ({ proxy, worker: null })),
    );
    await Promise.all(crew.places.map((place) => crew.#man(place)));
    return crew;
  }

  /** Those that are at work and not frozen. */
  get fit(): readonly (Place & { readonly worker: CrewMember })[] {
    return this.places.filter(
      (place): place is Place & { readonly worker: CrewMember } =>
        place.worker !== null && !place.worker.isFrozen && place.worker.child.isRunning,
    );
  }

  arm({ child }: CrewMember, plan: Plan | null): void {
    if (child.isRunning) child.send({ arm: plan } satisfies WorkerRequest);
  }

  block({ child }: CrewMember, blockMs: number): void {
    if (child.isRunning) child.send({ blockMs } satisfies WorkerRequest);
  }

  /** It goes on, and is woken again where it comes to its point before it hears that it is not to stand still there. */
  async wake(worker: CrewMember): Promise<void> {
    for (let n = 0; n < wakes.times && worker.child.isRunning; n += 1) {
      worker.child.thaw();
      await pass(wakes.everyMs);
    }
    worker.isFrozen = false;
  }

  /** Ends one in good order, or, where it does not come to an end, by force. */
  async retire({ worker }: Place): Promise<void> {
    if (worker === null || !worker.child.isRunning) return;
    const late = setTimeout(() => void worker.child.kill("SIGKILL"), retireWithinMs);
    await worker.child.kill("SIGTERM");
    clearTimeout(late);
  }

  /** Waits until every place is filled. */
  async full(): Promise<void> {
    await waitFor(() => this.fit.length === this.places.length, {
      timeoutMs: fullWithinMs,
      what: "every worker to serve",
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#replacing);
    await Promise.all(this.places.map(({ worker }) => worker?.child.stop()));
    await Promise.all(this.places.map(({ proxy }) => proxy.close()));
  }

  async #man(place: Place): Promise<void> {
    const { books, world, allowForgetfulStore, nextSkewMs } = this.#options;
    this.#spawned += 1;
    const n = this.#spawned;
    const hits = `hits-${n}.jsonl`;
    const orders: WorkerOrders = {
      redis: place.proxy.url,
      world,
      hits: books.file(hits),
      acked: books.file(`acked-${n}.jsonl`),
      taken: books.file(`taken-${n}.jsonl`),
      version: this.version,
      allowForgetfulStore,
      skewMs: nextSkewMs(),
    };
    const began = performance.now();
    const child = await spawnChild(workerFile, withOrders(orders));
    void child.exit.then((exit) => this.#replace(place, child, exit));
    const isReady = (message: unknown): message is WorkerReady => Object.hasOwn(message as object, "ready");
    const ready = await child.nextMessage(isReady, bootWithinMs).catch(() => null);
    if (ready === null) return; // it died before it served: another one follows
    const { ready: owner } = ready;
    const bootMs = performance.now() - began;
    this.bootMs = this.bootMs === 0 ? bootMs : (this.bootMs + bootMs) / 2;
    books.mishap("worker", { pid: child.pid, owner, note: `version ${orders.version}, skew ${orders.skewMs}` });
    place.worker = { child, owner, hits, version: orders.version, isFrozen: false, isTaken: false };
  }

  #replace(place: Place, child: Child, { code, signal }: Exit): void {
    const isKnown = place.worker?.child === child;
    this.#options.books.keep(`worker-${child.pid}.log`, child.stderr);
    const note = signal ?? (code === 0 ? "in good order" : `code ${code}: ${child.stderr.slice(-1_000)}`);
    const owner = isKnown ? { owner: place.worker?.owner ?? "" } : {};
    this.#options.books.mishap("worker ended", { pid: child.pid, ...owner, note });
    if (isKnown) place.worker = null;
    if (this.#closed) return;
    const replaced = this.#man(place).catch((error: unknown) => {
      this.#options.books.mishap("worker not started", { note: String(error) });
    });
    this.#replacing.add(replaced);
    void replaced.finally(() => this.#replacing.delete(replaced));
  }
}
