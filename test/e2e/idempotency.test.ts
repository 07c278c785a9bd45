/** The service of docs/idempotency.md, taken from the page and run as it stands, on a real Redis. */
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { docPage } from "../support/doc-program.ts";
import { owned, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const { own, release } = owned();
afterAll(release);

it("charges once a key, replays its answers byte for byte, and refuses another request under it", async () => {
  const [page, redis] = [own(docPage("idempotency")), own(await startRedisServer())];
  const port = await freePort();
  const book = join(page.directory, "book.txt");
  const env = { REDIS_URL: redis.url, WORLD_BOOK: book, PORT: String(port) };
  const server = await page.start("charges.ts", env);
  await waitFor(() => server.stdout.includes("ready"), { what: "the service to listen", timeoutMs: 30_000 });
  const post = async (key: string, cents: number) => {
    const response = await fetch(`http://127.0.0.1:${port}/charges`, {
      method: "POST",
      headers: { "idempotency-key": key },
      body: JSON.stringify({ cents }),
    });
    return [response.status, response.headers.get("idempotent-replayed"), await response.text()];
  };
  expect(await post("o-1", 4_200)).toEqual([201, "false", '{"chargeId":"ch-o-1"}']);
  expect(await post("o-1", 4_200)).toEqual([201, "true", '{"chargeId":"ch-o-1"}']);
  expect(await post("o-2", 10_000)).toEqual([402, "false", '{"declined":true}']);
  expect(await post("o-2", 10_000)).toEqual([402, "true", '{"declined":true}']);
  expect(await post("o-1", 4_300)).toEqual([422, null, expect.stringContaining("IDEMPOTENCY_CONFLICT")]);
  expect(await post("", 4_200)).toEqual([400, null, expect.stringContaining("INPUT_INVALID")]);
  expect(readFileSync(book, "utf8")).toBe("o-1 4200\no-2 10000\n");
  expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  expect(server.stderr).toBe("");
});

async function freePort(): Promise<number> {
  return await new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
