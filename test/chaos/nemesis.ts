/**
 * What goes wrong, one thing after the other in the order of the schedule, while runs are under way.
 *
 * Invariant: what makes the store forget is two leases apart from every death, pause and retirement of a worker, before and after,
 * unless they are meant to come together.
 */
import type { Random } from "../simulation/random.ts";
import type { Point } from "../support/fault-plan.ts";
import { waitFor } from "../support/processes.ts";
import type { Match } from "../support/tcp-link.ts";
import type { Interception } from "../support/tcp-proxy.ts";
import type { Books } from "./books.ts";
import type { Crew, CrewMember, Place } from "./crew.ts";
import { dropsForEachKill, type Planned, type Trouble } from "./options.ts";
import { type Loss, pass, type StorePair } from "./store-pair.ts";
import { settings } from "./words.ts";

export interface NemesisParts {
  readonly planned: Planned;
  readonly random: Random;
  readonly crew: Crew;
  readonly store: StorePair;
  readonly books: Books;
  /** So much of the schedule is over, from 0 to 1. */
  readonly onProgress: (share: number) => void;
  /** The store may have forgotten what it acknowledged since then. */
  readonly onLoss: (since: number) => Promise<void>;
  /** Is everything that was acknowledged since then there, or known to have been? */
  readonly isKnown: (since: number) => Promise<boolean>;
}

const { leaseMs } = settings;
/** Between two of them. */
const gap = { leastMs: 150, mostMs: 650 } as const;
/** A slow machine is given more time: who has just begun to serve must come to do something. */
const bootsBetween = 0.4;
/** So long an armed worker is waited for to come to its point. */
const hitWithinMs = 2_500;
const apartMs = 2 * leaseMs;
/** So long after a loss nobody is ended, at most: what is not known by then is a violation. */
const knownWithinMs = 30_000;
/** Of the deaths, those for which nobody need be left. */
const nobodyLeftShare = 0.1;
const maxArmedDrops = 60;
/** Attempts, beside the schedule, at points that were never hit. */
const furtherCrashes = 40;
type Manned = Place & { readonly worker: CrewMember };

export class Nemesis {
  readonly #parts: NemesisParts;
  readonly #points: Point[];
  readonly #behind = new Set<Promise<void>>();
  readonly #drops: Interception[] = [];
  #droppedBefore = 0;
  /** A worker was last ended, paused or resumed then. */
  #endedAt = Number.NEGATIVE_INFINITY;
  /** Until then nobody is ended: whoever remembers what was forgotten must live to tell. */
  #spared: Promise<void> = Promise.resolve();
  kills = 0;

  constructor(parts: NemesisParts) {
    this.#parts = parts;
    this.#points = [...parts.planned.points];
  }

  /** Replies that were lost. */
  get dropped(): number {
    return this.#droppedBefore + this.#drops.reduce((sum, { hits }) => sum + hits, 0);
  }

