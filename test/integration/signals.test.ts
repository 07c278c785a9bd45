/** Signals over a real Redis: together with a start, before anybody waits for them, in their order, and after the end. */
import { beforeEach, describe, expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { saga, step } from "../../src/index.ts";
import { top, until } from "./top.ts";

const Line = z.object({ sku: z.string() });
/** Lets the step end; `null`: it is not under way. */
let open: (() => void) | null = null;
/** Takes until the test lets it go: until then no state takes a line. */
const fetchBasket = step("fetchBasket", {
  input: z.object({}),
  effect: "none",
  action: () =>
    new Promise<null>((resolve) => {
      open = () => resolve(null);
    }),
});
type BasketEvent = ({ readonly type: "LINE" } & z.infer<typeof Line>) | { readonly type: "PAY" };
const events = { LINE: Line, PAY: z.object({}) };
/** Collects lines in the order in which they come, until it is paid. */
const basket = saga("basket", { version: 1, input: z.object({}), events }).machine(
  setup({
    types: {} as { context: { lines: string[] }; events: BasketEvent; output: string[] },
    actors: { fetchBasket },
    actions: { keep: assign({ lines: ({ context }, { sku }: z.infer<typeof Line>) => [...context.lines, sku] }) },
  }).createMachine({
    id: "basket",
    context: { lines: [] },
    initial: "fetching",
    states: {
      fetching: { invoke: { src: "fetchBasket", input: {}, onDone: "collecting" } },
      collecting: {
        on: { LINE: { actions: { type: "keep", params: ({ event }) => ({ sku: event.sku }) } }, PAY: "paid" },
      },
      paid: { type: "final" },
    },
    output: ({ context }) => context.lines,
  }),
);
const skus = Array.from({ length: 12 }, (_, n) => `sku${(n * 7) % 12}`);

beforeEach(() => {
  open = null;
});

describe("signals that come before a state takes them", () => {
  test("are kept, and taken in the order in which they were accepted", async () => {
    const { client, worker } = top([basket]);
    const run = await client.start(basket, {}, { id: "b" });
    for (const sku of skus.slice(0, 4)) await run.signal("LINE", { sku });
    await worker();
    const letGo = await until(() => open);
    for (const sku of skus.slice(4, 8)) await run.signal("LINE", { sku });
    letGo();
    for (const sku of skus.slice(8)) await run.signal("LINE", { sku });
    await run.signal("PAY", {});
    expect(await run.result({ timeout: "20s" })).toEqual(skus);
  });
});

describe("a signal with a start", () => {
  test("starts the run once, however many come at once, and each signal counts once", async () => {
    const { client, worker, replica } = top([basket]);
    await worker();
    const replicas = [client, replica(), replica()];
    const send = (n: number, sku: string) =>
      (replicas[n % 3] ?? client).signalWithStart(
        basket,
        {},
        { id: "b", event: "LINE", payload: { sku }, signalId: sku },
      );
    const sent = await Promise.all([...skus, ...skus].map((sku, n) => send(n, sku)));
    expect(sent.filter(({ started }) => started === "created")).toHaveLength(1);
    expect(sent.filter(({ signal }) => signal === "accepted")).toHaveLength(skus.length);
    expect(sent.filter(({ signal }) => signal === "duplicate")).toHaveLength(skus.length);
    const run = client.run("b", { saga: basket });
    (await until(() => open))();
    await run.signal("PAY", {});
    const lines = await run.result({ timeout: "20s" });
    const taken = (await run.log())
      .flatMap((entry) => entry.taken)
      .flatMap((each) => (each.what === "event" ? [each] : []));
    expect(lines).toEqual(taken.filter(({ type }) => type === "LINE").map(({ id }) => id));
    expect([...(lines as string[])].sort()).toEqual([...skus].sort());
  });

  test("that cannot be right writes nothing; one for a run that has ended, or is another's, says so", async () => {
    const { client, worker } = top([basket]);
    const bad = { id: "b", event: "LINE", payload: { sku: 7 as unknown as string } } as const;
    await expect(client.signalWithStart(basket, {}, bad)).rejects.toMatchObject({ code: "EVENT_INVALID" });
    await expect(client.run("b").get()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await worker();
    const { run } = await client.signalWithStart(basket, {}, { id: "b", event: "PAY", payload: {} });
    (await until(() => open))();
    await run.result({ timeout: "20s" });
    const late = client.signalWithStart(basket, {}, { id: "b", event: "LINE", payload: { sku: "x" } });
    await expect(late).rejects.toMatchObject({ code: "RUN_ENDED", message: expect.stringContaining("completed") });
  });
});
