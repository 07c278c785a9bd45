/**
 * One round: a store, a world, workers, runs and people; first everything goes wrong, then nothing does and everything must come to
 * rest; then the books are compared.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectedClient } from "../../src/client/index.ts";
import type { LogEntry } from "../../src/core/index.ts";
import { systemClock, systemIds } from "../../src/engine/index.ts";
import { Random } from "../simulation/random.ts";
import { withOrders } from "../support/fault-child.ts";
import { faultConnections } from "../support/fault-connect.ts";
import { type Child, owned, spawnChild, waitFor } from "../support/processes.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { Books } from "./books.ts";
import { Crew } from "./crew.ts";
import { type Derived, derivedOf } from "./derived.ts";
import { forgottenCommits, judge, opened, type Verdict } from "./judge.ts";
import { jobsOf, Load } from "./load.ts";
import { Nemesis } from "./nemesis.ts";
import { type Asked, planned } from "./options.ts";
import { keptShare, Pace } from "./pace.ts";
import { People } from "./people.ts";
import { everything } from "./sagas.ts";
import { StorePair } from "./store-pair.ts";
import { namespace, settings, tenant, type WorldOrders, type WorldReply, type WorldRequest } from "./words.ts";

export interface Round extends Verdict {
  readonly asked: Asked;
  readonly kills: number;
  readonly dropped: number;
  readonly races: number;
  readonly mishaps: Readonly<Record<string, number>>;
  /** By trouble: what it took of the schedule. */
  readonly spentMs: Readonly<Record<string, number>>;
  /** What followed from what was asked. */
  readonly derived: Derived;
  readonly seconds: number;
  /** From the start to the first fault, under faults, until everything was at rest, and for the verdict. */
  readonly phaseSeconds: readonly number[];
  /** Where the books lie; `null`: they are gone. */
  readonly books: string | null;
}

const size = 3;
/** How often more of the load is let go. */
const feedMs = 200;
/** From when nothing goes wrong any more. */
const restWithinMs = 120_000;
const drainedWithinMs = 40_000;
/** Of the workers, those whose wall clock is wrong, and by how much. */
const skewed = { share: 0.15, ms: 600_000 } as const;
const worldFile = new URL("./world.child.ts", import.meta.url);

export interface RoundOptions {
  readonly tell?: (line: string) => void;
  /** Keeps the books also where nothing was found. */
  readonly keepsBooks?: boolean;
}

export async function playRound(
  asked: Asked,
  { tell = () => undefined, keepsBooks = false }: RoundOptions = {},
): Promise<Round> {
  const began = performance.now();
  const marks = [began];
  const mark = () => void marks.push(performance.now());
  const plan = planned(asked);
  const directory = await mkdtemp(join(tmpdir(), "reprise-chaos-"));
  const { own, release } = owned();
  let keeps = keepsBooks;
  try {
    const books = new Books(directory);
    const store = own(await StorePair.open(asked.fsync));
    const world = own(await World.open(books));
    const way = own(await startTcpProxy({ target: store.target }));
    const connections = own(
      faultConnections(way.url, namespace, settings.commandTimeoutMs, (line) => books.mishap("client", { note: line })),
    );
    const client = own(
      connectedClient(
        { ...connections, clock: systemClock, ids: systemIds() },
        { namespace, sagas: everything, maxPayloadBytes: settings.maxPayloadBytes, maxReplays: 10 },
      ),
    );
    const skews = new Random(asked.seed + 2);
    const nextSkewMs = () => (skews.chance(skewed.share) ? skews.pick([-skewed.ms, skewed.ms]) : 0);
    const allowForgetfulStore = asked.fsync === "everysec";
    const crew = own(await Crew.open({ books, store, world: world.url, allowForgetfulStore, nextSkewMs }, size));
    const jobs = jobsOf(asked.seed, asked.runs);
    const derived = derivedOf(plan, jobs);
    tell(JSON.stringify(derived));
    const load = own(
      new Load(
        {
          client,
          store: connections.store,
          books,
          script: (fault) => world.script(fault),
          version: () => crew.version,
        },
        jobs,
      ),
    );
    const effects = (operationId: string) => world.effectsOf(operationId);
    const people = own(new People({ client, store: connections.store, books, seed: asked.seed, effects }));
    await opened(connections.store);
    await load.begin();
    mark();
    people.begin();
    const pace = new Pace(plan);
    const nemesis = new Nemesis({
      planned: plan,
      random: new Random(asked.seed + 3),
      crew,
      store,
      books,
      isCrowded: () => load.isFull,
      isIdle: () => load.started === asked.runs && load.open.size === 0,
      onNext: (n) => pace.begin(n),
      onFurther: (share) => load.allow(Math.ceil((1 - keptShare * (1 - share)) * asked.runs)),
      onLoss: (since) => load.startAgain(since - 2 * settings.leaseMs),
      isKnown: async (since) => {
        const acked = books.acked(since - 2 * settings.leaseMs).filter(({ at }) => at >= since - 2 * settings.leaseMs);
        const logs = new Map<string, readonly LogEntry[]>();
        for (const { id } of acked) if (!logs.has(id)) logs.set(id, await connections.store.log({ tenant, id }));
        return forgottenCommits(acked, logs).length === 0;
      },
    });
    const feeding = setInterval(() => load.allow(Math.ceil(pace.share * asked.runs)), feedMs);
    const progress = setInterval(() => {
      tell(`${load.started} runs started, ${load.open.size} open, ${nemesis.kills} kills`);
    }, 10_000);
    await nemesis.play().finally(() => {
      for (const timer of [feeding, progress]) clearInterval(timer);
    });
    mark();
    load.allow(asked.runs);
    books.mishap("quiet");
    await nemesis.deploy(2);
    tell("quiet");
    const late = await rest(load, client, people);
    await drain(store);
    await people.close();
    mark();
    const verdict = await judge({
      asked,
      jobs,
      books,
      store,
      late,
      missed: nemesis.missed(),
      isLeft: (id) => people.isLeft(id),
    });
    const mishaps: Record<string, number> = {};
    for (const { what } of books.mishaps()) mishaps[what] = (mishaps[what] ?? 0) + 1;
    mark();
    const phaseSeconds = marks.slice(1).map((at, n) => secondsIn(at - (marks[n] ?? began)));
    const seconds = secondsIn(performance.now() - began);
    keeps ||= verdict.violations.length > 0 || verdict.voids.length > 0;
    const { kills, dropped, spentMs } = nemesis;
    const { races } = people;
    return {
      ...verdict,
      asked,
      kills,
      dropped,
      races,
      mishaps,
      spentMs,
      derived,
      seconds,
      phaseSeconds,
      books: keeps ? directory : null,
    };
  } finally {
    await release();
    if (!keeps) await rm(directory, { recursive: true, force: true });
  }
}

