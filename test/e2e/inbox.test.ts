/** The files of docs/inbox.md, taken from the page and run as they stand, beside a worker on a real Redis. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { docPage } from "../support/doc-program.ts";
import { owned, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const { own, release } = owned();
afterAll(release);

it("the inbox shows the run as unserved, then as parked; put back it fails again, and answered it is gone", async () => {
  const [page, redis] = [own(docPage("inbox")), own(await startRedisServer())];
  const book = join(page.directory, "book.txt");
  const env = { REDIS_URL: redis.url, WORLD_BOOK: book };
  const output = (name: string) => page.output(name, env);
  const ready = async (more: Record<string, string>) => {
    const child = await page.start("worker.ts", { ...env, ...more });
    await waitFor(() => child.stdout.includes("ready"), { what: "the worker", timeoutMs: 30_000 });
    return child;
  };
  await (await ready({})).stop();
  expect(await output("inbox.ts")).toMatch(
    /^unserved default\/o-1 \(version 1\): no living worker serves order version 1/,
  );

  const served = await ready({ SERVE: "yes" });
  const parked = await waitFor(async () => (await output("inbox.ts")).match(/^review .*\n.*\n/)?.[0], {
    what: "the review",
    timeoutMs: 30_000,
  });
  expect(parked).toMatch(
    /^review default\/o-1 \(version 1\): mail was sent and may have happened: .*\n {2}answer with resolve/,
  );
  const letters = () => output("letters.ts");
  const first = await waitFor(async () => (await letters()) || undefined, { what: "the letter", timeoutMs: 30_000 });
  expect(first).toMatch(/^default~o-1~1 of order: mail was sent and may have happened/);
  const again = await waitFor(
    async () => (await letters()).match(/^default~o-1~1 of order: a person has to decide.*/)?.[0],
    { what: "the refusal", timeoutMs: 30_000 },
  );
  expect(again).toContain("HUMAN_REQUIRED");

  expect(await output("answer.ts")).toBe("m-1\n");
  expect(await output("inbox.ts")).toBe("");
  await waitFor(async () => (await letters()) === "", { what: "the letter to be gone", timeoutMs: 45_000 });
  expect(readFileSync(book, "utf8")).toBe("mail a@example.com\n");
  expect(await served.kill("SIGTERM")).toEqual({ code: 0, signal: null });
});
