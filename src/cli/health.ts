/**
 * `reprise health`: can this process's Redis be used? What a container's health check asks: the server answers, evicts
 * nothing, and has the number of shards that this configuration names.
 */
import type { Command } from "commander";
import { type ExitCode, exitCodes } from "./exit.ts";

const examples = `
Examples:
  reprise health
  REDIS_URL=redis://10.0.0.5:6379 reprise health
  reprise health --redis unix:///run/redis.sock

Exit codes: 0 healthy · 1 another number of shards · 2 configuration · 6 Redis cannot be reached · 7 Redis evicts keys`;

export function addHealthCommand(program: Command, end: (code: ExitCode) => void): void {
  program
    .command("health")
    .description("Say whether Redis can be reached and used")
    .option("--redis <url>", "where Redis is (REDIS_URL)")
    .option("--namespace <name>", "whose shards are compared (REPRISE_NAMESPACE)")
    .addHelpText("after", examples)
    .action(async (_: object, command: Command) => {
      const { redis, namespace } = command.optsWithGlobals<{ readonly redis?: string; readonly namespace?: string }>();
      const { createClient } = await import("../orchestrator/index.ts");
      const client = createClient({ redis, namespace, sagas: [], facts: { emit: () => undefined } });
      try {
        await client.list({ limit: 1 });
        console.log("healthy");
        end(exitCodes.ok);
      } finally {
        await client.close();
      }
    });
}
