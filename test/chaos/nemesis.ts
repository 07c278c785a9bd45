/**
 * What goes wrong, one thing after the other in the order of the schedule, while runs are under way. What takes its time (a worker
 * that is to die at a point, a pause, a deploy) goes on behind what comes next.
 *
 * Invariant: what makes the store forget is two leases apart from every death, pause and retirement of a worker, before and after,
 * unless they are meant to come together. Several such losses share one window, in which nobody dies.
 */
import type { Random } from "../simulation/random.ts";
import type { Point } from "../support/fault-plan.ts";
import { waitFor } from "../support/processes.ts";
import type { Books } from "./books.ts";
import type { Crew, CrewMember, Place } from "./crew.ts";
import { Deal } from "./deal.ts";
import { Drops } from "./drops.ts";
import { forgets, lateable, type Planned, refusable, type Trouble } from "./options.ts";
import { clientKill, freeze, redisKill, squeeze, weather } from "./outages.ts";
import { type AtLoss, type Loss, pass, type StorePair } from "./store-pair.ts";
import { settings } from "./words.ts";

export interface NemesisParts {
  readonly planned: Planned;
  readonly random: Random;
  readonly crew: Crew;
  readonly store: StorePair;
  readonly books: Books;
  /** Are as many runs under way as may be? */
  readonly isCrowded: () => boolean;
  /** Has all of the load come to rest? Then nobody comes to any point. */
  readonly isIdle: () => boolean;
  /** The n-th of the schedule begins. */
  readonly onNext: (n: number) => void;
  /** So much of what is tried again after the schedule is over, from 0 to 1. */
  readonly onFurther: (share: number) => void;
  /** The store may have forgotten what it acknowledged since then. */
  readonly onLoss: (since: number) => Promise<void>;
  /** Is everything that was acknowledged since then there, or known to have been? */
  readonly isKnown: (since: number) => Promise<boolean>;
}

const { leaseMs } = settings;
/** Between two of them. */
const gap = { leastMs: 100, mostMs: 500 } as const;
/** A slow machine is given more time: who has just begun to serve must come to do something. */
const bootsBetween = 0.25;
/** So long it waits, at most, for runs that are under way to become fewer. */
const crowdedMs = 2_000;
/** So long an armed worker is waited for to come to its point; longer, where nobody has died there yet. */
const hitWithinMs = 2_500;
const firstHitWithinMs = 5_000;
const apartMs = 2 * leaseMs;
/** So long after a loss nobody is ended, at most: what is not known by then is a violation. */
const knownWithinMs = 30_000;
/** Of the deaths, those for which nobody need be left. */
const nobodyLeftShare = 0.1;
/** Attempts, beside the schedule, at points that were never hit. */
const furtherCrashes = 40;
const standableAt: readonly Point[] = ["P05", "P06", "P09", "granted"];
type Manned = Place & { readonly worker: CrewMember };

export class Nemesis {
  readonly #parts: NemesisParts;
  readonly #deal: Deal;
  readonly #drops: Drops;
  /** What must be over before nobody is hurt for a while. */
  readonly #behind = new Set<Promise<void>>();
  readonly #weather = new Set<Promise<void>>();
  readonly #hit = new Set<Point>();
  readonly #armed = new Set<Point>();
  #deploying: Promise<void> = Promise.resolve();
  /** A worker was last ended, paused or resumed then. */
  #endedAt = Number.NEGATIVE_INFINITY;
  /** Until then nobody is ended: whoever remembers what was forgotten must live to tell. */
  #spared: Promise<void> = Promise.resolve();
  kills = 0;
  /** By trouble: what it took of the time in which the schedule goes on, waiting for somebody to hurt included. */
  readonly spentMs: Record<string, number> = {};

  constructor(parts: NemesisParts) {
    this.#parts = parts;
    this.#deal = new Deal(parts.planned.points, parts.random);
    this.#drops = new Drops(parts.crew.places, parts.random);
  }

  /** Replies that were lost. */
  get dropped(): number {
    return this.#drops.count;
  }

  /** Points at which nobody has died who was to. */
  missed(): readonly Point[] {
    return this.#parts.planned.points.filter((point) => !this.#hit.has(point));
  }

