/**
 * One subscription per store and shard, however many listen. What is heard is a hint: messages may be lost. A connection
 * that is open on one side only says nothing for ever, so it is asked whether it is there.
 */
import { Cluster } from "ioredis";
import type { MoveListener } from "../../core/index.ts";
import { statusLetters } from "../codec.ts";
import { runOf } from "../keys.ts";
import type { StoreClient, StoreConnections } from "./connections.ts";
import type { Wire } from "./wire.ts";

/** A subscription that leaves a question unanswered from one look to the next is opened again. */
const lookMs = 2_500;

export class Watch {
  readonly #wire: Wire;
  readonly #connections: StoreConnections;
  readonly #listeners = new Set<MoveListener>();
  #client: Promise<StoreClient> | null = null;
  #look: NodeJS.Timeout | null = null;

  constructor(wire: Wire, connections: StoreConnections) {
    this.#wire = wire;
    this.#connections = connections;
  }

  async listen(listener: MoveListener): Promise<() => Promise<void>> {
    const own: MoveListener = (...news) => listener(...news);
    this.#listeners.add(own);
    try {
      this.#client ??= this.#subscribe();
      await this.#client;
    } catch (error) {
      this.#listeners.delete(own);
      this.#client = null;
      throw error;
    }
    return async () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    const client = this.#client;
    this.#client = null;
    if (this.#look !== null) clearInterval(this.#look);
    client?.then(
      (open) => open.disconnect(),
      () => undefined,
    );
  }

  async #subscribe(): Promise<StoreClient> {
    const client = this.#connections.subscriber();
    try {
      await this.#connections.ready(client);
      client.on("message", (_channel: string, message: string) => this.#tell(message));
      await this.#wire.ask("watch", () => client.subscribe(...this.#wire.shards.map(({ channel }) => channel)));
      this.#lookAfter(client);
      return client;
    } catch (error) {
      client.disconnect();
      throw error;
    }
  }

  /** It subscribes again by itself. (A cluster's client looks after the connection it has chosen for that.) */
  #lookAfter(client: StoreClient): void {
    if (client instanceof Cluster) return;
    let isAsked = false;
    const answered = (): void => {
      isAsked = false;
    };
    this.#look = setInterval(() => {
      if (client.status !== "ready") return;
      if (isAsked) client.disconnect(true);
      else client.ping().then(answered, answered);
      isAsked = !isAsked;
    }, lookMs);
    this.#look.unref();
  }

  #tell(message: string): void {
    const [member = "", revision, status] = message.split(" ");
    const run = runOf(member);
    for (const listener of this.#listeners) listener(run, Number(revision), statusLetters.wordOf(status ?? ""));
  }
}
