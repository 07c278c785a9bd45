import { crashSweep, worldClient as services, simulate } from "reprise/testing";
import { expect, test } from "vitest";
import { input, saga } from "../example.ts";

test("every order is carried out, then the report is sent", async () => {
  const run = await simulate(saga, { input, services });
  expect([run.status, run.output]).toMatchObject(["completed", { orders: input.orders.length }]);
});

test("no crash loses, doubles or leaves anything", async () => {
  const [first] = input.orders;
  const report = await crashSweep(saga, { input: { ...input, orders: first === undefined ? [] : [first] }, services });
  expect(report.failures, report.text).toEqual([]);
}, 120_000);
