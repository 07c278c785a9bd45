/**
 * A worker process: serves every saga of `sagas/` and calls the services of the world at WORLD_URL.
 *
 * What it is not told by `--redis --namespace --concurrency --allow-forgetful-store` it reads from the environment
 * (REDIS_URL, REPRISE_NAMESPACE, ...; `--world` from WORLD_URL; OTEL_EXPORTER_OTLP_ENDPOINT: where its spans go). Prints one JSON line when it serves. SIGTERM drains it:
 * calls that were made may end, what was not begun is handed back. A second signal ends it at once, which is safe: another
 * worker takes over.
 */
import { parseArgs } from "node:util";
import { createTelemetry, createWorker } from "reprise";
import { worldClient } from "reprise/testing";
import { sagas } from "../sagas/index.ts";

const text = { type: "string" } as const;
const { values } = parseArgs({
  options: {
    redis: text,
    namespace: text,
    world: text,
    concurrency: text,
    "allow-forgetful-store": { type: "boolean" },
  },
});

async function main(): Promise<void> {
  const counts = Boolean(process.env["REPRISE_ADMIN_PORT"]);
  const traces = Boolean(process.env["OTEL_EXPORTER_OTLP_ENDPOINT"]);
  const endTraces = traces ? (await import("./traces.ts")).sendTraces("reprise-worker") : async () => undefined;
  const worker = createWorker({
    redis: values.redis,
    namespace: values.namespace,
    sagas,
    services: worldClient(values.world ?? process.env["WORLD_URL"] ?? "http://127.0.0.1:4100"),
    concurrency: values.concurrency === undefined ? undefined : Number(values.concurrency),
    allowForgetfulStore: values["allow-forgetful-store"],
    // Counted where somebody can ask for it, traced where somebody takes it.
    ...(counts || traces ? { telemetry: telemetryOf(counts, traces) } : {}),
  });
  let isStopping = false;
  const stop = () => {
    if (isStopping) process.exit(1);
    isStopping = true;
    // An IPC channel that somebody listens on would keep the process.
    void worker
      .stop()
      .finally(endTraces)
      .finally(() => process.connected && process.disconnect());
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, stop);
  process.once("disconnect", () => void worker.stop()); // whoever started it with IPC is gone
  await worker.start();
  console.log(
    JSON.stringify({ event: "ready", pid: process.pid, owner: worker.id, sagas: sagas.map(({ name }) => name) }),
  );
}

function telemetryOf(counts: boolean, traces: boolean): ReturnType<typeof createTelemetry> {
  return createTelemetry({ ...(counts ? { metrics: true } : {}), ...(traces ? { traces: true } : {}) });
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(2);
});
