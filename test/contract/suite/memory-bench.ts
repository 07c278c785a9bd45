/** A bench on the memory store, whose time is a number. */
import { memoryStore } from "../../../src/store/index.ts";
import { type Bench, epochMs, type OpenBench } from "./harness.ts";

export const openMemory: OpenBench = async ({ shards, lanes }): Promise<Bench> => {
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
