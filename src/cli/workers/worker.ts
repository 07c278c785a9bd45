/**
 * `reprise worker`: a worker process for the sagas of a project. It ends when it was asked to: by SIGTERM, or from afar
 * (`reprise workers drain`), or, where that is wished, by the end of its stdin. A second signal ends it at once, which is safe: another worker takes over.
 */
import type { CreateWorkerOptions, createWorker } from "../../orchestrator/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { servicesOf } from "../base/place.ts";
import { wholeOf } from "../base/values.ts";
import { exitCodes, UsageError } from "../exit.ts";

interface Flags {
  readonly pools?: string;
  readonly queues?: string;
  readonly concurrency?: string;
  readonly name?: string;
  readonly allowForgetfulStore?: true;
  readonly adminPort?: string;
  readonly untilStdinEnds?: true;
}

/** What the manifests in `deploy/` ask. */
export const usualAdminPort = 9_464;

export const workerCommand = command<[], Flags>({
  name: "worker",
  summary: "Drive runs until SIGTERM, then finish what is under way and exit 0",
  details: `Sagas and services come from reprise.config. Replicas need no coordination: start as many as there is work for. The admin
port answers /livez, /readyz, /startupz and /metrics; several workers on one machine need --admin-port 0, which is a
free one.`,
  options: [
    ["--pools <names>", "pools whose runs it drives: a,b (REPRISE_POOLS, or default)"],
    ["--queues <list>", "step queues it serves: gpu=4,mail=20:100/1s (REPRISE_QUEUES, or none)"],
    ["--concurrency <n>", "runs driven at once (REPRISE_CONCURRENCY, or 50)"],
    ["--name <name>", "what it is called in lists (REPRISE_WORKER_NAME, or host and process)"],
    ["--allow-forgetful-store", "run `once` steps on a Redis that may forget a second of them"],
    ["--admin-port <port>", `where probes ask (REPRISE_ADMIN_PORT, or ${usualAdminPort})`],
    ["--until-stdin-ends", "as SIGTERM when stdin is closed: by whoever started it, or by its death"],
  ],
  examples: [
    "reprise worker",
    "reprise worker --pools default,slow --concurrency 20 --name eu-1",
    "reprise worker --queues mail=5:100/1s --admin-port 0",
  ],
  kinds: ["WorkerReady"],
  changes: { noDryRun: "it serves until it is ended", noReason: "it serves until it is ended" },
  run: async (cli, flags) => {
    const { createWorker } = await import("../../orchestrator/index.ts");
    const worker = await started(cli, flags, createWorker);
    let isStopping = false;
    const stop = (): void => {
      if (isStopping) return;
      isStopping = true;
      cli.out.note("Draining: no new runs are taken, calls that were made may end. Again: end at once.");
      void worker.stop();
    };
    if (cli.signal.aborted) stop();
    else cli.signal.addEventListener("abort", stop, { once: true });
    if (flags.untilStdinEnds) cli.io.stdin.once("end", stop).once("close", stop).resume();
    const asked = await worker.ended;
    // What nobody reads any more does not hold up the end.
    if (flags.untilStdinEnds) cli.io.stdin.pause();
    if (asked !== null) cli.out.note(`Drained: ${asked.by} asked for it (${asked.reason}).`);
    return exitCodes.ok;
  },
});

type Worker = ReturnType<typeof createWorker>;

async function started(cli: Cli, flags: Flags, make: typeof createWorker): Promise<Worker> {
  const { tenant: _tenant, file, services: _services, alerts: _alerts, ...place } = await cli.place();
  if (place.sagas.length === 0) throw new UsageError(noSagas(file));
  const services = await servicesOf(await cli.place());
  const port = portOf(flags, cli);
  const options = { ...place, ...(await optionsOf(flags)), services };
  let url: string | null = null;
  const onOpen = (address: { readonly url: string }): void => {
    url = address.url;
  };
  const worker = make({ ...options, admin: { onOpen, ...(port === undefined ? {} : { port }) } });
  try {
    await worker.start();
  } catch (error) {
    await worker.stop();
    throw error;
  }
  const sagas = place.sagas.map(({ name, version }) => `${name}@${version}`);
  const data = { id: worker.id, pid: process.pid, sagas, admin: url };
  cli.out.document("WorkerReady", data, {
    id: worker.id,
    lines: () => [`Worker ${worker.id} serves ${sagas.join(", ")}${url === null ? "" : `; probes: ${url}`}`],
  });
  return worker;
}

async function optionsOf({
  pools,
  queues,
  concurrency,
  name,
  allowForgetfulStore,
}: Flags): Promise<Partial<CreateWorkerOptions>> {
  const { queuesIn } = await import("../../config.ts");
  return {
    name,
    allowForgetfulStore,
    pools: pools === undefined ? undefined : poolsIn(pools),
    ...(queues === undefined ? {} : { queues: queuesIn(queues) }),
    concurrency: concurrency === undefined ? undefined : wholeOf(concurrency, "--concurrency", 1, 10_000),
  };
}

/** A worker of no pool would drive nothing. */
function poolsIn(text: string): readonly string[] {
  const pools = text.split(",").filter((pool) => pool !== "");
  if (pools.length > 0) return pools;
  throw new UsageError(`--pools ${JSON.stringify(text)} names none: write a,b`);
}

/** The flag, else the environment (`undefined`), else the usual one. */
function portOf({ adminPort }: Flags, { io }: Cli): number | undefined {
  if (adminPort !== undefined) return wholeOf(adminPort, "--admin-port", 0, 65_535);
  return io.env["REPRISE_ADMIN_PORT"] ? undefined : usualAdminPort;
}

function noSagas(file: string | null): string {
  return file === null
    ? 'there is no saga to serve: name some in reprise.config.ts (export default defineConfig({ sagas: ["./sagas/index.ts"] }))'
    : `${file} names no saga to serve`;
}
