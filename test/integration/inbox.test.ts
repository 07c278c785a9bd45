/** The inbox over a real Redis: whose runs nobody serves follows from the workers that are there, and from their pulses. */
import { expect, test } from "vitest";
import { z } from "zod";
import { order } from "../../sagas/index.ts";
import { saga, step } from "../../src/index.ts";
import { top, until } from "./top.ts";

const nothing = step("nothing", { input: z.object({}), effect: "none", action: () => null });
const visit = (version: number) =>
  saga("visit", { version, input: z.object({}), events: { [`GO${version}`]: z.object({}) } })
    .waitFor(`GO${version}`)
    .step(nothing, () => ({}))
    .build();
const [before, after] = [visit(1), visit(2)];

test("a run of a version that no worker has is unserved until one has it, and again when that has gone", async () => {
  const { client, worker } = top([before, after]);
  const shown = async () => (await client.inbox()).items.map(({ kind, id, version }) => `${kind} ${id} v${version}`);
  await client.start(after, {}, { id: "new", tenant: "acme" });
  expect(await shown()).toEqual(["unserved new v2"]);
  const old = await worker({ sagas: [before] });
  await client.start(before, {}, { id: "old" });
  await until(async () => (await client.run("old").get()).status === "waiting");
  expect(await shown()).toEqual(["unserved new v2"]);
  const both = await worker();
  expect(await shown()).toEqual([]);
  await both.stop();
  expect(await shown()).toEqual(["unserved new v2"]);
  await old.stop();
  expect((await shown()).toSorted()).toEqual(["unserved new v2", "unserved old v1"]);
});

test("parked runs of all tenants are shown, each with what answers it", async () => {
  const { client, worker, world } = top([order]);
  world.fault({ service: "mail", action: "send", kind: "reset-after-apply", times: 2 });
  await worker();
  const input = { id: "o-1", sku: "A", cents: 4_200, email: "a@example.com" };
  for (const tenant of ["acme", "globex"]) {
    const run = await client.start(order, input, { id: "r1", tenant });
    await run.result({ timeout: "10s" }).catch(() => undefined);
  }
  const { items } = await client.inbox();
  expect(items).toMatchObject([
    {
      kind: "review",
      tenant: "globex",
      id: "r1",
      saga: "order",
      reason: "unknown_outcome",
      step: "sendMail",
      review: 1,
    },
    { kind: "review", tenant: "acme", id: "r1" },
  ]);
  expect(items[0]?.verbs).toContain("resolve");
  expect((await client.inbox({ tenant: "acme" })).items.map(({ tenant }) => tenant)).toEqual(["acme"]);
  const [{ tenant, id, review }] = items as [(typeof items)[number]];
  const output = { messageId: "m-1" };
  const operator = client.run(id, { tenant }).operator;
  await operator.resolve({ as: "happened", output, evidence: "its log" }, { by: "ann", review: review ?? 0 });
  await until(async () => (await client.inbox()).items.length === 1);
});
