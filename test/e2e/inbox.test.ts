/** The files of docs/inbox.md, taken from the page and run as they stand, beside a worker on a real Redis. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { owned, spawnChild, spawnProgram, waitFor } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const root = new URL("../../", import.meta.url).pathname;
const page = readFileSync(join(root, "docs/inbox.md"), "utf8");
const snippets = [...page.matchAll(/```ts file=(\S+)\n([\s\S]*?)```/g)].map(([, name = "", text = ""]) => ({
  name,
  text,
}));

/** What the page leaves to the reader: an order whose mail breaks off, and a worker. The world is a file with a line for each mail. */
const order = `
import { appendFileSync } from "node:fs";
import { saga, step } from "reprise";
import { z } from "zod";
const mail = step("mail", {
  input: z.object({ to: z.string() }),
  output: z.object({ messageId: z.string() }),
  effect: "once",
  action: ({ input }) => {
    appendFileSync(process.env["WORLD_BOOK"] ?? "", \`mail \${input.to}\\n\`);
    throw new Error("the connection broke");
  },
  noCompensation: "a mail that was read cannot be unread",
});
export const order = saga("order", { version: 1, input: z.object({ to: z.string() }) })
  .step(mail, ({ input }) => input)
  .build({ output: ({ results }) => results.mail.messageId });
`;
const worker = `
import { createClient, createWorker } from "reprise";
import { order } from "./order.ts";
const redis = process.env["REDIS_URL"];
const client = createClient({ redis, sagas: [order] });
await client.start(order, { to: "a@example.com" }, { id: "o-1" });
await client.close();
const worker = createWorker({ redis, sagas: [order] });
process.once("SIGTERM", () => void worker.stop().then(() => process.exit(0)));
if (process.env["SERVE"] !== undefined) await worker.start();
console.log("ready");
`;

const things = owned();
let dir = "";

beforeAll(() => {
  mkdirSync(join(root, "build"), { recursive: true });
  dir = mkdtempSync(join(root, "build/inbox-"));
  for (const { name, text } of [...snippets, { name: "order.ts", text: order }, { name: "worker.ts", text: worker }])
    writeFileSync(join(dir, name), text);
});
afterAll(async () => {
  await things.release();
  rmSync(dir, { recursive: true, force: true });
});

it("the page's files compile as they stand", async () => {
  expect(snippets.map(({ name }) => name)).toEqual(["inbox.ts", "answer.ts", "letters.ts"]);
  const config = { extends: join(root, "tsconfig.json"), include: [join(dir, "*.ts")], exclude: [] };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
  const tsc = await spawnProgram(join(root, "node_modules/.bin/tsc"), ["--noEmit", "-p", join(dir, "tsconfig.json")]);
  const { code } = await tsc.exit;
  expect(`${tsc.stdout}${tsc.stderr}`).toBe("");
  expect(code).toBe(0);
});

it("the inbox shows the run as unserved, then as parked; put back it fails again, and answered it is gone", async () => {
  const redis = things.own(await startRedisServer());
  const book = join(dir, "book.txt");
  const env = { REDIS_URL: redis.url, WORLD_BOOK: book };
  const output = async (name: string) => {
    const child = things.own(await spawnChild(join(dir, name), { env }));
    const exit = await child.exit;
    expect([child.stderr, exit]).toEqual(["", { code: 0, signal: null }]);
    return child.stdout;
  };
  const ready = async (more: Record<string, string>) => {
    const child = things.own(await spawnChild(join(dir, "worker.ts"), { env: { ...env, ...more } }));
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
