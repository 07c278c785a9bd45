/**
 * The runs of a round: which there are follows from the seed; they are started as the schedule goes on, by a client that asks
 * again until it is answered, and watched until they come to rest.
 */
import type { Client } from "../../src/client/index.ts";
import type { RunRecord, RunStatus, Store } from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";
import type { Saga } from "../../src/index.ts";
import type { Fault } from "../../src/testing/index.ts";
import { Random } from "../simulation/random.ts";
import type { Books } from "./books.ts";
import { type Kind, sagas, servicesOf } from "./sagas.ts";
import { pass } from "./store-pair.ts";
import { namespace, tenant } from "./words.ts";

export interface Job {
  readonly id: string;
  readonly kind: Kind;
  /** It fails on purpose, after everything was done. */
  readonly refuse: boolean;
  /** What goes wrong with one of its calls. */
  readonly fault: Fault | null;
  /** It is cancelled so long after it was started. */
  readonly cancelAfterMs: number | null;
}

const mix: readonly (readonly [Kind, number])[] = [
  ["order", 0.35],
  ["loan", 0.15],
  ["fan", 0.19],
  ["timer", 0.14],
  ["batch", 0.1],
  ["agent", 0.07],
];
const refuseShare = 0.2;
const faultShare = 0.3;
const cancelShare = 0.04;

export function jobsOf(seed: number, runs: number): readonly Job[] {
  const random = new Random(seed + 1);
  const jobs = Array.from({ length: runs }, (_, at) => jobOf(random, at + 1));
  // What the rare crash points need is there, too, when they are tried once more in the end.
  const isLate = new Set(jobs.filter(({ kind, refuse }) => kind === "batch" && refuse).filter((_, n) => n % 2 === 1));
  return [...jobs.filter((job) => !isLate.has(job)), ...isLate];
}

function jobOf(random: Random, n: number): Job {
  const kind = drawn(random);
  const id = `${kind[0]}${n}`;
  return {
    id,
    kind,
    refuse: random.chance(refuseShare),
    fault: random.chance(faultShare) ? faultOf(random, id, kind) : null,
    cancelAfterMs: random.chance(cancelShare) ? random.between(0, 3_000) : null,
  };
}

function drawn(random: Random): Kind {
  let left = random.next();
  for (const [kind, share] of mix) {
    left -= share;
    if (left < 0) return kind;
  }
  return "order";
}

/** What a busy or broken service does. A later apply is well within the lateness that the steps declare. */
function faultOf(random: Random, id: string, kind: Kind): Fault | null {
  const services = servicesOf[kind];
  if (services.length === 0) return null;
  const step = random.pick(services);
  const undo = step !== "email" && random.chance(0.15);
  const operationId = `${namespace}/${tenant}/${id}/${step}/1${undo ? "/undo" : ""}`;
  const target = { service: undo ? `undo-${step}` : step, operationId };
  return random.pick<Fault>([
    { ...target, kind: "apply-then-500" },
    { ...target, kind: "500-then-apply-later", afterMs: random.between(10, 800) },
    { ...target, kind: "reset-before-apply" },
    { ...target, kind: "reset-after-apply" },
    { ...target, kind: "rate-limit", retryAfterSeconds: 1 },
    { ...target, kind: "apply-then-hang" },
    { ...target, kind: "hang-before-apply" },
    { ...target, kind: "slow", ms: random.between(50, 1_000) },
    ...(undo ? [{ ...target, kind: "refuse", code: "no", times: "always" } as const] : []),
  ]);
}

// ---- under way

export interface LoadParts {
  readonly client: Client;
  readonly store: Store;
  readonly books: Books;
  readonly script: (fault: Fault) => void;
  /** Which version of an order is started now. */
  readonly version: () => 1 | 2;
}

const restful: ReadonlySet<RunStatus> = new Set(["completed", "failed", "cancelled", "needs_review"]);
/** Open runs above this: the next one waits. */
const maxOpen = 200;
const lookMs = 500;
const looksAtOnce = 40;
const startsAtOnce = 8;
const againMs = 100;

export class Load {
  readonly #parts: LoadParts;
  readonly #jobs: readonly Job[];
  readonly #byId: ReadonlyMap<string, Job>;
  /** Started and not at rest as far as is known, the oldest first. */
  readonly open = new Map<string, Job>();
  readonly #startedAt = new Map<string, number>();
  #allowed = 0;
  #next = 0;
  #busy = 0;
  #closed = false;
  #stopWatching: () => Promise<void> = () => Promise.resolve();
  #looking: Promise<void> = Promise.resolve();

