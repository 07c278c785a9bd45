/** The service of docs/idempotency.md, taken from the page and run as it stands, on a real Redis. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { owned, spawnChild, spawnProgram, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const root = new URL("../../", import.meta.url).pathname;
const page = readFileSync(join(root, "docs/idempotency.md"), "utf8");
const [, service = ""] = /```ts file=charges\.ts\n([\s\S]*?)```/.exec(page) ?? [];

/** What the page leaves to the reader: a bank, which notes every charge. */
const bank = `
import { appendFileSync } from "node:fs";
export const bank = {
  async charge(key: string, cents: number, _signal: AbortSignal): Promise<string | null> {
    appendFileSync(process.env["WORLD_BOOK"] ?? "", \`\${key} \${cents}\\n\`);
    return cents > 9_999 ? null : \`ch-\${key}\`;
  },
  async find(_key: string): Promise<string | null> {
    return null;
  },
};
`;

const things = owned();
let dir = "";

beforeAll(() => {
  mkdirSync(join(root, "build"), { recursive: true });
  dir = mkdtempSync(join(root, "build/idempotency-"));
  for (const [name, text] of Object.entries({ "charges.ts": service, "bank.ts": bank })) {
    writeFileSync(join(dir, name), text);
  }
});
afterAll(async () => {
  await things.release();
  rmSync(dir, { recursive: true, force: true });
});

it("compiles as it stands", async () => {
  const config = { extends: join(root, "tsconfig.json"), include: [join(dir, "*.ts")], exclude: [] };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
  const tsc = await spawnProgram(join(root, "node_modules/.bin/tsc"), ["--noEmit", "-p", join(dir, "tsconfig.json")]);
  const { code } = await tsc.exit;
  expect(`${tsc.stdout}${tsc.stderr}`).toBe("");
  expect(code).toBe(0);
});

it("charges once a key, replays its answers byte for byte, and refuses another request under it", async () => {
  const redis = things.own(await startRedisServer());
  const port = await freePort();
  const book = join(dir, "book.txt");
  const env = { REDIS_URL: redis.url, WORLD_BOOK: book, PORT: String(port) };
  const server = things.own(await spawnChild(join(dir, "charges.ts"), { env }));
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
