/** What the admin port of a supervisor answers: that it looks, and what it has seen. */
import { type Seen, workerStates } from "../core/index.ts";
import type { AdminAnswers } from "./admin.ts";
import { type Gauge, withGauges } from "./gauges.ts";

export interface SupervisorSide {
  readonly state: "starting" | "ready" | "stopped";
  readonly isStandby: boolean;
  readonly lookedMs: number | null;
  readonly triedMs: number | null;
  readonly recovery: { readonly waitingMs: number; readonly lastMs: number | null };
  readonly seen: Seen | null;
  readonly firing: readonly { readonly key: string; readonly severity: string }[];
}

/** What it has not seen for so long it does not know. */
const lateMs = 30_000;
/** A look that is not answered is given up long before. */
const hungAfterMs = 90_000;

export function supervisorAnswers(namespace: string, health: () => SupervisorSide): AdminAnswers {
  return {
    started: () => (health().state === "starting" ? "it has not looked yet" : null),
    // That the store is away is no reason to replace it: it is what it is there to tell.
    death: () => deathOf(health()),
    absence: async () => absenceOf(health()),
    metrics: async () => withGauges(null, gaugesOf(namespace, health())),
  };
}

function deathOf({ state, triedMs }: SupervisorSide): string | null {
  if (state === "stopped" || triedMs === null || triedMs < hungAfterMs) return null;
  return `its last look ended ${Math.round(triedMs / 1_000)} s ago, and no other one has`;
}

function absenceOf({ state, lookedMs }: SupervisorSide): string | null {
  if (state === "stopped") return "it has stopped";
  if (lookedMs === null) return "it has not looked yet";
  return lookedMs > lateMs ? `it has seen nothing for ${Math.round(lookedMs / 1_000)} s` : null;
}

function gaugesOf(namespace: string, side: SupervisorSide): readonly Gauge[] {
  const { seen, lookedMs, firing, isStandby, recovery } = side;
  const labels = { reprise_ns: namespace };
  const seconds = (ms: number | null) => [{ labels, value: ms === null ? null : ms / 1_000 }];
  const alerts = firing.map(({ key, severity }) => ({
    labels: { ...labels, alert: key.split(" ")[0] ?? key, severity, about: key },
    value: 1,
  }));
  return [
    {
      name: "reprise_supervisor_look_age_seconds",
      samples: seconds(lookedMs),
    },
    { name: "reprise_supervisor_tells", samples: [{ labels, value: isStandby ? 0 : 1 }] },
    { name: "reprise_recovery_waiting_seconds", samples: seconds(recovery.waitingMs) },
    { name: "reprise_recovery_last_seconds", samples: seconds(recovery.lastMs) },
    { name: "reprise_alert", samples: alerts },
    ...(seen === null ? [] : seenGauges(seen, labels)),
  ];
}

function seenGauges({ workers, unserved, servers }: Seen, labels: Readonly<Record<string, string>>): readonly Gauge[] {
  const memory = (of: (server: Seen["servers"][number]) => number) =>
    servers.map((server) => ({ labels: { ...labels, server: server.address }, value: of(server) }));
  return [
    {
      name: "reprise_workers",
      samples: workerStates.map((state) => ({
        labels: { ...labels, state },
        value: workers.filter((worker) => worker.state === state).length,
      })),
    },
    {
      name: "reprise_unserved_structures",
      samples: unserved.map((structure) => ({ labels: { ...labels, structure }, value: 1 })),
    },
    {
      name: "reprise_redis_memory_used_bytes",
      samples: memory(({ usedBytes }) => usedBytes),
    },
    {
      name: "reprise_redis_memory_max_bytes",
      samples: memory(({ maxBytes }) => maxBytes),
    },
  ];
}
