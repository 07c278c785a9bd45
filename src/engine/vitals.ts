/** How this process is: what it is called, and what can be measured of it. One of the engine's few doors to Node. */
import { hostname } from "node:os";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";

/** What a process says of itself in its heartbeats. */
export interface Vitals {
  readonly name: string;
  readonly host: string;
  readonly pid: number;
  /** Of the program as it was deployed; empty: not told. */
  readonly version: string;
  /** The longest that the event loop was held up since this was last asked, and the memory in use. */
  read(): { readonly lagMs: number; readonly rssBytes: number };
  stop(): void;
}

const resolutionMs = 20;

/** Measured from when it is first read. */
export function systemVitals({ name, version }: { readonly name: string | null; readonly version: string }): Vitals {
  const host = hostname();
  let delay: IntervalHistogram | null = null;
  return {
    name: name ?? `${host}-${process.pid}`,
    host,
    pid: process.pid,
    version,
    read: () => {
      const lagMs = delay === null || delay.count === 0 ? 0 : Math.max(0, Math.round(delay.max / 1e6) - resolutionMs);
      delay ??= monitorEventLoopDelay({ resolution: resolutionMs });
      delay.reset();
      delay.enable();
      return { lagMs, rssBytes: process.memoryUsage.rss() };
    },
    stop: () => void delay?.disable(),
  };
}