  constructor(parts: LoadParts, jobs: readonly Job[]) {
    this.#parts = parts;
    this.#jobs = jobs;
    this.#byId = new Map(jobs.map((job) => [job.id, job]));
  }

  async begin(): Promise<void> {
    this.#stopWatching = await this.#parts.store.watch(({ id }, _revision, status) => this.#heard(id, status));
    this.#looking = this.#look();
  }

  /** So many of all runs may have been started by now. */
  allow(count: number): void {
    this.#allowed = Math.min(this.#jobs.length, Math.max(this.#allowed, count));
    this.#go();
  }

  get isFull(): boolean {
    return this.open.size >= maxOpen;
  }

  get started(): number {
    return this.#next - this.#busy;
  }

  /** What was started since then, once more: a client that knows that the store may have forgotten asks again. */
  async startAgain(since: number): Promise<void> {
    const ids = [...this.#startedAt].flatMap(([id, at]) => (at >= since ? [id] : []));
    const jobs = this.#jobs.filter(({ id }) => ids.includes(id));
    await Promise.all(jobs.map((job) => this.#start(job)));
    for (const job of jobs) this.open.set(job.id, job);
  }

  /** Those that are known not to be at rest; each was looked at. */
  async unrested(): Promise<readonly RunRecord[]> {
    const records = await Promise.all([...this.open.keys()].map((id) => this.#parts.store.read({ tenant, id })));
    for (const record of records) if (record !== null) this.#heard(record.id, record.status);
    return records.flatMap((record) => (record === null || restful.has(record.status) ? [] : [record]));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#looking;
    await this.#stopWatching().catch(() => undefined);
  }

  #heard(id: string, status: RunStatus): void {
    const job = this.#byId.get(id);
    if (job === undefined) return;
    if (restful.has(status)) this.open.delete(id);
    else this.open.set(id, job);
    this.#go();
  }

  #go(): void {
    while (this.#next < this.#allowed && this.#busy < startsAtOnce && this.open.size < maxOpen && !this.#closed) {
      const job = this.#jobs[this.#next] as Job; // it is within
      this.#next += 1;
      this.#busy += 1;
      void this.#begin(job).finally(() => {
        this.#busy -= 1;
        this.#go();
      });
    }
  }

  async #begin(job: Job): Promise<void> {
    if (job.fault !== null) this.#parts.script(job.fault);
    this.open.set(job.id, job);
    await this.#start(job);
    if (job.cancelAfterMs === null) return;
    setTimeout(() => void this.#cancel(job), job.cancelAfterMs);
  }

  async #start(job: Job): Promise<void> {
    const { client, books } = this.#parts;
    const run = { tenant, id: job.id };
    const { id, refuse } = job;
    while (!this.#closed) {
      try {
        await client.start(sagaOf(job, this.#versionOf(job)), { id, refuse }, run);
        books.said({ op: "start", run, outcome: "ok" });
        this.#startedAt.set(id, Date.now());
        return;
      } catch (error) {
        books.said({ op: "start", run, outcome: "info" });
        if (error instanceof RepriseError && error.code !== "STORE_UNAVAILABLE") throw error;
        await pass(againMs);
      }
    }
  }

  readonly #versions = new Map<string, 1 | 2>();

  /** Started again it is the same run. */
  #versionOf({ id }: Job): 1 | 2 {
    const version = this.#versions.get(id) ?? this.#parts.version();
    this.#versions.set(id, version);
    return version;
  }

  async #cancel({ id }: Job): Promise<void> {
    const { client, books } = this.#parts;
    const run = { tenant, id };
    const asked = client.run(id, { tenant }).cancel({ by: "ann", reason: "chaos" });
    const outcome = await asked.then(
      () => "ok" as const,
      (error: unknown) =>
        error instanceof RepriseError && error.code !== "STORE_UNAVAILABLE" ? ("fail" as const) : ("info" as const),
    );
    books.said({ op: "cancel", run, outcome });
  }

  /** What is heard is a hint: the oldest are looked at. */
  async #look(): Promise<void> {
    while (!this.#closed) {
      await pass(lookMs);
      const oldest = [...this.open.keys()].slice(0, looksAtOnce);
      const reads = oldest.map((id) => this.#parts.store.read({ tenant, id }).catch(() => null));
      for (const record of await Promise.all(reads)) if (record !== null) this.#heard(record.id, record.status);
    }
  }
}

function sagaOf({ kind }: Job, version: 1 | 2): Saga {
  if (kind === "order") return version === 1 ? sagas.order : sagas.nextOrder;
  return sagas[kind];
}
