/**
 * Carries claims of intents to the registry, and word of what became of them to it and to everybody who listens (design
 * section 6, steps (b) and (e)). Owns no decision: what is claimed and published, and when, is core's.
 *
 * Invariants: R1 a request is sent again unchanged until it is answered. R2 `published` is learnt only after everybody who
 * listens was told, so a driver that dies on the way is followed by one that tells them again.
 */
import type { ClaimOrder, Decision, DriverFact, IntentWord, PublishOrder, RunRef } from "../core/index.ts";
import type { Json } from "../saga/index.ts";
import { type EngineContext, trouble, untilAnswered, wake } from "./context.ts";

type Learnt = Extract<DriverFact, { readonly type: "claimed" | "published" }>;

export class Intents {
  readonly #context: EngineContext;
  readonly #tenant: string;
  readonly #learn: (fact: Learnt) => void;
  readonly #flights = new Set<string>();

  constructor(context: EngineContext, run: RunRef, learn: (fact: Learnt) => void) {
    this.#context = context;
    this.#tenant = run.tenant;
    this.#learn = learn;
  }

  /** `claim:<seq>`, `publish:<seq>`. */
  get inFlight(): ReadonlySet<string> {
    return this.#flights;
  }

  /** Begins what a decision orders, once it is written. */
  begin({ claims, publishes }: Decision): void {
    for (const order of claims) this.#fly(`claim:${order.seq}`, () => this.#claim(order));
    for (const order of publishes) this.#fly(`publish:${order.seq}`, () => this.#publish(order));
  }

  #fly(key: string, request: () => Promise<Learnt | null>): void {
    this.#flights.add(key);
    const fly = async (): Promise<void> => {
      try {
        const fact = await request();
        this.#flights.delete(key);
        if (fact !== null) this.#learn(fact);
      } finally {
        this.#flights.delete(key);
      }
    };
    this.#context.background(fly());
  }

  async #claim({ seq, claim, intent, owner, argsHash }: ClaimOrder): Promise<Learnt | null> {
    const { store } = this.#context;
    const command = { intent, owner, argsHash, claimMs: null, keepMs: null, replaces: null, listens: true };
    const sent = await untilAnswered(this.#context, "claim", () => store.claimIntent(command));
    if (sent === null) return null;
    const { answer } = sent;
    const theirs = answer.answer === "CONFLICT" ? await this.#inputOf(answer.owner) : null;
    return { type: "claimed", seq, claim, answer, theirs };
  }

  /** What the owner of an intent was given, so that a person sees both; `null`: it cannot be read. */
  async #inputOf(owner: string): Promise<Json> {
    const place = placeOf(owner);
    if (place === null) return null;
    try {
      const rows = await this.#context.store.ledger({ tenant: this.#tenant, id: place.id });
      return rows[place.seq - 1]?.input ?? null;
    } catch (error) {
      trouble(this.#context, "claim", error);
      return null;
    }
  }

  async #publish({ seq, claim, intent, owner, became }: PublishOrder): Promise<Learnt | null> {
    const { store } = this.#context;
    const command = { intent, owner, became, keepMs: null };
    const sent = await untilAnswered(this.#context, "publish", () => store.publishIntent(command));
    if (sent === null) return null;
    const { answer } = sent;
    if (answer.answer !== "FENCED") {
      const { generation, waiters, reusers } = answer;
      const listeners = new Set([...waiters, ...(became.state === "undone" ? reusers : [])]);
      for (const listener of listeners) await this.#tell(listener, owner, generation, became.state);
    }
    return { type: "published", seq, claim, became: became.state };
  }

  /** Sent twice, or to a run that has ended, it changes nothing. */
  async #tell(listener: string, owner: string, generation: number, became: IntentWord): Promise<void> {
    const place = placeOf(listener);
    if (place === null) return;
    const command = {
      run: { tenant: this.#tenant, id: place.id },
      slot: `intent:${place.seq}:${generation}:${became}`,
      commandId: `${owner}:${became}`,
      by: this.#context.owner,
      body: { type: "intent", seq: place.seq, owner, became } as const,
    };
    const sent = await untilAnswered(this.#context, "intent", () => this.#context.store.send(command));
    if (sent?.answer.answer === "OK") await wake(this.#context, sent.answer.wake);
  }
}

/** The row that a claim's owner names; `null`: it is no row's. */
function placeOf(owner: string): { readonly id: string; readonly seq: number } | null {
  const match = /^(.+)#(\d+)\.\d+$/.exec(owner);
  return match === null ? null : { id: match[1] as string, seq: Number(match[2]) };
}
