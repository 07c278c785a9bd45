import type { Principal } from "reprise";
import { crashSweep, worldClient as services, simulate } from "reprise/testing";
import { expect, test } from "vitest";
import { input, saga } from "../example.ts";

const ann: Principal = { id: "ann", kind: "person", roles: ["finance"] };

test("a small refund is the agent's own", async () => {
  const run = await simulate(saga, { input, services });
  expect([run.status, run.output]).toMatchObject(["completed", { cents: input.cents, declined: null }]);
});

test("a large one waits for a person, and is not made before", async () => {
  const run = await simulate(saga, { input: { ...input, cents: 20_000 }, services });
  expect(run.waitingFor).toBe("approval");
  expect(run.happened).not.toContain("refundOrder");
  await run.approve({ as: ann });
  expect(run.status).toBe("completed");
});

test("no crash loses, doubles or leaves anything", async () => {
  const report = await crashSweep(saga, { input, services });
  expect(report.failures, report.text).toEqual([]);
}, 60_000);
