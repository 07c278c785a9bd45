/** What is put into queues and taken from them, and how busy that keeps this process: counted around the ports. */
import type { ConsumerFactory, WakeUps } from "../core/index.ts";
import type { Metrics } from "./metrics.ts";

export function countedWakeUps(metrics: Metrics, wakeUps: WakeUps): WakeUps {
  return {
    wake: async (nudges) => {
      await wakeUps.wake(nudges);
      metrics.count("reprise_nudges_total", { kind: "wake" }, nudges.length);
    },
    offer: async (jobs) => {
      await wakeUps.offer(jobs);
      metrics.count("reprise_nudges_total", { kind: "step" }, jobs.length);
    },
    pauseQueue: (queue) => wakeUps.pauseQueue(queue),
    resumeQueue: (queue) => wakeUps.resumeQueue(queue),
    isQueuePaused: (queue) => wakeUps.isQueuePaused(queue),
    close: () => wakeUps.close(),
  };
}

export function countedConsumers(metrics: Metrics, factory: ConsumerFactory): ConsumerFactory {
  return (wanted) => {
    const routed = wanted.queues.reduce((sum, { concurrency }) => sum + concurrency, 0);
    const slots = { wake: slotsOf(metrics, "wake", wanted.concurrency), step: slotsOf(metrics, "step", routed) };
    return factory({
      ...wanted,
      onWake: (run) => slots.wake(() => wanted.onWake(run)),
      onStep: (job) => slots.step(() => wanted.onStep(job)),
    });
  };
}

function slotsOf(metrics: Metrics, kind: "wake" | "step", total: number): (work: () => Promise<void>) => Promise<void> {
  let busy = 0;
  const tell = (change: number): void => {
    busy += change;
    metrics.set("reprise_slots_busy", { kind }, busy);
  };
  metrics.set("reprise_slots", { kind }, total);
  tell(0);
  return async (work) => {
    metrics.count("reprise_nudges_taken_total", { kind });
    tell(1);
    try {
      await work();
    } finally {
      tell(-1);
    }
  };
}
