import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { plant } from "./test/support/plant.ts";

/**
 * One project per kind of test (house-style, "Tests"). What a kind needs is said here and nowhere else:
 * integration and contract share one private redis-server, fault and e2e own their processes and therefore run one file at a time.
 */

/** `reprise` is this package's own `source` door, before any build. */
const conditions = ["source", "node", "import", "default"];

const globalRedis = "test/support/global-redis.ts";
const onMemoryOnly = process.env["REPRISE_CONTRACT"] === "memory";

function project(name: string, test: TestProjectInlineConfiguration["test"] = {}): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: { name, include: [`test/${name}/**/*.test.ts`], ...test },
  };
}

/** Pure tests run in threads: starting processes was most of their time. */
const together = { pool: "threads" } as const;

/** Of the fault tests those that take long, so that the lanes of `scripts/test.mjs` take as long as each other. */
const longFaults = [
  ...["chaos", "crash-forward", "crash-unwind", "notify", "scenarios-cluster", "scenarios-crowd"],
  ...["scenarios-failover", "scenarios-runs", "store-rollback", "versions"],
].map((name) => `test/fault/${name}.test.ts`);
/** One file at a time, when the others are through. */
const alone = { fileParallelism: false, sequence: { groupOrder: 1 } } as const;
const faults = { ...alone, testTimeout: 120_000, hookTimeout: 60_000 } as const;

/** They bring their own servers, are refused before any server is asked, or are about what lies above the store. */
const notOfTheStore = [
  ...["bench", "fairness", "client-faults", "admin", "artifacts", "supervisor", "telemetry", "decision-page"],
  ...["cli", "cli-*", "*-docs"],
];

/** The integration suite again, on a server in cluster mode. */
function inCluster(shards: number): TestProjectInlineConfiguration {
  const globalSetup = `test/support/global-cluster-${shards}.ts`;
  const include = ["test/integration/**/*.test.ts"];
  const exclude = notOfTheStore.map((name) => `test/integration/${name}.test.ts`);
  return project(`integration-cluster-${shards}`, {
    include,
    exclude,
    globalSetup,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  });
}

export default defineConfig({
  plugins: plant(),
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    pool: "forks",
    // The files of a process share one loading of what they test: each for itself, loading was a third of all the time.
    isolate: false,
    maxWorkers: 2,
    // A full machine makes a test slow, never wrong.
    testTimeout: 20_000,
    coverage: {
      provider: "v8",
      include: ["src/core/**/*.ts"],
      reporter: ["text", "html"],
      thresholds: { 100: true },
    },
    projects: [
      project("unit", { ...together, testTimeout: 60_000 }),
      project("types", {
        include: [],
        typecheck: { enabled: true, only: true, include: ["test/types/**/*.test.ts"], tsconfig: "tsconfig.types.json" },
      }),
      project("contract", onMemoryOnly ? {} : { globalSetup: globalRedis }),
      project("simulation", { ...together, testTimeout: 60_000 }),
      project("integration", { globalSetup: globalRedis, testTimeout: 30_000, hookTimeout: 30_000 }),
      // A cluster of one shard says little that those of one server and of four shards do not.
      ...(process.env["REPRISE_SIZE"] === "full" ? [inCluster(1)] : []),
      inCluster(4),
      project("fault", { ...faults, exclude: longFaults }),
      project("fault-long", { ...faults, include: longFaults }),
      project("e2e", {
        globalSetup: "test/support/global-build.ts",
        ...alone,
        testTimeout: 180_000,
        hookTimeout: 120_000,
      }),
    ],
  },
});
