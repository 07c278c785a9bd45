import { fail } from "reprise";
import { crashSweep, worldClient as services, simulate } from "reprise/testing";
import { expect, test } from "vitest";
import { input, saga } from "../example.ts";

test("an order is carried out", async () => {
  const run = await simulate(saga, { input, services });
  expect(run.status).toBe("completed");
  expect(run.happened).toEqual(["reserveStock", "chargeCard", "ship", "sendMail"]);
});

test("a parcel that cannot be sent: what was done is undone, the last first", async () => {
  const run = await simulate(saga, { input, services, outcomes: { ship: [fail("no parcels today")] } });
  expect([run.status, run.compensated]).toEqual(["failed", ["chargeCard", "reserveStock"]]);
});

test("no crash loses, doubles or leaves anything", async () => {
  const report = await crashSweep(saga, { input, services });
  expect(report.failures, report.text).toEqual([]);
}, 60_000);
