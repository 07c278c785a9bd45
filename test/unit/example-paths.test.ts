/** The examples are reached in every state and by every transition, and hold on every path (`docs/testing.md`). */
import { expect, test } from "vitest";
import { agent, batch, loan, order, refund, support, trip } from "../../sagas/index.ts";
import { coverPaths, type PathsReport, worldClient } from "../../src/testing/index.ts";

const services = worldClient;
const email = "ada@example.org";
/** Hundreds of paths: left to `npm test`. */
const isQuick = process.env["REPRISE_SIZE"] === "quick";

/** Nothing was lost, doubled or left, and no state or transition was passed by. */
function expectCovered(report: PathsReport): void {
  expect(report.failures, report.text).toEqual([]);
  expect(report.missed, report.text).toEqual({ states: [], transitions: [] });
  expect([report.untried, report.leftOut], report.text).toEqual([[], 0]);
}

test.skipIf(isQuick)(
  "a loan",
  async () => {
    const report = await coverPaths(loan, {
      input: { id: "l-1", applicant: "Ada", cents: 2_000_000, adviser: "adam" },
      services,
      payloads: {
        IDENTITY: [{ ref: "id-1" }],
        PAYSLIP: [{ ref: "slip-1" }, { ref: "low-1" }],
        CHECKED: [
          { passed: true, by: "carl" },
          { passed: false, by: "carl" },
        ],
      },
      answers: () => [
        { word: { is: "approve", form: { ratePercent: 4.5, security: "a house" } } },
        { word: { is: "reject", reason: "no" } },
      ],
    });
    expectCovered(report);
    expect(Object.keys(report.ended).toSorted()).toEqual([
      "cancelled",
      "completed",
      "failed",
      "needs_review",
      "waiting",
    ]);
  },
  120_000,
);

test.skipIf(isQuick)(
  "a refund that two people decide on",
  async () => {
    const input = { id: "c-1", orderId: "o-1", cents: 60_000, email, openedBy: "eve" };
    expectCovered(await coverPaths(refund, { input, services }));
  },
  60_000,
);

test.each<readonly [string, () => Promise<PathsReport>]>([
  ["an order", () => coverPaths(order, { input: { id: "o-1", sku: "chair", cents: 4_200, email }, services })],
  ["a trip", () => coverPaths(trip, { input: { id: "t-1", flight: "LH 1", hotel: "Ritz", email }, services })],
  ["support", () => coverPaths(support, { input: { id: "s-1", question: "Where is it?", email }, services })],
  ["an agent", () => coverPaths(agent, { input: { id: "a-1", orderId: "o-1", cents: 1_200, email }, services })],
])("%s", async (_name, cover) => expectCovered(await cover()), 60_000);

test.skipIf(isQuick)(
  "a batch",
  async () => {
    const orders = [{ id: "o-1", sku: "chair", cents: 4_200, email }];
    expectCovered(await coverPaths(batch, { input: { id: "b-1", orders, email }, services }));
  },
  120_000,
);
