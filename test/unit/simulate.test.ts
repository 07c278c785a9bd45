/** One run, driven in memory and in virtual time: no Redis, no waiting, the real core and engine. */
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { order } from "../../sagas/order.ts";
import { approval, child, fail, type Saga, type SagaInput, saga, stepsFor, transient } from "../../src/index.ts";
import {
  type SagaMatchers,
  type SimulateOptions,
  type Simulation,
  sagaMatchers,
  simulate,
  type WorldClient,
  worldClient,
} from "../../src/testing/index.ts";

expect.extend(sagaMatchers);

declare module "vitest" {
  // biome-ignore lint/suspicious/noExplicitAny: vitest's own parameter.
  interface Matchers<T = any> extends SagaMatchers<T> {}
}

const services = worldClient;
const { step } = stepsFor<WorldClient>();
const input: SagaInput<typeof order> = { id: "o-1", sku: "chair", cents: 4_200, email: "ada@example.org" };
const open: Simulation[] = [];

async function run<S extends Saga>(of: S, options: SimulateOptions<S>): Promise<Simulation<S>> {
  const simulation = await simulate(of, options);
  open.push(simulation as unknown as Simulation);
  return simulation;
}

afterEach(async () => {
  for (const simulation of open.splice(0)) await simulation.close();
});

const noted = step("note", { input: z.json(), effect: "none", action: () => null });

