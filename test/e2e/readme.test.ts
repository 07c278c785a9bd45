/** The README's own files, taken from the page and run as they stand: a worker, an application, a real Redis. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { docPage } from "../support/doc-program.ts";
import { owned, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const { own, release } = owned();
afterAll(release);

it("the README's application gets its result from the README's worker, and the world saw one charge and one mail", async () => {
  const [page, redis] = [own(docPage("readme")), own(await startRedisServer())];
  const env = { REDIS_URL: redis.url, WORLD_BOOK: join(page.directory, "book.txt") };
  const worker = await page.start("worker.ts", env);
  expect((await page.output("app.ts", env)).trim()).toBe("ch-o-1");
  expect(readFileSync(env.WORLD_BOOK, "utf8").trim().split("\n")).toEqual([
    "charge o-1 4200",
    "mail order o-1 is paid by ch-o-1",
  ]);
  await worker.kill("SIGTERM");
  await waitFor(() => !worker.isRunning, { what: "the worker to have stopped" });
});
