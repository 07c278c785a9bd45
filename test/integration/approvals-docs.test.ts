/** The saga and the functions of docs/approvals.md, taken from the page and used as they stand. */
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Change, Client, PendingApproval, Principal, Saga } from "../../src/index.ts";
import { docPage } from "../support/doc-program.ts";
import { top, until } from "./top.ts";

interface People {
  listFor(client: Client, role: string): Promise<readonly string[]>;
  askedBy(client: Client, id: string): Promise<PendingApproval>;
  approveLess(client: Client, pending: PendingApproval, cents: number, as: Principal): Promise<readonly Change[]>;
  linkFor(client: Client, pending: PendingApproval, person: Principal, site: string): Promise<string>;
  decisionServer(client: Client): Server;
}

const person = (id: string, role: string): Principal => ({ id, kind: "person", roles: [role] });
const [lea, ann] = [person("lea", "legal"), person("ann", "finance")];

async function opened() {
  const page = docPage("approvals");
  onTestFinished(() => page.stop());
  const book = join(page.directory, "book.txt");
  process.env["WORLD_BOOK"] = book;
  onTestFinished(() => void delete process.env["WORLD_BOOK"]);
  const { payout } = (await import(join(page.directory, "payout.ts"))) as { readonly payout: Saga };
  const people = (await import(join(page.directory, "people.ts"))) as People;
  return { payout, people, paid: () => readFileSync(book, "utf8") };
}

async function served(server: Server): Promise<string> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("the page's payout is decided on by a link and by a person who lowers it, and paid once", async () => {
  const { payout, people, paid } = await opened();
  const { client, worker } = top([payout]);
  await worker({ allowForgetfulStore: true });
  const run = await client.startByName("payout", { to: "acme", cents: 30_000, askedBy: "eve" }, { id: "p-1" });
  const listed = (role: string) => until(async () => (await people.listFor(client, role))[0]);
  expect(await listed("legal")).toBe(
    "p-1: Is there a contract with acme? (if nobody decides: it waits for as long as it takes)",
  );

  const site = await served(people.decisionServer(client));
  const link = await people.linkFor(client, await people.askedBy(client, "p-1"), lea, site);
  const csrf = /name="csrf" value="([^"]+)"/.exec(await (await fetch(link)).text())?.[1] ?? "none";
  const body = new URLSearchParams({ csrf, decision: "approve", "form.number": "C-77" });
  expect((await fetch(link, { method: "POST", body })).status).toBe(200);

  expect(await listed("finance")).toBe("p-1: Pay 300 EUR to acme? (if nobody decides: it is rejected)");
  const pending = await people.askedBy(client, "p-1");
  await expect(people.approveLess(client, pending, 40_000, ann)).rejects.toMatchObject({
    code: "INPUT_INVALID",
  });
  expect(await people.approveLess(client, pending, 20_000, ann)).toEqual([
    { path: "cents", before: 30_000, after: 20_000 },
  ]);
  await run.result({ timeout: "20s" });
  expect(paid()).toBe("pay acme 20000\n");
});
