/**
 * A measured process: does what it is told over IPC, one thing at a time, and answers with what it cost. It runs compiled,
 * without a loader: `node main.js <contestant>`.
 */
import type { Contestant } from "./contestant.ts";
import type { Cost, Order, Reply } from "./orders.ts";
import { start } from "./work.ts";

async function contestantNamed(name: string): Promise<Contestant> {
  switch (name) {
    case "chain":
      return (await import("../baselines/chain.ts")).chain;
    case "loop":
      return (await import("../baselines/loop.ts")).loop;
    case "reprise":
      return (await import("./reprise.ts")).reprise;
    case "simulated":
      return (await import("./simulated.ts")).simulated;
    case "machine":
      return (await import("../baselines/machine.ts")).machine;
    default:
      throw new Error(`no contestant is called ${name}`);
  }
}

type Stop = () => Promise<void>;
const nothing: Stop = async () => undefined;

/** What an order comes to: what it measured itself, and what is to be done when the measuring is over. */
interface Done {
  readonly times: readonly number[];
  readonly took?: readonly number[];
  readonly after: Stop;
}

async function measured(work: () => Promise<Done>): Promise<Cost> {
  globalThis.gc?.();
  start.reset();
  const cpu = process.cpuUsage();
  const began = performance.now();
  const { times, took = [], after } = await work();
  const ended = performance.now();
  const { user, system } = process.cpuUsage(start.isSeen ? start.cpu : cpu);
  const rssMb = process.memoryUsage.rss() / 2 ** 20;
  await after();
  return { ms: ended - (start.isSeen ? start.atMs : began), cpuMs: (user + system) / 1_000, rssMb, times, took };
}

let stop: Stop = nothing;

async function carryOut(contestant: Contestant, { what, place, load, hold }: Order): Promise<Done> {
  switch (what) {
    case "fill":
      await contestant.fill(place, load);
      return { times: [], after: nothing };
    case "drain":
      return { times: [], after: await contestant.drain(place, load) };
    case "alone":
      return { times: await contestant.alone(place, load), after: nothing };
    case "serve":
      stop = await contestant.serve(place, hold);
      return { times: [], after: nothing };
    case "rest":
      return { times: [], after: stop };
    case "pace": {
      const { askedAt = [], took = [] } = (await contestant.pace?.(place, load)) ?? {};
      return { times: askedAt, took, after: nothing };
    }
    case "lateness":
      return { times: (load.paced && contestant.lateness?.(load.paced)) ?? [], after: nothing };
  }
}

async function answer(contestant: Contestant, order: Order): Promise<void> {
  const reply: Reply = await measured(() => carryOut(contestant, order)).then(
    (cost) => ({ number: order.number, cost }),
    (error: unknown) => ({
      number: order.number,
      problem: error instanceof Error ? (error.stack ?? "") : String(error),
    }),
  );
  process.send?.(reply);
}

const contestant = await contestantNamed(process.argv[2] ?? "");
process.on("message", (order: Order) => void answer(contestant, order));
process.on("disconnect", () => process.exit());
process.send?.({ number: 0, problem: "" } satisfies Reply);
