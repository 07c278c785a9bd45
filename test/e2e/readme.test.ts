/** The README's own files, taken from the page and run as they stand: a worker, an application, a real Redis. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { owned, spawnChild, spawnProgram, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const root = new URL("../../", import.meta.url).pathname;
const readme = readFileSync(join(root, "README.md"), "utf8");
const files = [...readme.matchAll(/```ts file=(\S+)\n([\s\S]*?)```/g)].map(([, name, text]) => ({
  name: name ?? "",
  text: text ?? "",
}));

/** What the README leaves to the reader: a bank and a post office. */
const services = `
import { appendFileSync } from "node:fs";
const book = process.env["WORLD_BOOK"] ?? "";
const charges = new Map<string, string>();
export const services = {
  payments: {
    async charge(input: { orderId: string; cents: number }, key: string) {
      const chargeId = charges.get(key) ?? \`ch-\${input.orderId}\`;
      if (!charges.has(key)) appendFileSync(book, \`charge \${input.orderId} \${input.cents}\\n\`);
      charges.set(key, chargeId);
      return { chargeId };
    },
    async find(key: string) {
      return charges.get(key);
    },
    async refund(chargeId: string, _key: string) {
      appendFileSync(book, \`refund \${chargeId}\\n\`);
    },
  },
  mail: {
    async send(text: string) {
      appendFileSync(book, \`mail \${text}\\n\`);
    },
  },
};
export type Services = typeof services;
`;

const things = owned();
let dir = "";

beforeAll(() => {
  mkdirSync(join(root, "build"), { recursive: true });
  dir = mkdtempSync(join(root, "build/readme-"));
  for (const { name, text } of [...files, { name: "services.ts", text: services }])
    writeFileSync(join(dir, name), text);
});
afterAll(async () => {
  await things.release();
  rmSync(dir, { recursive: true, force: true });
});

it("the README's saga, worker and application compile as they stand", async () => {
  expect(files.map((file) => file.name)).toEqual(["order.ts", "worker.ts", "app.ts"]);
  const config = { extends: join(root, "tsconfig.json"), include: [join(dir, "*.ts")], exclude: [] };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
  const tsc = await spawnProgram(join(root, "node_modules/.bin/tsc"), ["--noEmit", "-p", join(dir, "tsconfig.json")]);
  const { code } = await tsc.exit;
  expect(`${tsc.stdout}${tsc.stderr}`).toBe("");
  expect(code).toBe(0);
});

it("the README's application gets its result from the README's worker, and the world saw one charge and one mail", async () => {
  const redis = things.own(await startRedisServer());
  const env = { REDIS_URL: redis.url, WORLD_BOOK: join(dir, "book.txt") };
  const worker = things.own(await spawnChild(join(dir, "worker.ts"), { env }));
  const app = things.own(await spawnChild(join(dir, "app.ts"), { env }));
  const { code } = await app.exit;
  expect(app.stderr).toBe("");
  expect(code).toBe(0);
  expect(app.stdout.trim()).toBe("ch-o-1");
  expect(readFileSync(env.WORLD_BOOK, "utf8").trim().split("\n")).toEqual([
    "charge o-1 4200",
    "mail order o-1 is paid by ch-o-1",
  ]);
  await worker.kill("SIGTERM");
  await waitFor(() => !worker.isRunning, { what: "the worker to have stopped" });
});
