/** The examples go through every crash there can be, as a user's own sagas would (`docs/testing.md`). */
import { expect, test } from "vitest";
import { loan, refund, trip } from "../../sagas/index.ts";
import type { Principal } from "../../src/index.ts";
import { crashSweep, type SweepReport, worldClient } from "../../src/testing/index.ts";

const services = worldClient;
const person = (id: string, ...roles: string[]): Principal => ({ id, kind: "person", roles });

/** Nothing was lost, doubled or left, whatever befell it; only a mail may be in doubt. */
function expectSafe(report: SweepReport): void {
  expect(report.failures, report.text).toEqual([]);
  expect(report.cases).toBeGreaterThan(70);
  for (const { message } of report.parked)
    expect(message).toMatch(/^(sendItinerary|tellCustomer) was sent and may have happened/);
}

test("a trip", async () => {
  const input = { id: "t-1", flight: "LH 1", hotel: "Ritz", email: "ada@example.org" };
  expectSafe(await crashSweep(trip, { input, services }));
}, 60_000);

test("a refund that two people decide on", async () => {
  const input = { id: "c-1", orderId: "o-1", cents: 60_000, email: "ada@example.org", openedBy: "eve" };
  const report = await crashSweep(refund, {
    input,
    services,
    drive: async (run) => {
      await run.approve({ as: person("ann", "finance") });
      await run.approve({ as: person("bob", "support-lead") });
    },
  });
  expectSafe(report);
}, 60_000);

test("a loan that is paid out and clawed back", async () => {
  const input = { id: "l-1", applicant: "Ada", cents: 2_000_000, adviser: "adam" };
  const report = await crashSweep(loan, {
    input,
    services,
    drive: async (run) => {
      await run.signal("PAYSLIP", { ref: "slip-1" });
      await run.signal("IDENTITY", { ref: "id-1" });
      await run.approve({ as: person("mia", "manager"), form: { ratePercent: 4.5, security: "a house" } });
      await run.signal("CHECKED", { passed: false, by: "carl" });
    },
  });
  expectSafe(report);
  expect(report.ended).toEqual({ failed: report.cases });
}, 60_000);
