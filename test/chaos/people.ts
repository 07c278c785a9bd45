/**
 * The people of a round: they decide on what is asked, often two at once, and look after what is parked, having looked at what
 * the world says has happened.
 */
import type { Client, InboxItem, Resolution } from "../../src/client/index.ts";
import { operationId, type Store, type Verb } from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";
import type { DecisionWord, Principal } from "../../src/index.ts";
import { Random } from "../simulation/random.ts";
import type { ClientEvent } from "../support/checker.ts";
import type { Books } from "./books.ts";
import { pass } from "./store-pair.ts";
import { namespace, tenant } from "./words.ts";

export interface PeopleParts {
  readonly client: Client;
  readonly store: Store;
  readonly books: Books;
  readonly seed: number;
  /** How often the world has seen an effect. */
  readonly effects: (operationId: string) => Promise<number>;
}

const lookMs = 200;
/** What is still asked after so long is decided on once more: the store may have forgotten it. */
const againMs = 3_000;
/** Whoever says what happened looks after everything that was sent can have arrived. */
const patienceMs = 6_000;
const raceShare = 0.3;
const rejectShare = 0.1;
/** Of the runs that are parked, those that nobody looks after. */
const leftShare = 0.1;

const person = (id: string): Principal => ({ id, kind: "person", roles: [] });

export class People {
  readonly #parts: PeopleParts;
  readonly #busy = new Set<string>();
  #closed = false;
  #looking: Promise<void> = Promise.resolve();
  races = 0;

  constructor(parts: PeopleParts) {
    this.#parts = parts;
  }

  begin(): void {
    this.#looking = this.#look();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#looking;
  }

  /** Will nobody ever look after this run, if it is parked? (An agent would keep its turn, and its line would wait for ever.) */
  isLeft(id: string): boolean {
    return !id.includes(".") && !id.startsWith("a") && this.#random(id, "left").chance(leftShare);
  }

  async #look(): Promise<void> {
    while (!this.#closed) {
      await pass(lookMs);
      try {
        const { items } = await this.#parts.client.inbox({ tenant, limit: 200 });
        for (const item of items) this.#take(item);
      } catch {
        // The store is away: they look again.
      }
    }
  }

  #take(item: InboxItem): void {
    const key = `${item.id} ${item.kind} ${item.review ?? ""} ${item.approval?.seq ?? ""}.${item.approval?.n ?? ""}`;
    if (this.#busy.has(key)) return;
    if (item.kind === "review" && (this.isLeft(item.id) || item.ageMs < patienceMs)) return;
    const work = item.kind === "approval" ? this.#decide(item) : item.kind === "review" ? this.#lookAfter(item) : null;
    if (work === null) return;
    this.#busy.add(key);
    const again = () => setTimeout(() => this.#busy.delete(key), againMs).unref();
    void work.catch(() => undefined).finally(again);
  }

  /** The same run is treated alike, whenever that is. */
  #random(id: string, what: string): Random {
    const text = `${this.#parts.seed} ${id} ${what}`;
    return new Random([...text].reduce((sum, char) => Math.imul(sum, 31) + char.charCodeAt(0), 7));
  }

  // ---- what is asked

  async #decide({ id, approval }: InboxItem): Promise<void> {
    if (approval === null) return;
    const random = this.#random(id, `asked ${approval.seq}.${approval.n}`);
    const words: DecisionWord[] = random.chance(rejectShare)
      ? [{ is: "reject", reason: "chaos" }]
      : [{ is: "approve" }];
    if (random.chance(raceShare)) words.push(random.chance(0.5) ? { is: "approve" } : { is: "reject", reason: "no" });
    if (words.length > 1) this.races += 1;
    const ref = { seq: approval.seq, n: approval.n, shown: approval.shown };
    const run = this.#parts.client.run(id, { tenant });
    await Promise.all(
      words.map(async (word, at) => {
        const by = ["ann", "bob"][at] ?? "eve";
        const outcome = await outcomeOf(run.decide(ref, word, { as: person(by) }));
        const decision = { seq: ref.seq, n: ref.n, by, is: word.is, isAlone: true };
        this.#parts.books.said({ op: "decide", run: { tenant, id }, outcome, decision });
      }),
    );
  }

  // ---- what is parked

  async #lookAfter(item: InboxItem): Promise<void> {
    const acts = [this.#act(item, "ann")];
    if (this.#random(item.id, `parked ${item.review}`).chance(raceShare)) {
      this.races += 1;
      acts.push(this.#act(item, "bob"));
    }
    await Promise.all(acts);
  }

  async #act(item: InboxItem, by: string): Promise<void> {
    const { id, review } = item;
    const { operator } = this.#parts.client.run(id, { tenant });
    const who = { by, ...(review === null ? {} : { review }) };
    const reason = "looked at what happened";
    const has = (verb: Verb) => item.verbs.includes(verb);
    const acted = async () => {
      if (item.reason === "store_rollback") return await operator.retry({ ...who, reason });
      // A service that refuses to undo it for good will not think better of it.
      if (item.reason === "halted" && has("skip")) return await operator.skip({ ...who, reason });
      if (has("resolve")) return await operator.resolve(await this.#truth(id), who);
      if (has("skip")) return await operator.skip({ ...who, reason });
      if (has("retry")) return await operator.retry({ ...who, reason });
      return await operator.close({ ...who, reason });
    };
    const outcome = await outcomeOf(acted());
    this.#parts.books.said({ op: "verb", run: { tenant, id }, outcome });
  }

  /** What the world says of the call that the review is about. */
  async #truth(id: string): Promise<Resolution> {
    const { store, effects } = this.#parts;
    const run = { tenant, id };
    const [record, rows] = await Promise.all([store.read(run), store.ledger(run)]);
    const review = record?.review ?? null;
    const row = rows.find(({ seq }) => seq === review?.seq);
    if (review === null || row === undefined) throw new Error("it went on meanwhile");
    const side = review.side ?? "action";
    const seen = await effects(operationId(namespace, run, row, side));
    const evidence = `the world has seen it ${seen} times`;
    if (seen === 0) return { as: "absent", evidence };
    return { as: "happened", evidence, ...(side === "action" ? { output: { ref: "seen" } } : {}) };
  }
}

async function outcomeOf(asked: Promise<unknown>): Promise<ClientEvent["outcome"]> {
  return await asked.then(
    () => "ok" as const,
    (error: unknown) =>
      error instanceof RepriseError && error.code !== "STORE_UNAVAILABLE" ? ("fail" as const) : ("info" as const),
  );
}
