/** The curve as a person reads it: a line for each point, and in a sentence what bounds it. */
import { cpus } from "node:os";
import type { Figures } from "./bench.ts";

/** Worker processes, and shards of the namespace. */
export interface Point {
  readonly workers: number;
  readonly shards: number;
}

/** Busy for more than this share of the time: there is no more of it to be had. */
const full = 0.9;

export function pointName({ workers, shards }: Point): string {
  return `w${workers}s${shards}`;
}

export function drawCurve(figures: Figures, points: readonly Point[]): string {
  const measured = points.filter((point) => figures[`${pointName(point)}ToOne`] !== undefined);
  const head = [
    "workers",
    "shards",
    "to one",
    "worker ms",
    "redis ms",
    "worker busy",
    "redis busy",
    "cores busy",
    "commands",
    "scripts",
    "bound by",
  ];
  const lines = measured.map((point) => rowOf(figures, point));
  const widths = head.map((text, at) => Math.max(...[head, ...lines].map((line) => (line[at] ?? text).length)));
  const drawn = [head, ...lines].map(
    (line) => `  ${line.map((text, at) => text.padStart(widths[at] ?? 0)).join("  ")}`,
  );
  return [...drawn, "", sentenceOf(figures)].join("\n");
}

function rowOf(figures: Figures, point: Point): readonly string[] {
  const of = (kind: string): number => figures[`${pointName(point)}${kind}`] ?? Number.NaN;
  const share = (kind: string): string => `${Math.round(100 * of(kind))} %`;
  return [
    `${point.workers}`,
    `${point.shards}`,
    of("ToOne").toFixed(2),
    of("WorkerCpuMs").toFixed(2),
    of("RedisCpuMs").toFixed(2),
    share("WorkerBusy"),
    share("RedisBusy"),
    `${share("LeastBusyCore")} to ${share("MostBusyCore")}`,
    of("Commands").toFixed(0),
    of("Scripts").toFixed(1),
    boundOf(of),
  ];
}

function boundOf(of: (kind: string) => number): string {
  if (of("LeastBusyCore") >= full) return "cores";
  if (of("RedisBusy") >= full) return "redis";
  return of("WorkerBusy") >= full ? "workers" : "waiting";
}

function sentenceOf(figures: Figures): string {
  const of = (name: string): string => Math.round(figures[name] ?? Number.NaN).toLocaleString("en-US");
  const ms = (name: string): string => (figures[name] ?? Number.NaN).toFixed(2);
  return [
    `  A saga takes ${ms("w1s1WorkerCpuMs")} ms of a worker's CPU and ${ms("w1s1RedisCpuMs")} ms of Redis', and there are ${cpus().length} cores for all of it.`,
    `  Where each worker has a core of its own, one makes at most ${of("workerBoundPerSecond")} sagas a second, and each further one as many, until the Redis of a`,
    `  server is full: 1/${ms("w1s1RedisCpuMs")} ms = ${of("redisBoundPerSecond")} sagas a second, with ${(figures["workersToFillRedis"] ?? Number.NaN).toFixed(1)} workers; shards on n servers make n times that.`,
  ].join("\n");
}
