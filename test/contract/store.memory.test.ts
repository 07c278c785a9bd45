import { withArtifacts } from "../../src/artifacts/index.ts";
import { MemoryArtifacts } from "../support/artifacts.ts";
import { storeContract } from "./store.suite.ts";
import { openMemory } from "./suite/memory-bench.ts";

/** So small that hardly a value stays in the store. */
const thresholdBytes = 8;

storeContract("memory", openMemory);
storeContract("memory, with artifacts", async (options) => {
  const bench = await openMemory(options);
  const artifacts = new MemoryArtifacts();
  return { ...bench, store: withArtifacts(bench.store, { artifacts, namespace: "contract", thresholdBytes }) };
});