  /** Points at which nobody has died who was to. */
  missed(): readonly Point[] {
    const deaths = this.#parts.books.hits().filter(({ signal }) => signal === "SIGKILL");
    const hit = new Set(deaths.map(({ point }) => point));
    return [...new Set(this.#parts.planned.points)].filter((point) => !hit.has(point));
  }

  async play(): Promise<void> {
    const { schedule } = this.#parts.planned;
    for (const [at, trouble] of schedule.entries()) {
      this.#parts.onProgress(at / (schedule.length + 1));
      await this.#make(trouble);
      const slowMs = this.#parts.crew.bootMs * bootsBetween;
      await pass(Math.max(slowMs, this.#parts.random.between(gap.leastMs, gap.mostMs)));
    }
    for (let n = 0; n < furtherCrashes && this.missed().length > 0; n += 1) {
      this.#points.unshift(this.#parts.random.pick(this.missed()));
      await this.#crash();
    }
    await Promise.all(this.#behind);
    await this.#spared;
    for (const drop of this.#drops) drop.release();
    for (const { proxy } of this.#parts.crew.places) proxy.heal();
  }

  #make(trouble: Trouble): Promise<void> {
    switch (trouble) {
      case "kill":
        return this.#kill();
      case "crash":
        return this.#crash();
      case "pause":
        return this.#pause();
      case "block":
        return this.#block();
      case "redis-kill":
        return this.#redisKill();
      case "power-loss":
        return this.#powerLoss();
      case "freeze":
        return this.#freeze();
      case "fail-over":
        return this.#failOver();
      case "client-kill":
        return this.#clientKill();
      case "cut":
      case "half-open":
      case "delay":
        return this.#weather(trouble);
      case "deploy":
        return this.#deploy();
      case "squeeze":
        return this.#squeeze();
    }
  }

  // ---- workers

  async #kill(): Promise<void> {
    await this.#killOne(await this.#anyone());
  }

  async #killOne({ worker }: Manned): Promise<void> {
    this.#armDrops();
    this.#parts.books.mishap("kill", { pid: worker.child.pid, owner: worker.owner });
    this.kills += 1;
    await worker.child.kill("SIGKILL");
    this.#endedAt = Date.now();
  }

  /** A worker dies where it was told to; one that does not come there in time is killed where it is. */
  async #crash(): Promise<void> {
    const { books, crew, random } = this.#parts;
    const place = await this.#anyone();
    const { worker } = place;
    const point = this.#points.shift() ?? "P09";
    this.#armDrops();
    crew.arm(worker, { point, nth: random.between(1, 2) });
    const died = await Promise.race([worker.child.exit.then(() => true), pass(hitWithinMs).then(() => false)]);
    if (!died) {
      this.#points.push(point);
      return await this.#killOne(place);
    }
    this.kills += 1;
    this.#endedAt = Date.now();
    books.mishap("crash", { pid: worker.child.pid, owner: worker.owner, note: point });
  }

  /** It stands still with its connections open, wherever it is or at a point, and goes on while others have taken over. */
  async #pause(): Promise<void> {
    const { books, crew, random } = this.#parts;
    const { worker } = await this.#anyone();
    const point = random.pick<Point>(["P05", "P06", "P09", "granted"]);
    const atPoint = random.chance(0.5);
    const hits = books.hitsOf(worker.hits).length;
    if (atPoint) {
      crew.arm(worker, { point, signal: "SIGSTOP" });
      const isHit = () => books.hitsOf(worker.hits).length > hits;
      await waitFor(isHit, { timeoutMs: 1_000, everyMs: 25 }).catch(() => undefined);
    }
    if (!worker.child.isRunning) return;
    worker.child.freeze();
    worker.isFrozen = true;
    const ms = Math.round(leaseMs * (0.5 + 3.5 * random.next()));
    books.mishap("pause", {
      pid: worker.child.pid,
      owner: worker.owner,
      note: `${ms} ms${atPoint ? ` at ${point}` : ""}`,
    });
    this.#inBackground(async () => {
      await pass(ms);
      crew.arm(worker, null);
      await crew.wake(worker);
      this.#endedAt = Date.now();
      books.mishap("continue", { pid: worker.child.pid, owner: worker.owner });
    });
  }

