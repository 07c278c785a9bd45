/** What the admin port says beside the telemetry of its process. `docs/metrics.md` is made of it; all are gauges, by `reprise_ns` too. */
export interface AdminMetric {
  readonly of: "worker" | "supervisor";
  readonly labels: readonly string[];
  readonly help: string;
}

const worker = (help: string, ...labels: readonly string[]): AdminMetric => ({ of: "worker", labels, help });
const supervisor = (help: string, ...labels: readonly string[]): AdminMetric => ({ of: "supervisor", labels, help });

export const adminCatalogue = {
  reprise_worker_state: worker("1 for the state this worker is in.", "state"),
  reprise_canary_age_seconds: worker(
    "Seconds since the most silent queue of this worker was last read, though Redis answers; 90 are borne.",
  ),
  reprise_worker_lag_seconds: worker("The longest that the event loop was held up in the last five seconds."),
  reprise_supervisor_age_seconds: worker(
    "Seconds since a supervisor was last heard of; none within ten minutes: no sample.",
  ),
  reprise_supervisor_look_age_seconds: supervisor("Seconds since the supervisor last saw the store."),
  reprise_supervisor_tells: supervisor("1 where it tells alerts, 0 where another supervisor does."),
  reprise_alert: supervisor("1 for each alert that was told and still holds.", "alert", "severity", "about"),
  reprise_workers: supervisor("Workers by state, as the supervisor sees them.", "state"),
  reprise_unserved_structures: supervisor(
    "1 for each structure with open runs that no living worker drives.",
    "structure",
  ),
  reprise_recovery_waiting_seconds: supervisor("Seconds that leases of a dead worker wait to be ended; 0: none do."),
  reprise_recovery_last_seconds: supervisor("How long the last of them waited, to the supervisor's looks (5 s)."),
  reprise_redis_memory_used_bytes: supervisor("Memory in use by Redis.", "server"),
  reprise_redis_memory_max_bytes: supervisor("maxmemory of Redis; 0: no limit.", "server"),
} as const satisfies Readonly<Record<string, AdminMetric>>;

export type AdminMetricName = keyof typeof adminCatalogue;

/** The second table of `docs/metrics.md`. */
export function adminTable(): string {
  const rows = Object.entries<AdminMetric>(adminCatalogue).map(([name, { of, labels, help }]) => {
    return `| \`${name}\` | ${of} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`;
  });
  return ["| gauge | said by | labels | meaning |", "|---|---|---|---|", ...rows].join("\n");
}
