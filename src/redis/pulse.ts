/**
 * A pulse: a connection open for nothing else. It ends when its process dies, within milliseconds and without anybody's
 * help, and its client id is how others see that (design section 5, Pulse).
 *
 * Others ask the primary, so that is where it must be. A pulse on a server that has become a replica (R035), or that answers
 * no more (frozen, or a connection that is open on one side only), is kept until there is one on a primary: given up before,
 * its process would look dead to all who have not moved yet.
 */
import type { Redis } from "ioredis";

/** Where a pulse is: the server's `run_id` and the connection's client id there. */
export interface PulsePlace {
  readonly serverId: string;
  readonly pulse: string;
}

export interface Pulse {
  close(): void;
}

const reopenAfterMs = 100;
/** How often a pulse looks whether its server is a primary: well within the lease that owners have to register again. */
const lookMs = 500;
/** Whoever has not answered by then is looked for elsewhere. */
const answerWithinMs = 1_000;

/** `connect(turn)` opens a connection to the turn-th seed. Opens again after every loss, on the next seed. */
export function openPulse(connect: (turn: number) => Redis, onOpen: (place: PulsePlace) => void): Pulse {
  return new OpenPulse(connect, onOpen);
}

class OpenPulse implements Pulse {
  readonly #connect: (turn: number) => Redis;
  readonly #onOpen: (place: PulsePlace) => void;
  /** The connection that counts, and the one that is to take its place. */
  #beating: Redis | null = null;
  #candidate: Redis | null = null;
  #turn = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Ends the wait for a candidate that connects and says nothing. */
  #patience: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(connect: (turn: number) => Redis, onOpen: (place: PulsePlace) => void) {
    this.#connect = connect;
    this.#onOpen = onOpen;
    this.#open();
  }

  close(): void {
    this.#closed = true;
    this.#after(0, () => undefined);
    this.#waitFor(null);
    this.#candidate?.disconnect();
    this.#beating?.disconnect();
  }

  #open(): void {
    const mine = this.#connect(this.#turn);
    this.#turn += 1;
    this.#candidate = mine;
    this.#waitFor(mine);
    mine.on("error", () => undefined).once("close", () => this.#lose(mine));
    mine.once("ready", () => this.#ask(mine, (place) => this.#judge(mine, place)));
  }

  #judge(mine: Redis, place: PulsePlace | null): void {
    if (mine !== this.#candidate || this.#closed) return;
    if (place === null) return this.#lose(mine);
    const before = this.#beating;
    this.#beating = mine;
    this.#candidate = null;
    this.#waitFor(null);
    before?.disconnect();
    this.#onOpen(place);
    this.#lookLater(mine);
  }

  #lookLater(mine: Redis): void {
    this.#after(lookMs, () => this.#ask(mine, (place) => this.#look(mine, place)));
  }

  #look(mine: Redis, place: PulsePlace | null): void {
    if (mine !== this.#beating || this.#closed) return;
    if (place === null) this.#open();
    else this.#lookLater(mine);
  }

  #ask(mine: Redis, then: (place: PulsePlace | null) => void): void {
    let isLate = false;
    const late = setTimeout(() => {
      isLate = true;
      then(null);
    }, answerWithinMs);
    whereIs(mine)
      .finally(() => clearTimeout(late))
      .then(
        (place) => (isLate ? undefined : then(place)),
        () => this.#lose(mine),
      );
  }

  #waitFor(candidate: Redis | null): void {
    if (this.#patience !== null) clearTimeout(this.#patience);
    this.#patience = candidate === null ? null : setTimeout(() => this.#lose(candidate), 3 * answerWithinMs);
  }

  /** It is gone or of no use; another follows, unless one is coming already. */
  #lose(mine: Redis): void {
    const isCandidate = mine === this.#candidate;
    if (!isCandidate && mine !== this.#beating) return;
    if (isCandidate) this.#candidate = null;
    else this.#beating = null;
    mine.disconnect();
    if (this.#candidate === null) this.#after(this.#beating === null ? reopenAfterMs : lookMs, () => this.#open());
  }

  #after(ms: number, then: () => void): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = this.#closed ? null : setTimeout(then, ms);
  }
}

/** `null`: on a replica, where it is of no use. */
async function whereIs(client: Redis): Promise<PulsePlace | null> {
  const [id, server, replication] = await Promise.all([
    client.client("ID"),
    client.info("server"),
    client.info("replication"),
  ]);
  const serverId = /^run_id:(\w+)/m.exec(server)?.[1];
  if (serverId === undefined) throw new Error("INFO server names no run_id");
  return /^role:slave/m.test(replication) ? null : { serverId, pulse: String(id) };
}
