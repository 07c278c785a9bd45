/**
 * Throughput against worker processes and shards, as ratios to one worker and one shard in the same round, and what bounds each
 * point. Measured while all workers are at it: from the first tenth of the sagas that have ended to nearly the last, so that neither
 * the start of a worker nor the last runs of a queue count. Every worker process has worked before; shards are all on one Redis.
 */
import { cpus } from "node:os";
import type { Bench, Figures } from "./bench.ts";
import { drawCurve, type Point, pointName } from "./curve-table.ts";
import type { Lab, Server } from "./lab.ts";
import { concurrency } from "./rounds.ts";
import { type Size, sizes } from "./sizes.ts";
import { median } from "./stats.ts";
import { steady, until } from "./steady.ts";
import type { Subject } from "./subject.ts";
import type { Place } from "./subjects/contestant.ts";

/** How things stand at one moment; CPU in ms, `cores`: of each. */
interface Moment {
  readonly atMs: number;
  readonly ended: number;
  readonly workersMs: number;
  readonly redisMs: number;
  readonly commands: number;
  readonly scripts: number;
  readonly cores: readonly { readonly busyMs: number; readonly allMs: number }[];
}

interface Scene {
  readonly server: Server;
  readonly client: Subject;
  readonly workers: readonly Subject[];
}

async function measure(lab: Lab, size: Size): Promise<Figures> {
  const workers: Subject[] = [];
  while (workers.length < Math.max(...size.curveWorkers)) workers.push(await lab.warmed("reprise"));
  const scene: Scene = { server: await lab.server(), client: await lab.warm("reprise"), workers };
  const points = pointsOf(size);
  const rounds = points.map((): Figures[] => []);
  for (let number = 0; number < size.rounds; number += 1) {
    for (let turn = 0; turn < points.length; turn += 1) {
      const at = (turn + number) % points.length;
      rounds[at]?.push(await measuredAt(scene, points[at] as Point, size.curveSagas));
    }
  }
  return figuresOf(points, rounds);
}

function pointsOf({ curveWorkers, curveShards }: Size): readonly Point[] {
  return curveShards.flatMap((shards) => curveWorkers.map((workers) => ({ workers, shards })));
}

async function measuredAt({ server, client, workers }: Scene, point: Point, count: number): Promise<Figures> {
  await server.empty();
  const place: Place = { url: server.url, namespace: "bench-curve", concurrency, shards: point.shards };
  const own = workers.slice(0, point.workers);
  const before = own.map(({ progress }) => progress.ended);
  const ended = () => own.reduce((sum, { progress }, at) => sum + progress.ended - (before[at] ?? 0), 0);
  const look = async (share: number) => {
    await until(() => ended() >= share * count);
    return await momentOf(server, own, ended());
  };
  await client.order("fill", place, { saga: "order", count, from: 0 });
  const idle = await look(0);
  await Promise.all(own.map((worker) => worker.order("serve", place)));
  const first = await look(steady.from);
  const last = await look(steady.to);
  await until(() => ended() === count);
  await Promise.all(own.map((worker) => worker.order("rest", place)));
  // So few that nobody saw them end one by one: from before they began.
  return between(last.ended > first.ended ? first : idle, last, point);
}

async function momentOf(server: Server, workers: readonly Subject[], ended: number): Promise<Moment> {
  const cores = cpus().map(({ times }) => {
    const busyMs = times.user + times.nice + times.sys + times.irq;
    return { busyMs, allMs: busyMs + times.idle };
  });
  const workersMs = workers.reduce((sum, { progress }) => sum + progress.cpuMs, 0);
  const atMs = performance.now();
  const [redisMs, { all, scripts }] = [await server.cpuMs(), await server.commands()];
  return { atMs, ended, workersMs, redisMs, commands: all, scripts, cores };
}

function between(from: Moment, to: Moment, { workers }: Point): Figures {
  const [ms, sagas] = [to.atMs - from.atMs, to.ended - from.ended];
  const [workersMs, redisMs] = [to.workersMs - from.workersMs, to.redisMs - from.redisMs];
  const cores = to.cores.map(({ busyMs, allMs }, at) => {
    const { busyMs: busyBefore = 0, allMs: allBefore = 0 } = from.cores[at] ?? {};
    return (busyMs - busyBefore) / Math.max(1, allMs - allBefore);
  });
  return {
    SagasPerSecond: (1_000 * sagas) / ms,
    WorkerCpuMs: workersMs / sagas,
    RedisCpuMs: redisMs / sagas,
    WorkerBusy: workersMs / ms / workers,
    RedisBusy: redisMs / ms,
    LeastBusyCore: Math.min(...cores),
    MostBusyCore: Math.max(...cores),
    Commands: (to.commands - from.commands) / sagas,
    Scripts: (to.scripts - from.scripts) / sagas,
  };
}

const kinds = [
  "WorkerCpuMs",
  "RedisCpuMs",
  "WorkerBusy",
  "RedisBusy",
  "LeastBusyCore",
  "MostBusyCore",
  "Commands",
  "Scripts",
];

/** Medians of the rounds; ratios are made within a round. */
function figuresOf(points: readonly Point[], rounds: readonly (readonly Figures[])[]): Figures {
  const [one = []] = rounds;
  const figureIn = (round: Figures | undefined, kind: string): number => round?.[kind] ?? Number.NaN;
  const figures: Record<string, number> = {
    curveSagasPerSecond: median(one.map((round) => figureIn(round, "SagasPerSecond"))),
  };
  for (const [at, point] of points.entries()) {
    const own = rounds[at] ?? [];
    const name = pointName(point);
    const ratios = own.map((round, n) => figureIn(round, "SagasPerSecond") / figureIn(one[n], "SagasPerSecond"));
    figures[`${name}ToOne`] = median(ratios);
    for (const kind of kinds) figures[`${name}${kind}`] = median(own.map((round) => figureIn(round, kind)));
  }
  // What nothing else bounds: measured where worker and Redis have a core each.
  figures["workerBoundPerSecond"] = 1_000 / (figures["w1s1WorkerCpuMs"] ?? Number.NaN);
  figures["redisBoundPerSecond"] = 1_000 / (figures["w1s1RedisCpuMs"] ?? Number.NaN);
  figures["workersToFillRedis"] = figures["redisBoundPerSecond"] / figures["workerBoundPerSecond"];
  return figures;
}

export const curve: Bench = {
  name: "curve",
  // The rest is named after points, and drawn.
  goals: { curveSagasPerSecond: null, workerBoundPerSecond: null, redisBoundPerSecond: null, workersToFillRedis: null },
  measure,
  draw: (figures) => drawCurve(figures, pointsOf(sizes.full)),
};
