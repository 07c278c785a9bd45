/** The page that a link to decide by leads to, over real HTTP: what it shows, and that only its own form decides. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { approval, decisionPage, type Principal, saga, step } from "../../src/index.ts";
import { leaveEvidence } from "../support/evidence.ts";
import { type Top, top, until } from "./top.ts";

const Loan = z.object({ cents: z.number(), to: z.string() });
const paid: string[] = [];
const pay = step("pay", {
  input: Loan,
  effect: "once",
  action: ({ input }) => {
    paid.push(input.to);
  },
  noCompensation: "it is out",
});
const manager = approval("manager", {
  input: Loan,
  question: ({ input }) => `Lend ${input.cents / 100} EUR to ${input.to}?`,
  rule: "more than 100 EUR",
  requester: "agent-7",
  by: "manager",
  expires: "1h",
});
const board = approval("board", {
  input: Loan,
  question: "How is it secured?",
  by: "board",
  form: z.object({ security: z.string().min(3), share: z.number().optional(), checked: z.boolean() }),
});
const loan = saga("loan", { version: 1, input: Loan })
  .step(manager)
  .step(pay, ({ results }) => results.manager.input)
  .build();
const secured = saga("secured", { version: 1, input: Loan }).step(board).build();

const ann: Principal = { id: "ann", kind: "person", roles: ["manager", "board"] };

/** Agents of mail scanners, chats and browsers that fetch links before anybody has read them. */
const scanners = [
  "Mozilla/5.0 (compatible; Proofpoint URL Defense)",
  "Mimecast-Link-Scanner/1.0",
  "Mozilla/5.0 (compatible; Microsoft-SafeLinks)",
  "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
  "facebookexternalhit/1.1",
  "Barracuda Link Protect",
  "Mozilla/5.0 (compatible; GoogleImageProxy)",
];

async function served({ client }: Pick<Top, "client">): Promise<string> {
  const server = createServer(decisionPage(client, { path: "/decide" }));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/decide`;
}

/** A run that asks, and a link for Ann. */
async function asked(here: Top, id: string, of: typeof loan | typeof secured = loan) {
  const run = await here.client.start(of as typeof loan, { cents: 50_000, to: `<b>${id}</b>` }, { id });
  const pending = await until(async () => (await run.approvals())[0]);
  return { run, pending, token: await run.decisionToken(pending, { for: ann, expires: "10m" }) };
}

const csrfIn = (page: string) => /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? "none";

function post(link: string, fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) {
  return fetch(link, { method: "POST", body: new URLSearchParams(fields), headers });
}

async function formOf(link: string): Promise<{ readonly csrf: string; readonly page: string }> {
  const page = await (await fetch(link)).text();
  return { csrf: csrfIn(page), page };
}

test("R102 a link that is only fetched decides nothing; the form of its own page does, once", async () => {
  const here = top([loan]);
  await here.worker();
  const { run, token } = await asked(here, "r102");
  const link = `${await served(here)}/${token}`;
  const { revision } = await run.get();
  for (const agent of scanners) {
    for (const method of ["GET", "HEAD"]) {
      const answer = await fetch(link, { method, headers: { "user-agent": agent } });
      expect([answer.status, answer.headers.get("cache-control")]).toEqual([200, "no-store"]);
    }
  }
  for (const method of ["PUT", "DELETE", "OPTIONS"]) expect((await fetch(link, { method })).status).toBe(405);
  const bare = await post(link, { decision: "approve" });
  const { csrf, page } = await formOf(link);
  const foreign = await post(link, { decision: "approve", csrf }, { "sec-fetch-site": "cross-site" });
  expect([bare.status, foreign.status]).toEqual([403, 403]);
  expect(await run.get()).toMatchObject({ status: "waiting", revision });
  expect(page).toContain("Lend 500 EUR to &lt;b&gt;r102&lt;/b&gt;?");
  expect(page).not.toContain("<b>r102");
  const answer = await post(link, { decision: "approve", csrf });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("You have approved it")]);
  await run.result({ timeout: "10s" });
  expect(paid.filter((to) => to.includes("r102"))).toHaveLength(1);
  const again = await post(link, { decision: "approve", csrf });
  expect([again.status, await again.text()]).toEqual([200, expect.stringContaining("recorded before")]);
  const other = await post(link, { decision: "reject", reason: "no", csrf });
  expect([other.status, await other.text()]).toEqual([409, expect.stringContaining("This link was used")]);
  expect(await (await fetch(link)).text()).toContain("ann has decided (approve)");
  expect(await run.get()).toMatchObject({ status: "completed" });
  leaveEvidence("R102", {
    effects: 1,
    checks: [`${scanners.length} scanners, GET and HEAD: revision ${revision} stood; one POST decided`],
  });
});

test("a rejection says why, or is asked for it", async () => {
  const here = top([loan]);
  await here.worker();
  const { run, token } = await asked(here, "why");
  const link = `${await served(here)}/${token}`;
  const { csrf } = await formOf(link);
  const silent = await post(link, { decision: "reject", csrf });
  expect([silent.status, await silent.text()]).toEqual([422, expect.stringContaining("Say why you reject it.")]);
  expect((await post(link, { decision: "perhaps", csrf })).status).toBe(422);
  await post(link, { decision: "reject", reason: "too much", csrf });
  await expect(run.result({ timeout: "10s" })).rejects.toMatchObject({ reason: { kind: "rejected" } });
});

test("who comes late is told who has decided; an unknown link and a foreign path are said to be that", async () => {
  const here = top([loan]);
  await here.worker();
  const { run, pending, token } = await asked(here, "late");
  const base = await served(here);
  const { csrf } = await formOf(`${base}/${token}`);
  await run.decide(pending, { is: "approve" }, { as: { ...ann, id: "bob" } });
  const late = await post(`${base}/${token}`, { decision: "reject", reason: "no", csrf });
  expect([late.status, await late.text()]).toEqual([409, expect.stringContaining("bob has decided already.")]);
  const unknown = await fetch(`${base}/${"x".repeat(44)}`);
  expect([unknown.status, await unknown.text()]).toEqual([410, expect.stringContaining("expired, or there never was")]);
  expect((await fetch(`${base}/a/b`)).status).toBe(410);
  expect((await fetch(base.replace("/decide", "/other"))).status).toBe(404);
});

test("what is to be filled in is asked for, and judged by its schema", async () => {
  const here = top([secured]);
  await here.worker();
  const { run, token } = await asked(here, "form", secured);
  const link = `${await served(here)}/${token}`;
  const { csrf, page } = await formOf(link);
  expect(page).toContain('name="form.security"');
  const short = await post(link, { decision: "approve", "form.security": "x", csrf });
  expect([short.status, await short.text()]).toEqual([422, expect.stringContaining("security")]);
  await post(link, {
    decision: "approve",
    "form.security": "a house",
    "form.share": "0.5",
    "form.checked": "true",
    csrf,
  });
  expect(await run.result({ timeout: "10s" })).toMatchObject({
    board: { form: { security: "a house", share: 0.5, checked: true } },
  });
});
