/** The functions of docs/replay.md, taken from the page and run as they stand. */
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { refusalsAreFinal, step } from "../../sagas/services.ts";
import { type Client, saga } from "../../src/index.ts";
import { docPage } from "../support/doc-program.ts";
import { effectsOf, top, until } from "./top.ts";

interface Operate {
  resume(client: Client, id: string, by: string): Promise<string>;
  resumeAll(client: Client, by: string): Promise<readonly string[]>;
  whatUndoingDoes(client: Client, id: string): Promise<readonly string[]>;
}

async function operate(): Promise<Operate> {
  const page = docPage("replay");
  onTestFinished(() => page.stop());
  return (await import(join(page.directory, "operate.ts"))) as Operate;
}

const Charge = z.object({ orderId: z.string(), cents: z.int().positive() });
const charge = step("charge", {
  input: Charge,
  output: z.object({ chargeId: z.string() }),
  effect: "keyed",
  onExhausted: "review",
  action: ({ input, services, ...call }) => services.payments.charge(input, call).catch(refusalsAreFinal),
  compensate: ({ output, services, ...call }) => services.payments.refund(output, call),
  retry: { attempts: 1 },
});
const purchase = saga("purchase", { version: 1, input: Charge })
  .step(charge, ({ input }) => input)
  .build();

test("the page resumes one run, then all, and says what undoing would do", async () => {
  const { client, world, worker } = top([purchase]);
  const { resume, resumeAll, whatUndoingDoes } = await operate();
  const away = { service: "payments", action: "charge", kind: "rate-limit", retryAfterSeconds: 1 } as const;
  world.fault({ ...away, times: 3 });
  await worker();
  const ids = ["r1", "r2", "r3"];
  await client.startMany(
    purchase,
    ids.map((id) => ({ id, input: { orderId: id, cents: 1 } })),
  );
  await until(async () => (await client.reviews()).runs.length === 3);
  expect(await resume(client, "r1", "ann")).toBe("executed");
  await client.run("r1").result({ timeout: "10s", through: "review" });
  expect(await resume(client, "r1", "ann")).toContain("it has ended (completed)");
  expect([...(await resumeAll(client, "ann"))].sort()).toEqual(["r2: done", "r3: done"]);
  for (const id of ids) await client.run(id).result({ timeout: "10s", through: "review" });
  expect(await whatUndoingDoes(client, "r1")).toEqual([
    "charge: compensate, it happened, or is undone whether it did or not",
  ]);
  expect(effectsOf(world)).toEqual(["payments.charge", "payments.charge", "payments.charge"]);
});