  async #block(): Promise<void> {
    const { books, crew, random } = this.#parts;
    const { worker } = await this.#anyone();
    const ms = Math.round(leaseMs * random.pick([0.5, 1.5]));
    books.mishap("block", { pid: worker.child.pid, owner: worker.owner, note: `${ms} ms` });
    crew.block(worker, ms);
  }

  /** The other version comes, one worker after the other. */
  async #deploy(): Promise<void> {
    const { books, crew } = this.#parts;
    await this.deploy(crew.version === 1 ? 2 : 1);
    books.mishap("deployed", { note: `version ${crew.version}` });
  }

  async deploy(version: 1 | 2): Promise<void> {
    const { books, crew } = this.#parts;
    await Promise.all(this.#behind);
    await this.#spared;
    crew.version = version;
    await crew.full();
    for (const place of crew.places.filter(({ worker }) => worker?.version !== version)) {
      await crew.full();
      books.mishap("retire", { pid: place.worker?.child.pid ?? 0 });
      await crew.retire(place);
      this.#endedAt = Date.now();
    }
    await crew.full();
  }

  // ---- the store

  async #redisKill(): Promise<void> {
    const { books, store, random } = this.#parts;
    const downMs = random.between(50, 1_500);
    books.mishap("redis killed", { note: `${downMs} ms` });
    await store.restart(downMs);
  }

  async #powerLoss(): Promise<void> {
    const { store, random, planned } = this.#parts;
    if (planned.fsync === "always") return this.#noteLoss("power loss", await store.losePower(random));
    await this.#forget("power loss", () => store.losePower(random));
  }

  async #failOver(): Promise<void> {
    const { store, random } = this.#parts;
    await this.#forget("fail-over", () => store.failOver(random));
  }

  async #freeze(): Promise<void> {
    const { books, store, random } = this.#parts;
    const ms = Math.round(leaseMs * (1.2 + random.next()));
    books.mishap("redis frozen", { note: `${ms} ms` });
    await store.freeze(ms);
  }

  async #clientKill(): Promise<void> {
    const { books, store } = this.#parts;
    books.mishap("clients killed");
    await store.primary.ask("CLIENT", "KILL", "TYPE", "normal");
  }

  async #squeeze(): Promise<void> {
    const { books, store } = this.#parts;
    const { primary } = store;
    const [, before = "0"] = (await primary.ask("CONFIG", "GET", "maxmemory")) as readonly string[];
    const used = Number(/^used_memory:(\d+)/m.exec(String(await primary.ask("INFO", "memory")))?.[1]);
    books.mishap("memory squeezed", { note: `${used} bytes used` });
    await primary.ask("CONFIG", "SET", "maxmemory", used + 50_000);
    await pass(1_000);
    await primary.ask("CONFIG", "SET", "maxmemory", before);
  }

  /** What was acknowledged is forgotten: by the store alone, or together with those who remember it. */
  async #forget(what: string, happen: () => Promise<Loss>): Promise<void> {
    const { crew, planned } = this.#parts;
    await Promise.all(this.#behind);
    await this.#spared;
    await crew.full();
    const restMs = this.#endedAt + apartMs - Date.now();
    if (!planned.together) await pass(restMs);
    else await Promise.all(crew.fit.slice(0, 2).map((place) => this.#killOne(place)));
    const loss = await happen();
    this.#noteLoss(what, loss);
    if (!planned.together) this.#spared = this.#untilKnown(loss);
    await this.#parts.onLoss(loss.from);
  }

  async #untilKnown({ from }: Loss): Promise<void> {
    const { books, isKnown } = this.#parts;
    await pass(apartMs);
    const known = { timeoutMs: knownWithinMs, everyMs: 500, what: "what was forgotten to be known" };
    await waitFor(() => isKnown(from), known).catch((error: unknown) =>
      books.mishap("not known", { note: String(error) }),
    );
  }

  #noteLoss(what: string, { from, until, bytes }: Loss): void {
    this.#parts.books.mishap(what, { lost: { from, until }, note: `${bytes} bytes` });
  }

  // ---- the network

  async #weather(what: "cut" | "half-open" | "delay"): Promise<void> {
    const { books, crew, random } = this.#parts;
    const { proxy } = random.pick(crew.places);
    books.mishap(what, { note: proxy.url });
    if (what === "cut") return proxy.cut();
    if (what === "half-open") proxy.halfOpen();
    else proxy.delay(random.between(20, 200));
    this.#inBackground(async () => {
      await pass(random.between(500, 3_000));
      proxy.heal();
    });
  }

  #armDrops(): void {
    const { crew, random } = this.#parts;
    for (let n = 0; n < dropsForEachKill; n += 1) {
      const { proxy } = random.pick(crew.places);
      const ending = random.chance(0.9) ? "cut" : "silence";
      this.#drops.push(proxy.dropReply(isScript, { nth: random.between(1, 40), ending }));
    }
    for (const old of this.#drops.splice(0, Math.max(0, this.#drops.length - maxArmedDrops))) {
      this.#droppedBefore += old.hits;
      old.release();
    }
  }

  /** One of those at work. Mostly somebody is left to take over: a slow machine must not leave nobody at work for long. */
  async #anyone(): Promise<Manned> {
    const { crew, random } = this.#parts;
    await this.#spared;
    const least = random.chance(nobodyLeftShare) ? 1 : 2;
    const found = () => crew.fit.length >= least && random.pick(crew.fit);
    return await waitFor(found, { what: "a worker", timeoutMs: 120_000 });
  }

  #inBackground(work: () => Promise<void>): void {
    const doing = work();
    this.#behind.add(doing);
    void doing.finally(() => this.#behind.delete(doing));
  }
}

const isScript: Match = ({ words }) => (words[0] ?? "").toUpperCase() === "EVALSHA";
