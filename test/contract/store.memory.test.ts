import { withArtifacts } from "../../src/artifacts/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { MemoryArtifacts } from "../support/artifacts.ts";
import { storeContract } from "./store.suite.ts";
import { type Bench, epochMs, type OpenBench } from "./suite/harness.ts";

/** So small that hardly a value stays in the store. */
const thresholdBytes = 8;

const openMemory: OpenBench = async ({ shards, lanes }): Promise<Bench> => {
  let clockMs = 0;
  let pulses = 0;
  const alive = new Set<string>();
  const store = memoryStore({
    clock: { monotonicMs: () => clockMs },
    epochMs,
    shards,
    lanes,
    isAlive: (pulse) => alive.has(pulse),
  });
  await store.open();
  return {
    store,
    advance: async (ms) => {
      clockMs += ms;
    },
    turnBack: async (ms) => {
      clockMs -= ms;
    },
    pulses: {
      open: async () => {
        pulses += 1;
        alive.add(String(pulses));
        return { serverId: "memory", pulse: String(pulses) };
      },
      kill: async (pulse) => {
        alive.delete(pulse);
      },
    },
    lostByAnother: () => store.lostOwners(),
    close: () => store.close(),
  };
};

storeContract("memory", openMemory);
storeContract("memory, with artifacts", async (options) => {
  const bench = await openMemory(options);
  const artifacts = new MemoryArtifacts();
  return { ...bench, store: withArtifacts(bench.store, { artifacts, namespace: "contract", thresholdBytes }) };
});
