/**
 * `reprise health`: can this process's Redis be used? What a container's health check asks: the server answers, evicts
 * nothing, and has the number of shards that this configuration names.
 */
import { command } from "./base/command.ts";
import { serverOf } from "./base/place.ts";
import { exitCodes } from "./exit.ts";

export const healthCommand = command<[], object>({
  name: "health",
  summary: "Say whether Redis can be reached and used",
  details: `Of reprise.config what says where Redis is; sagas are not loaded. Exit 0 healthy, 1 another number of shards, 2 configuration, 6 Redis
cannot be reached, 7 Redis evicts keys.`,
  examples: [
    "reprise health",
    "REDIS_URL=redis://10.0.0.5:6379 reprise health",
    "reprise health --redis unix:///run/redis.sock --json",
  ],
  kinds: ["Health"],
  run: async (cli) => {
    const server = await serverOf(cli.globals, cli.io);
    const { createClient } = await import("../orchestrator/index.ts");
    const client = createClient({ ...server, sagas: [], facts: cli.facts });
    try {
      await cli.unlessInterrupted(client.list({ limit: 1 }));
    } finally {
      await client.close();
    }
    cli.out.document("Health", { healthy: true }, { lines: () => ["healthy"] });
    return exitCodes.ok;
  },
});
