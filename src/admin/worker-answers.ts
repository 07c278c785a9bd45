/** What the admin port of a worker answers. Decides nothing: core says what a worker's health means. */
import { absenceOf, deathOf, type WorkerHealth } from "../core/index.ts";
import type { AdminAnswers, MetricsPage } from "./admin.ts";
import { type Gauge, withGauges } from "./gauges.ts";

export interface WorkerSide {
  readonly namespace: string;
  health(): WorkerHealth;
  /** Asks the store for its time. Rejects where it is not to be had. */
  ping(): Promise<unknown>;
  /** The page of this process's registry; `null`: it has none. */
  readonly metrics: (() => Promise<MetricsPage>) | null;
}

export function workerAnswers({ namespace, health, ping, metrics }: WorkerSide): AdminAnswers {
  return {
    started: () => (health().state === "starting" ? absenceOf(health()) : null),
    death: () => deathOf(health()),
    absence: async () => {
      const absence = absenceOf(health());
      if (absence === null) await ping();
      return absence;
    },
    metrics: async () => withGauges(metrics === null ? null : await metrics(), gaugesOf(namespace, health())),
  };
}

const states = ["starting", "ready", "draining", "stopped"] as const satisfies readonly WorkerHealth["state"][];

function gaugesOf(namespace: string, health: WorkerHealth): readonly Gauge[] {
  const labels = { reprise_ns: namespace };
  const seconds = (ms: number | null) => (ms === null ? null : ms / 1_000);
  return [
    {
      name: "reprise_worker_state",
      samples: states.map((state) => ({ labels: { ...labels, state }, value: state === health.state ? 1 : 0 })),
    },
    {
      name: "reprise_canary_age_seconds",
      samples: [{ labels, value: seconds(health.stuckMs) }],
    },
    {
      name: "reprise_worker_lag_seconds",
      samples: [{ labels, value: seconds(health.lagMs) }],
    },
    {
      name: "reprise_supervisor_age_seconds",
      samples: [{ labels, value: seconds(health.supervisedMs) }],
    },
  ];
}
