/** A worker process of a round of chaos. It serves until SIGTERM, or dies (or stands still) at the point that it is told. */
import { appendFileSync } from "node:fs";
import type { Store } from "../../src/core/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { Gate } from "../support/fault-plan.ts";
import { gatedConsumers, gatedServices, gatedStore, gatedWakeUps, over } from "../support/fault-ports.ts";
import { faultServices } from "../support/fault-services.ts";
import { faultWorker } from "../support/fault-worker.ts";
import { beforeDeploy, everything } from "./sagas.ts";
import {
  type Acked,
  namespace,
  settings,
  type TakenOver,
  type WorkerOrders,
  type WorkerReady,
  type WorkerRequest,
} from "./words.ts";

const orders = readOrders<WorkerOrders>();
skewClock(orders.skewMs);
const gate = new Gate({ plan: null, hits: orders.hits });

const worker = faultWorker({
  redis: orders.redis,
  namespace,
  sagas: orders.version === 1 ? beforeDeploy : everything,
  services: gatedServices(faultServices(orders.world), gate),
  concurrency: 20,
  settings,
  allowForgetfulStore: orders.allowForgetfulStore,
  faults: ({ store, wakeUps, consumers }) => ({
    store: gatedStore(noted(store), gate),
    wakeUps: gatedWakeUps(wakeUps, gate),
    consumers: gatedConsumers(consumers, gate),
  }),
});

/** Every commit that was acknowledged is written down before anybody acts on it, and every run that was taken over. */
function noted(store: Store): Store {
  return over(store, {
    acquire: async (command) => {
      const answer = await store.acquire(command);
      if (answer.answer !== "OK" || answer.takenFrom === null) return answer;
      const line: TakenOver = { id: command.run.id, from: answer.takenFrom.owner, at: answer.now };
      appendFileSync(orders.taken, `${JSON.stringify(line)}\n`);
      return answer;
    },
    commit: async (command) => {
      const answer = await store.commit(command);
      if (answer.answer !== "OK" && answer.answer !== "DUP") return answer;
      const { record, log } = command.commit;
      const { id, revision, logDigest: digest } = record;
      const sends = log.taken.filter(isGrant).length;
      const line: Acked = { id, revision, digest, at: log.at, owner: command.lease.owner, sends };
      appendFileSync(orders.acked, `${JSON.stringify(line)}\n`);
      return answer;
    },
  });
}

function isGrant(taken: { readonly what: string; readonly state?: unknown }): boolean {
  return taken.what === "sent" || (taken.what === "undo" && taken.state === "sent");
}

/** The wall clock of this process goes wrong; the monotonic one does not. */
function skewClock(skewMs: number): void {
  if (skewMs === 0) return;
  const Real = Date;
  class Skewed extends Real {
    constructor(...given: [] | [number | string | Date]) {
      super(...((given.length === 0 ? [Real.now() + skewMs] : given) as [number]));
    }
    static override now(): number {
      return Real.now() + skewMs;
    }
  }
  globalThis.Date = Skewed as DateConstructor; // it is called with `new` alone
}

function blockFor(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

listen(async (request: WorkerRequest) => {
  if ("arm" in request) gate.arm(request.arm);
  else blockFor(request.blockMs);
});
process.once("SIGTERM", () => void worker.stop().finally(() => process.exit(0)));
await worker.start().catch((error: unknown) => {
  console.error(String(error));
  process.exit(3); // the store cannot be reached: another one is started
});
say<WorkerReady & Record<string, string>>({ ready: worker.id });
