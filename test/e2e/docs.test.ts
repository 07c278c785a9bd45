/** Every program in the documentation compiles as it stands; those that no other test runs are run here. */
import { afterAll, expect, it } from "vitest";
import { type PageName, pages } from "../support/doc-pages.ts";
import { compiled, docPage } from "../support/doc-program.ts";
import { owned } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const { own, release } = owned();
afterAll(release);

it("the programs of all pages are the ones that are known, and compile", async () => {
  const names = Object.keys(pages) as readonly PageName[];
  const opened = names.map((name) => own(docPage(name)));
  expect(opened.map(({ programs }) => programs)).toEqual(names.map((name) => pages[name].programs));
  expect(await compiled(opened)).toBe("");
});

it("the agent sends one mail, however often and in whatever words it asks", async () => {
  const redis = own(await startRedisServer());
  const page = own(docPage("agents"));
  expect(await page.output("agent.ts", { REDIS_URL: redis.url })).toBe("m-1 m-1 true 1\n");
});

it("invoices wait, are paid before they ask, take turns, and are started by a schedule", async () => {
  const redis = own(await startRedisServer());
  const page = own(docPage("time"));
  const said = "reminded ann\nreminded ann\n4200 100\nreminded bob\n1\n";
  expect(await page.output("time.ts", { REDIS_URL: redis.url })).toBe(said);
});

it("two children together stop at the limit that they share, and go on when it is raised", async () => {
  const redis = own(await startRedisServer());
  const page = own(docPage("bounds"));
  expect(await page.output("bounds.ts", { REDIS_URL: redis.url })).toBe(
    "tokens: soft\ntokens: hard\nbudget 400\n600\n",
  );
});

it("a saga is simulated, swept through every crash, and one that lies is told so", async () => {
  const page = own(docPage("testing"));
  expect(await page.output("proof.ts", {})).toBe(
    [
      "waiting event",
      "completed charge ship",
      "failed undone: charge",
      "0 failures, 0 missed",
      "the probe of charge answers absent although it happened",
      "",
    ].join("\n"),
  );
});

it("a shop is told that an order has ended, and checks who says so", async () => {
  const redis = own(await startRedisServer());
  const page = own(docPage("notifications"));
  expect(await page.output("told.ts", { REDIS_URL: redis.url })).toBe("end o-1 completed\n");
});

it("an order is logged without its secret, counted, and held against its objectives", async () => {
  const redis = own(await startRedisServer());
  const page = own(docPage("telemetry"));
  expect(await page.output("watched.ts", { REDIS_URL: redis.url })).toBe(
    [
      "order@1 charge [redacted]",
      "true",
      "completion 1/1 · intervention 1/1 · latency 1/1",
      "reprise-slo-order: 9 rules",
      "",
    ].join("\n"),
  );
});

it("a saga's paths are walked, one decision is asked for, and a run is replayed under other code", async () => {
  const page = own(docPage("testing"));
  expect(await page.output("paths.ts", {})).toBe(
    ["0 failures; not reached: order.gift", "false true", 'false value: "await_PACKED" -> "gift"', ""].join("\n"),
  );
});

it("a list of children gives what they gave, and one that fails takes the others back", async () => {
  const redis = own(await startRedisServer());
  const page = own(docPage("children"));
  const printed = await page.output("children.ts", { REDIS_URL: redis.url });
  const lines = printed.trim().split("\n");
  const why =
    "item 1: order was not applied: run tuesday.4 ended failed (the card was declined): nothing of it is left";
  expect(lines).toHaveLength(5);
  expect(lines).toEqual(expect.arrayContaining(["noted day", "[ 'ch-a', 'ch-b' ]", "refund ch-c"]));
  expect(lines.some((line) => line.includes(why))).toBe(true);
});
