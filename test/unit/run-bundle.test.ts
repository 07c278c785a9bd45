/** A run leaves an installation as one document, without its secrets, and is replayed under other code: it ends the same, or is shown. */
import { describe, expect, onTestFinished, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { loan, order } from "../../sagas/index.ts";
import { fail, parseBundle, type RunBundle, type Saga, saga, step } from "../../src/index.ts";
import { replayLog, type Simulation, simulate, worldClient } from "../../src/testing/index.ts";

const services = worldClient;
const input = { id: "o-1", sku: "chair", cents: 4_200, email: "ada@example.org" };

async function closing<S extends Saga>(starting: Promise<Simulation<S>>): Promise<Simulation<S>> {
  const run = await starting;
  onTestFinished(() => run.close());
  return run;
}

/** As it comes out of a file. */
const filed = (bundle: RunBundle): string => JSON.stringify(bundle);

const Charge = z.object({ cents: z.number(), token: z.string().optional() });
const charge = step("charge", {
  input: Charge,
  output: z.object({ id: z.string() }),
  effect: "keyed",
  action: () => ({ id: "ch-1" }),
  compensate: () => undefined,
});
const note = step("note", { input: z.json(), effect: "none", action: () => null });

interface Ways {
  readonly limit?: number;
  readonly times?: number;
  readonly late?: boolean;
}

/** Charges; large ones are noted. */
function shop({ limit = 100, times = 1, late = false }: Ways = {}): Saga {
  const machine = setup({
    types: {} as { context: z.infer<typeof Charge> & { id: string }; input: z.infer<typeof Charge> },
    actors: { charge, note },
  }).createMachine({
    id: "shop",
    context: ({ input: given }) => ({ ...given, id: "" }),
    initial: "charging",
    states: {
      charging: {
        invoke: {
          src: "charge",
          input: ({ context: { cents, token } }) => ({
            cents: cents * times,
            ...(token === undefined ? {} : { token }),
          }),
          onDone: [
            {
              guard: ({ context }) => context.cents > limit,
              target: "noting",
              actions: assign({ id: ({ event }) => event.output.id }),
            },
            { target: "done" },
          ],
        },
      },
      noting: { invoke: { src: "note", input: null, onDone: "done" }, ...(late ? { after: { 1000: "done" } } : {}) },
      done: { type: "final" },
    },
  });
  return saga("shop", { version: 1, input: Charge }).machine(machine) as unknown as Saga;
}

async function exported(given: z.infer<typeof Charge>, mask: readonly string[] = []): Promise<RunBundle> {
  const run = await closing(simulate(shop(), { input: given }));
  return await run.run.bundle({ mask });
}

describe("a bundle", () => {
  test("has the run whole, and says of which saga, structure and family it is", async () => {
    const run = await closing(simulate(order, { input, services, outcomes: { ship: [fail("no parcels")] } }));
    const bundle = parseBundle(filed(await run.run.bundle()));
    expect(bundle).toMatchObject({
      ...{ kind: "reprise.run", format: 1, reprise: expect.stringMatching(/^\d+\.\d+\.\d+/), masked: [], missing: [] },
      run: { tenant: "default", id: "run" },
      saga: { name: "order", version: 1, hash: run.seen.record.hash, structure: expect.stringContaining("order.ship") },
      family: { parent: null, children: [], replayOf: null },
    });
    expect([bundle.record, bundle.rows]).toEqual([run.seen.record, run.seen.rows]);
    expect(bundle.log).toHaveLength(bundle.record.revision);
    expect(bundle.snapshots?.at(-1)?.snapshot).toEqual(bundle.record.snapshot);
  });

  test("has no secret: not by its name, not by itself, not whole or in parts, not in any part of the run", async () => {
    const Card = z.object({ card: z.object({ apiKey: z.array(z.string()), pin: z.string() }), text: z.string() });
    const pay = step("pay", { input: Card, output: z.json(), effect: "none", action: ({ input: given }) => given });
    const pays = saga("pays", { version: 1, input: Card, events: { PAID: Card } })
      .waitFor("PAID")
      .step(pay, ({ input: given }) => given)
      .build({ output: ({ results }) => results.pay });
    const secrets = {
      card: { apiKey: ["hush-1", "hush-2"], pin: "1234567" },
      text: "sk_live_hushhush Bearer hushhush",
    };
    const run = await closing(simulate(pays, { input: secrets }));
    await run.signal("PAID", secrets);
    const bundle = await run.run.bundle({ mask: ["PIN"] });
    expect(filed(bundle)).not.toMatch(/hush|1234567/);
    expect(bundle.masked).toEqual(
      expect.arrayContaining([
        "record.input.card.apiKey",
        "record.input.card.pin",
        "record.input.text",
        "rows.0.output.card.pin",
      ]),
    );
    expect(bundle.masked.some((path) => path.startsWith("log."))).toBe(true);
    expect(bundle.log.every(({ digest }) => digest === "")).toBe(true);
  });

  test("of another form is refused, saying where", async () => {
    const bundle = await exported({ cents: 5 });
    const wrong = (given: unknown) => expect(() => parseBundle(given));
    wrong("{").toThrow("the bundle is not JSON");
    wrong({ ...bundle, format: 2 }).toThrow("the bundle's format");
    wrong({ ...bundle, rows: [{ ...bundle.rows[0], seq: "1" }] }).toThrow("the bundle's rows.0.seq");
    wrong(null).toThrow("the bundle: ");
  });
});

describe("replayed", () => {
  test("under the same code it ends the same, by its digests", async () => {
    const run = await closing(
      simulate(loan, { input: { id: "l-1", applicant: "Ada", cents: 2_000_000, adviser: "adam" }, services }),
    );
    await run.signal("PAYSLIP", { ref: "slip-1" });
    await run.signal("IDENTITY", { ref: "id-1" });
    const lower = { loanId: "l-1", applicant: "Ada", cents: 100, points: 640, adviser: "adam" };
    const mia = { id: "mia", kind: "person", roles: ["manager"] } as const;
    await run.approve({ as: mia, form: { ratePercent: 4.5, security: "a house" }, input: lower });
    const replayed = replayLog(loan, filed(await run.run.bundle()));
    expect(replayed.differences, replayed.text).toEqual([]);
    expect(replayed).toMatchObject({ same: true, by: "digests", structure: [], revision: null });
    expect(replayed.text).toContain("it ends the same");
  });

  test("where a guard says otherwise it is shown from which revision, and what was and is", async () => {
    const bundle = filed(await exported({ cents: 500 }));
    const replayed = replayLog(shop({ limit: 1_000 }), bundle);
    expect(replayed.same).toBe(false);
    expect(replayed.revision).toBe(3);
    expect(replayed.differences).toEqual(
      expect.arrayContaining(['value: "noting" -> "done"', 'context.id: "ch-1" -> ""']),
    );
    expect(replayed.text).toContain("it goes otherwise from revision 3 on");
  });

  test("where a step would be asked for something else it is shown, although the states are the same", async () => {
    const replayed = replayLog(shop({ times: 100 }), filed(await exported({ cents: 5 })));
    expect(replayed).toMatchObject({ same: false, differences: ["row 1, input of charge: cents: 5 -> 500"] });
  });

  test("what has changed of the structure is told, also where the run ends the same", async () => {
    const replayed = replayLog(shop({ late: true }), filed(await exported({ cents: 5 })));
    expect(replayed.same).toBe(true);
    expect(replayed.structure).toEqual([expect.stringContaining("state shop.noting, after 1000")]);
  });

  test("with secrets masked it is compared but for those, and a difference is found all the same", async () => {
    const bundle = filed(await exported({ cents: 500, token: "hush" }));
    expect(bundle).not.toContain("hush");
    const same = replayLog(shop(), bundle);
    expect(same, same.text).toMatchObject({ same: true, by: "snapshots" });
    expect(same.text).toContain("not compared, since it was masked: record.input.token");
    expect(replayLog(shop({ limit: 1_000 }), bundle)).toMatchObject({ same: false, revision: 3 });
    expect(replayLog(shop({ times: 100 }), bundle).differences).toEqual([
      "row 1, input of charge: cents: 500 -> 50000",
    ]);
    const unseen = { ...parseBundle(bundle), snapshots: null };
    expect(replayLog(shop(), unseen)).toMatchObject({ same: true, by: "end" });
    expect(replayLog(shop({ limit: 1_000 }), unseen).same).toBe(false);
  });

  test("one of another saga, or that misses values, is refused", async () => {
    const bundle = await exported({ cents: 5 });
    expect(() => replayLog(order, bundle)).toThrow("the bundle is of a run of shop, not of order");
    const gone = [{ where: "the input of the run", hash: "h", bytes: 1, why: "gone" }];
    expect(() => replayLog(shop(), { ...bundle, missing: gone })).toThrow("the bundle misses the input of the run");
  });
});