function secondsIn(ms: number): number {
  return Math.round(ms / 100) / 10;
}

/** Waits until every run has ended or is parked and left; those that have not are named. */
async function rest(
  load: Load,
  client: ReturnType<typeof connectedClient>,
  people: People,
): Promise<readonly string[]> {
  let late: readonly string[] = [];
  const isAtRest = async () => {
    const unrested = await load.unrested();
    late = unrested.map(({ id, status, waitingFor }) => `${id} is ${status} ${JSON.stringify(waitingFor)}`);
    if (late.length > 0 || load.open.size > 0) return false;
    const { items } = await client.inbox({ tenant, limit: 1_000 });
    late = items.filter(({ id }) => !people.isLeft(id)).map(({ id, reason }) => `${id} is parked (${reason})`);
    return late.length === 0;
  };
  try {
    await waitFor(isAtRest, { timeoutMs: restWithinMs, everyMs: 250, what: "all runs to come to rest" });
    return [];
  } catch (error) {
    return late.length > 0 ? late : [String(error)];
  }
}

/** A job that was taken by a process that died comes back by BullMQ's stalled check. */
async function drain({ primary }: StorePair): Promise<void> {
  const isEmpty = async () => {
    const keys = (await primary.ask("KEYS", `{reprise:${namespace}:w*}:pool-*:${tenant}~*`)) as readonly string[];
    return keys.length === 0;
  };
  await waitFor(isEmpty, { timeoutMs: drainedWithinMs, everyMs: 250 }).catch(() => undefined); // the judge says so
}

/** The world as its process, as the harness holds it. */
class World {
  readonly url: string;
  readonly #child: Child;
  #asks = 0;

  private constructor(child: Child, url: string) {
    this.#child = child;
    this.url = url;
  }

  static async open(books: Books): Promise<World> {
    const orders: WorldOrders = { file: books.file("world.jsonl") };
    const child = await spawnChild(worldFile, withOrders(orders));
    const isUp = (message: unknown): message is Extract<WorldReply, { url: string }> =>
      Object.hasOwn(message as object, "url");
    return new World(child, (await child.nextMessage(isUp, 60_000)).url);
  }

  script(fault: Extract<WorldRequest, { script: unknown }>["script"][number]): void {
    this.#child.send({ script: [fault] } satisfies WorldRequest as never);
  }

  async effectsOf(operationId: string): Promise<number> {
    this.#asks += 1;
    const asked = this.#asks;
    this.#child.send({ asks: asked, about: operationId } satisfies WorldRequest);
    const isAnswer = (message: unknown): message is Extract<WorldReply, { asked: number }> =>
      (message as { readonly asked?: unknown }).asked === asked;
    return (await this.#child.nextMessage(isAnswer)).effects;
  }

  stop(): Promise<void> {
    return this.#child.stop();
  }
}
