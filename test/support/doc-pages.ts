/**
 * The pages of documentation that hold programs, and what each leaves to its reader. Every program is compiled (docs.test.ts)
 * and run as it stands.
 */

/** A bank and a post office. */
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

/** An order whose mail breaks off, and a worker. The world is a file with a line for each mail. */
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

/** A bank, which notes every charge. */
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

/** A bank that notes what it pays, for pages of which only functions are used. */
const payingBank = `
import { appendFileSync } from "node:fs";
const note = (line: string) => appendFileSync(process.env["WORLD_BOOK"] ?? "", line + "\\n");
export const bank = {
  async pay(key: string, { to, cents }: { readonly to: string; readonly cents: number }) {
    note(\`pay \${to} \${cents}\`);
    return { paymentId: key };
  },
  async recall(_key: string, paymentId: string) {
    note(\`recall \${paymentId}\`);
  },
};
`;

/** What ran before the deploy, and runs after it: both versions of the order, one run of the first. */
const orderWorker = `
import { createClient, createWorker } from "reprise";
import { order1, order2 } from "./order.ts";
const redis = process.env["REDIS_URL"];
const sagas = process.env["SERVE"] === "both" ? [order1, order2] : [order1];
const worker = createWorker({ redis, sagas });
await worker.start();
process.once("SIGTERM", () => void worker.stop().then(() => process.exit(0)));
const client = createClient({ redis, sagas });
const run = await client.start(order1, { sku: "mug" }, { id: "o-1" });
while ((await run.get()).status !== "waiting") await new Promise((resolve) => setTimeout(resolve, 50));
await client.close();
console.log("ready");
`;

export const pages = {
  readme: { path: "README.md", programs: ["order.ts", "worker.ts", "app.ts"], others: { "services.ts": services } },
  idempotency: { path: "docs/idempotency.md", programs: ["charges.ts"], others: { "bank.ts": bank } },
  inbox: {
    path: "docs/inbox.md",
    programs: ["inbox.ts", "answer.ts", "letters.ts"],
    others: { "order.ts": order, "worker.ts": worker },
  },
  artifacts: { path: "docs/artifacts.md", programs: ["archive.ts"], others: {} },
  replay: { path: "docs/replay.md", programs: ["operate.ts"], others: {} },
  approvals: { path: "docs/approvals.md", programs: ["payout.ts", "people.ts"], others: { "bank.ts": payingBank } },
  agents: { path: "docs/agents.md", programs: ["agent.ts"], others: {} },
  time: { path: "docs/time.md", programs: ["time.ts"], others: {} },
  children: { path: "docs/children.md", programs: ["children.ts"], others: {} },
  bounds: { path: "docs/bounds.md", programs: ["bounds.ts"], others: {} },
  versions: {
    path: "docs/versions.md",
    programs: ["order.ts", "move.ts"],
    others: { "worker.ts": orderWorker },
  },
  telemetry: { path: "docs/telemetry.md", programs: ["watched.ts"], others: {} },
  notifications: { path: "docs/notifications.md", programs: ["verify.ts", "told.ts"], others: {} },
  testing: { path: "docs/testing.md", programs: ["proof.ts", "paths.ts"], others: {} },
} as const;

export type PageName = keyof typeof pages;
