/**
 * `reprise dev`: a Redis, and workers that are started anew whenever a file of the project changes. Owns the order of things: what was
 * started last is ended first, and nothing is left when it ends.
 */
import { dirname, relative } from "node:path";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import { fileOf, redisOf } from "../base/place.ts";
import { wholeOf } from "../base/values.ts";
import { exitCodes } from "../exit.ts";
import { type Changes, changesIn } from "./changes.ts";
import { type DevWorker, type Ready, startDevWorker } from "./child.ts";

interface Flags {
  readonly workers?: string;
}

export const devCommand = command<[], Flags>({
  name: "dev",
  summary: "A Redis of your own and workers that restart when a file of the project changes; Ctrl-C ends everything",
  details: `Without --redis, REDIS_URL and redis in reprise.config a private redis-server is found or fetched, and started; what is in it stays for the
next time. Workers serve the sagas of reprise.config. A change of any file in its folder (but for node_modules and what begins with a dot)
ends them and starts them anew; runs go on where they were. A structure that changes under the same version is refused while its runs are
open: raise the version, or finish them.`,
  options: [["--workers <n>", "so many worker processes; 1 unless given"]],
  examples: ["reprise dev", "reprise dev --workers 2", "reprise dev --redis redis://127.0.0.1:6379 --jsonl"],
  kinds: ["DevServing"],
  changes: { noDryRun: "it serves until it is ended", noReason: "it serves until it is ended" },
  run: async (cli, { workers = "1" }) => {
    const count = wholeOf(workers, "--workers", 1, 32);
    const file = fileOf(cli.globals, cli.io);
    const folder = file === null ? cli.io.cwd : dirname(file);
    const redis = await redisFor(cli);
    const changes = await changesIn(folder, cli.signal);
    try {
      await serveUntilStopped(cli, { count, folder, redis: redis.url, changes });
    } finally {
      await changes.stop();
      await redis.stop();
    }
    cli.out.note("Everything has ended.");
    return exitCodes.ok;
  },
});

/** Where the project says it is, or one of our own. */
async function redisFor(cli: Cli): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const redis = await redisOf(cli.globals, cli.io);
  if (redis !== undefined) return { url: redis, stop: async () => {} };
  const { ensureRedis } = await import("../../redis/index.ts");
  return await ensureRedis({ env: cli.io.env, log: (line) => cli.out.note(line) });
}

interface Serving {
  readonly count: number;
  readonly folder: string;
  readonly redis: string;
  readonly changes: Changes;
}

async function serveUntilStopped(cli: Cli, { count, folder, redis, changes }: Serving): Promise<void> {
  for (let changed: readonly string[] = []; !cli.signal.aborted; ) {
    const workers = Array.from({ length: count }, () => startDevWorker(cli, redis));
    let isOver = false;
    const stopped = changes.next().then((paths) => {
      isOver = true;
      return paths;
    });
    try {
      const told = tell(cli, redis, workers, { changed, isOver: () => isOver });
      await Promise.race([told, stopped]);
      changed = (await stopped).map((path) => relative(folder, path));
    } finally {
      await Promise.all(workers.map((worker) => worker.end()));
    }
    if (changed.length > 0) cli.out.note([ink("cyan", "↻ "), `${changed.join(", ")} changed: starting anew`]);
  }
}

/** Says what is served, or that nothing is until something changes. */
async function tell(
  cli: Cli,
  redis: string,
  started: readonly DevWorker[],
  { changed, isOver }: { readonly changed: readonly string[]; readonly isOver: () => boolean },
): Promise<void> {
  const ready = await Promise.all(started.map((worker) => worker.ready));
  if (isOver()) return;
  const workers = ready.filter((each): each is Ready => each !== null);
  const [first] = workers;
  if (first === undefined) return cli.out.warn(ink("red", "No worker serves. It is tried again when a file changes."));
  // Of --json there is one document: the first.
  if (cli.out.format === "json" && changed.length > 0) return;
  const shown = workers.map(({ id, pid }) => ({ id, pid }));
  cli.out.document(
    "DevServing",
    { redis: withoutPassword(redis), sagas: first.sagas, workers: shown, changed },
    {
      id: first.id,
      lines: () => [
        [
          ink("green", "✓ "),
          ink("bold", first.sagas.join(", ")),
          ` served by ${shown.map(({ pid }) => `process ${pid}`).join(", ")}`,
        ],
        `  Redis at ${withoutPassword(redis)}`,
        ink(
          "dim",
          `  Start a run: REDIS_URL=${withoutPassword(redis)} reprise runs start <saga> -i '{...}'   Ctrl-C ends everything`,
        ),
      ],
    },
  );
}

function withoutPassword(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^:@/?]*):[^@]*@/i, "$1:***@");
}