  async play(): Promise<void> {
    const { planned, onNext, onFurther } = this.#parts;
    for (const [n, trouble] of planned.schedule.entries()) {
      onNext(n);
      const began = performance.now();
      await this.#make(trouble);
      this.spentMs[trouble] = Math.round((this.spentMs[trouble] ?? 0) + performance.now() - began);
      await this.#breathe();
    }
    await this.#over();
    for (let n = 0; n < furtherCrashes && this.missed().length > 0 && !this.#parts.isIdle(); n += 1) {
      onFurther((n + 1) / furtherCrashes);
      await this.#crash();
      await this.#breathe();
      if (this.missed().every((point) => this.#armed.has(point))) await this.#over();
    }
    await this.#over();
    this.#drops.release();
    for (const { proxy } of this.#parts.crew.places) proxy.heal();
  }

  async #breathe(): Promise<void> {
    const { crew, random } = this.#parts;
    await pass(Math.max(crew.bootMs * bootsBetween, random.between(gap.leastMs, gap.mostMs)));
    // A slow machine takes longer: kills that leave the runs no time prove little.
    await waitFor(() => !this.#parts.isCrowded(), { timeoutMs: crowdedMs, everyMs: 100 }).catch(() => undefined);
  }

  async #over(): Promise<void> {
    await Promise.all([...this.#behind, ...this.#weather, this.#spared]);
  }

  #make(trouble: Trouble): Promise<void> {
    const parts = this.#parts;
    switch (trouble) {
      case "kill":
        return this.#kill();
      case "crash":
        return this.#crash();
      case "throw":
      case "late":
        return this.#hinder(trouble);
      case "pause":
        return this.#pause();
      case "block":
        return this.#block();
      case "redis-kill":
        return redisKill(parts);
      case "power-loss":
        return this.#lose(trouble, (atLoss) => parts.store.losePower(parts.random, atLoss));
      case "fail-over":
        return this.#lose(trouble, (atLoss) => parts.store.failOver(parts.random, atLoss));
      case "freeze":
        return freeze(parts);
      case "client-kill":
        return clientKill(parts);
      case "cut":
      case "half-open":
      case "delay":
        return this.#makeWeather(trouble);
      case "deploy":
        return this.#startDeploy();
      case "squeeze":
        return squeeze(parts);
    }
  }

  // ---- workers

  async #kill(): Promise<void> {
    await this.#killOne(await this.#anyone());
  }

  async #killOne({ worker }: Manned): Promise<void> {
    this.#drops.arm();
    this.#parts.books.mishap("kill", { pid: worker.child.pid, owner: worker.owner });
    this.kills += 1;
    await worker.child.kill("SIGKILL");
    this.#endedAt = Date.now();
  }

  /** A worker is told to die at a point; if it does not come there in time, it is killed where it is. */
  async #crash(): Promise<void> {
    const { crew, random } = this.#parts;
    const place = await this.#anyone();
    const point = this.#deal.next(this.#hit, this.#armed);
    if (point === null) return await this.#killOne(place);
    const isFirst = !this.#hit.has(point);
    this.#drops.arm();
    place.worker.isTaken = true;
    this.#armed.add(point);
    crew.arm(place.worker, { point, nth: isFirst ? 1 : random.between(1, 2) });
    this.#goOn(this.#behind, async () => {
      await this.#diesAt(place, point, isFirst ? firstHitWithinMs : hitWithinMs);
      this.#armed.delete(point);
    });
  }

  async #diesAt(place: Manned, point: Point, withinMs: number): Promise<void> {
    const { books } = this.#parts;
    const { child, owner, hits } = place.worker;
    await Promise.race([child.exit, pass(withinMs)]);
    if (child.isRunning) return await this.#killOne(place);
    this.kills += 1;
    this.#endedAt = Date.now();
    if (books.hitsOf(hits).some(({ signal }) => signal === "SIGKILL")) this.#hit.add(point);
    books.mishap("crash", { pid: child.pid, owner, note: point });
  }

  /** What a worker asks at a point is refused, or takes up to a lease and a half. */
  async #hinder(what: "throw" | "late"): Promise<void> {
    const { books, crew, random } = this.#parts;
    const free = crew.fit.filter(({ worker }) => !worker.isTaken);
    if (free.length === 0) return;
    const { worker } = random.pick(free);
    const point = random.pick(what === "throw" ? refusable : lateable);
    const lateMs = Math.round(leaseMs * (0.1 + 1.4 * random.next()));
    crew.arm(worker, { point, ...(what === "throw" ? { throws: true } : { lateMs }) });
    books.mishap(what, { pid: worker.child.pid, owner: worker.owner, note: point });
  }

  /** It stands still with its connections open, wherever it is or at a point, and goes on while others have taken over. */
  async #pause(): Promise<void> {
    const { random } = this.#parts;
    const { worker } = await this.#anyone();
    const point = random.chance(0.5) ? random.pick(standableAt) : null;
    const ms = Math.round(leaseMs * (0.5 + 3.5 * random.next()));
    worker.isTaken = true;
    this.#goOn(this.#behind, () => this.#standStill(worker, point, ms));
  }

  async #standStill(worker: CrewMember, point: Point | null, ms: number): Promise<void> {
    const { books, crew } = this.#parts;
    const { child, owner } = worker;
    if (point !== null) {
      const hits = books.hitsOf(worker.hits).length;
      crew.arm(worker, { point, signal: "SIGSTOP" });
      const isHit = () => books.hitsOf(worker.hits).length > hits;
      await waitFor(isHit, { timeoutMs: 1_000, everyMs: 50 }).catch(() => undefined);
    }
    if (!child.isRunning) return;
    child.freeze();
    worker.isFrozen = true;
    books.mishap("pause", { pid: child.pid, owner, note: `${ms} ms${point === null ? "" : ` at ${point}`}` });
    await pass(ms);
    crew.arm(worker, null);
    await crew.wake(worker);
    worker.isTaken = false;
    this.#endedAt = Date.now();
    books.mishap("continue", { pid: child.pid, owner });
  }

  async #block(): Promise<void> {
    const { books, crew, random } = this.#parts;
    const { worker } = await this.#anyone();
    const ms = Math.round(leaseMs * random.pick([0.5, 1.5]));
    books.mishap("block", { pid: worker.child.pid, owner: worker.owner, note: `${ms} ms` });
    crew.block(worker, ms);
  }

  /** The other version comes, one worker after the other, while workers go on dying. */
  async #startDeploy(): Promise<void> {
    const { books, crew } = this.#parts;
    await this.#deploying;
    this.#goOn(this.#behind, async () => {
      this.#deploying = this.deploy(crew.version === 1 ? 2 : 1);
      await this.#deploying;
      books.mishap("deployed", { note: `version ${crew.version}` });
    });
  }

  async deploy(version: 1 | 2): Promise<void> {
    const { books, crew } = this.#parts;
    crew.version = version;
    const isOld = ({ worker }: Manned) => worker.version !== version && !worker.isTaken;
    for (;;) {
      await this.#spared;
      const isDone = () => crew.fit.length === crew.places.length && !crew.fit.some(isOld);
      const found = () => (isDone() ? "done" : crew.fit.length > 1 && crew.fit.find(isOld));
      const next = await waitFor(found, { what: `every worker to serve version ${version}`, timeoutMs: 240_000 });
      if (next === "done") return;
      next.worker.isTaken = true;
      books.mishap("retire", { pid: next.worker.child.pid });
      await crew.retire(next);
      this.#endedAt = Date.now();
    }
  }

  // ---- the store

  /** Its power, or its primary; what was acknowledged is forgotten by the store alone, or together with those who remember it. */
  async #lose(trouble: "power-loss" | "fail-over", happen: (atLoss: AtLoss) => Promise<Loss>): Promise<void> {
    const { crew, planned, books, onLoss } = this.#parts;
    const what = trouble === "power-loss" ? "power loss" : trouble;
    const isForgotten = forgets(trouble, planned);
    if (isForgotten) {
      await Promise.all(this.#behind);
      await crew.full();
      if (!planned.together) await pass(this.#endedAt + apartMs - Date.now());
    }
    const goDown = async () => void (await Promise.all(crew.fit.map((place) => this.#killOne(place))));
    const loss = await happen(isForgotten && planned.together ? goDown : () => Promise.resolve());
    const { from, until, bytes } = loss;
    books.mishap(what, { lost: { from, until }, note: `${bytes} bytes` });
    if (!isForgotten) return;
    if (!planned.together) this.#spared = Promise.all([this.#spared, this.#untilKnown(loss)]).then(() => undefined);
    await onLoss(from);
  }

  async #untilKnown({ from }: Loss): Promise<void> {
    const { books, isKnown } = this.#parts;
    await pass(apartMs);
    const known = { timeoutMs: knownWithinMs, everyMs: 500, what: "what was forgotten to be known" };
    await waitFor(() => isKnown(from), known).catch((error: unknown) =>
      books.mishap("not known", { note: String(error) }),
    );
  }

  async #makeWeather(what: "cut" | "half-open" | "delay"): Promise<void> {
    const { crew, random } = this.#parts;
    const healing = weather(what, random.pick(crew.places), this.#parts);
    if (healing !== null) this.#goOn(this.#weather, healing);
  }

  /** One of those at work. Mostly somebody is left to take over: a slow machine must not leave nobody at work for long. */
  async #anyone(): Promise<Manned> {
    const { crew, random } = this.#parts;
    await this.#spared;
    const least = random.chance(nobodyLeftShare) ? 1 : 2;
    const found = () => {
      const free = crew.fit.filter(({ worker }) => !worker.isTaken);
      return crew.fit.length >= least && free.length > 0 && random.pick(free);
    };
    return await waitFor(found, { what: "a worker", timeoutMs: 120_000 });
  }

  #goOn(behind: Set<Promise<void>>, work: () => Promise<void>): void {
    const doing = work();
    behind.add(doing);
    void doing.finally(() => behind.delete(doing)).catch(() => undefined);
  }
}