describe("a run", () => {
  test("goes to its end by what its steps do, and the world counts it", async () => {
    const one = await run(order, { input, services });
    expect(one.status).toBe("completed");
    expect(one.happened).toEqual(["reserveStock", "chargeCard", "ship", "sendMail"]);
    expect(one.output).toMatchObject({ chargeId: expect.any(String) });
    expect(one.world).toHaveAppliedOnce("sim/default/run/chargeCard/1");
    expect(one).toHaveCompensated([]);
  });

  test("goes by the outcomes that stand in for a step's, the last of them for ever", async () => {
    const refused = await run(order, {
      input,
      services,
      outcomes: { ship: [transient("busy"), fail("no parcels today")] },
    });
    expect(refused.status).toBe("failed");
    expect(refused).toHaveCompensated(["chargeCard", "reserveStock"]);
    const served = await run(order, { input, services, outcomes: { ship: [transient("busy"), { shipmentId: "s" }] } });
    expect([served.status, served.happened.includes("ship")]).toEqual(["completed", true]);
  });

  test("is the same for the same seed", async () => {
    const logOf = async (seed: number) => {
      const one = await run(order, {
        input,
        services,
        seed,
        outcomes: { ship: [transient("busy"), { shipmentId: "s" }] },
      });
      return (await one.run.log()).map(({ digest, at }) => [digest, at]);
    };
    expect(await logOf(7)).toEqual(await logOf(7));
    expect(await logOf(7)).not.toEqual(await logOf(8));
  });

  test("rests with an event that came before any state takes it, and takes it then", async () => {
    const early = saga("early", { version: 1, input: z.json(), events: { FIRST: z.object({}), LAST: z.object({}) } })
      .waitFor("FIRST")
      .waitFor("LAST")
      .build();
    const one = await run(early, { input: null });
    await one.signal("LAST", {});
    expect([one.status, one.waitingFor]).toEqual(["waiting", "event"]);
    await one.signal("FIRST", {});
    expect(one.status).toBe("completed");
  });

  test("waits for its timer until time goes by, which takes none", async () => {
    const slow = saga("slow", { version: 1, input: z.json() })
      .wait("24h")
      .step(noted, () => null)
      .build();
    const one = await run(slow, { input: null });
    expect(one).toBeWaitingFor("timer");
    await one.advance("23h");
    expect(one).toBeWaitingFor("timer");
    await one.advance("1h");
    expect(one.status).toBe("completed");
  });

  test("takes what people decide, and what others send", async () => {
    const asking = saga("asking", {
      version: 1,
      input: z.object({ cents: z.number() }),
      events: { PAID: z.object({}) },
    })
      .step(
        approval("manager", { input: z.object({ cents: z.number() }), question: "Pay?", by: "finance" }),
        ({ input }) => input,
      )
      .waitFor("PAID")
      .build();
    const one = await run(asking, { input: { cents: 5 } });
    expect(one).toBeWaitingFor("approval");
    expect(await one.approvals()).toMatchObject([{ question: "Pay?", input: { cents: 5 } }]);
    await expect(one.approve({ step: "nobody" })).rejects.toThrow("nobody asks nobody; asking: manager");
    await one.approve({ as: { id: "ann", kind: "person", roles: ["finance"] } });
    expect(one).toBeWaitingFor("event");
    await one.signal("PAID", {});
    expect(one.status).toBe("completed");
    const two = await run(asking, { input: { cents: 5 } });
    await two.reject({ as: { id: "ann", kind: "person", roles: ["finance"] }, reason: "too much" });
    expect(two.status).toBe("failed");
    await expect(two.reject()).rejects.toThrow("run asks nobody");
  });

  test("is taken over when its worker is killed, and cancelled when the test says so", async () => {
    const waits = saga("waits", { version: 1, input: z.json(), events: { GO: z.object({}) } })
      .step(
        step("charge", {
          input: z.json(),
          effect: "keyed",
          action: ({ services: { op }, ...call }) => op("bank", { effect: "keyed" }).call("charge", {}, call),
          compensate: ({ services: { op }, ...call }) => op("bank", { effect: "keyed" }).call("refund", {}, call),
        }),
        () => null,
      )
      .waitFor("GO")
      .build();
    const one = await run(waits, { input: null, services });
    await one.crash();
    expect(one).toBeWaitingFor("event");
    await one.cancel();
    expect(one.status).toBe("cancelled");
    expect(one).toHaveCompensated(["charge"]);
    expect(one.world.effects().map(({ action }) => action)).toEqual(["charge", "refund"]);
  });

  test("waits with its child, and ends with it", async () => {
    const below = saga("below", { version: 1, input: z.json(), events: { GO: z.object({}) } })
      .waitFor("GO")
      .build();
    const above = saga("above", { version: 1, input: z.json() })
      .step(child(below), () => null)
      .build();
    const one = await run(above, { input: null });
    expect(one).toBeWaitingFor("child");
    await one.client.run("run.1", { saga: below }).signal("GO", {});
    await one.settle();
    expect(one.status).toBe("completed");
  });

  test("that is parked waits for a person's review", async () => {
    const one = await run(order, { input, services, outcomes: { sendMail: [transient("the line went dead")] } });
    expect(one).toBeWaitingFor("review");
    expect(one.state).toBe("sendMail");
  });

  test("is refused where an outcome is of no step, or of none at all", async () => {
    await expect(simulate(order, { input, outcomes: { sendLetter: [1] } })).rejects.toThrow(
      /order has no step "sendLetter"; it has/,
    );
    await expect(simulate(order, { input, outcomes: { ship: [] } })).rejects.toThrow(
      "the outcomes of ship are no list with one in it",
    );
  });

  test("that never comes to rest is told so", async () => {
    const stubborn = saga("stubborn", { version: 1, input: z.json() })
      .step(
        step("busy", {
          input: z.json(),
          effect: "none",
          action: () => Promise.reject(transient("busy")),
          retry: { attempts: 1_000, initial: "10m", max: "10m", backoff: "fixed" },
        }),
        () => null,
      )
      .build();
    await expect(simulate(stubborn, { input: null })).rejects.toMatchObject({ code: "SIMULATION_RESTLESS" });
  });
});

describe("a matcher says", () => {
  test("what was expected, and what there is", async () => {
    const one = await run(order, { input, services, outcomes: { ship: [fail("no")] } });
    expect(() => expect(one).toHaveCompensated(["reserveStock"])).toThrow(
      "expected the run (failed) to have undone reserveStock; it has undone chargeCard, reserveStock",
    );
    expect(() => expect(one).toBeWaitingFor("event")).toThrow("to wait for event; it is failed, and waits for nothing");
    expect(() => expect(one.world).toHaveAppliedOnce("o-2")).toThrow(
      'expected the effect "o-2" to be there once; it is there 0 times',
    );
    expect(() => expect(one.world).not.toHaveAppliedOnce("sim/default/run/chargeCard/1")).toThrow(
      /not to be there once; .* 1 times: payments\.charge/,
    );
  });
});
