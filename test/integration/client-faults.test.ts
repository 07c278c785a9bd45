/**
 * What clients get wrong, or send on purpose: every request is refused with a code and nothing is written, or is answered as the first
 * one was, or is taken and kept exactly as it was sent. (Starts in races, cut connections and killed clients: `scenarios-starts`,
 * `scenarios-takeover`, `crash-around`.)
 */
import { describe, expect, test } from "vitest";
import { assign, setup } from "xstate";
import { z } from "zod";
import { saga, step } from "../../src/index.ts";
import { top, until } from "./top.ts";

const Value = z.object({ value: z.json() });
const keep = step("keep", { input: Value, output: Value, effect: "none", action: ({ input }) => input });
/** Keeps what it is given: as input, through a step and in its context; and counts what it is told. */
const echo = saga("echo", { version: 1, input: Value, events: { SAY: Value, END: z.object({}) } }).machine(
  setup({
    types: {} as {
      context: { value: unknown; said: unknown; count: number };
      input: { value: unknown };
      output: { value: unknown; said: unknown; count: number };
      events: { type: "SAY"; value: unknown } | { type: "END" };
    },
    actors: { keep },
    actions: {
      hear: assign(({ context, event }) =>
        event.type === "SAY" ? { said: event.value, count: context.count + 1 } : context,
      ),
    },
  }).createMachine({
    context: ({ input }) => ({ value: input.value, said: null, count: 0 }),
    initial: "keeping",
    states: {
      keeping: {
        invoke: {
          src: "keep",
          input: ({ context }) => ({ value: context.value }) as never,
          onDone: { target: "open", actions: assign({ value: ({ event }) => event.output.value }) },
        },
      },
      open: { on: { SAY: { actions: "hear" }, END: "ended" } },
      ended: { type: "final" },
    },
    output: ({ context }) => context,
  }) as never,
);

const nested = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`) as unknown;
const cycle: { self?: unknown } = {};
cycle.self = cycle;

const hostile: readonly (readonly [string, unknown, string])[] = [
  ["10 MB", "x".repeat(10_000_000), "PAYLOAD_TOO_LARGE"],
  ["10,000 levels", nested(10_000), "INVALID"],
  ["a cycle", cycle, "INVALID"],
  ["NaN", Number.NaN, "INVALID"],
  ["1e400", JSON.parse("1e400"), "INVALID"],
  ["a Date", new Date(0), "INVALID"],
  ["a Map", new Map([[1, 2]]), "INVALID"],
  ["a BigInt", 1n, "INVALID"],
  ["a function", () => 1, "INVALID"],
  ["an undefined element", [undefined], "INVALID"],
  ["__proto__", JSON.parse('{"__proto__":{"polluted":true}}'), "INVALID"],
  ["constructor", JSON.parse('{"a":{"constructor":1}}'), "INVALID"],
  ["half a character", "\ud800", "INVALID"],
  ["half a character in a key", { "\udfff": 1 }, "INVALID"],
  ["prototype", JSON.parse('[{"prototype":1}]'), "INVALID"],
];
const ids = ["", "a:b", "a{b", "a}b", "a*b", "a\nb", "a\u0000b", "a b", "a/b", "é", "x".repeat(65)];

/** What JSON can say, however odd. */
const odd = {
  strings: ["\u0000", "\u2028", "\ud83d\ude00", "\uffff"],
  numbers: [2 ** 53 + 2, 1e300, 5e-324, -1, 0.1 + 0.2],
  keys: { "": 1, "a.b": 2, "{x}": 3, "é\u0000": 4, toString: 5, hasOwnProperty: 6 },
  nested: nested(90),
};
/** What XState would take for actors of its own (L14). */
const actorLike = [
  { xstate$$type: 1, id: "x" },
  { sessionId: "x:0", send: 1, ref: {}, status: "active", id: "y" },
];

describe("a start", () => {
  test.each(hostile)("with %s is refused, and nothing is written", async (_what, value, code) => {
    const { client } = top([echo]);
    const refused = client.startByName("echo", { value } as never, { id: "r1" });
    await expect(refused).rejects.toMatchObject({ code: code === "INVALID" ? "INPUT_INVALID" : code });
    expect((await client.list()).runs).toEqual([]);
    await expect(client.run("r1").get()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test("under an id, or for a tenant, that is none is refused", async () => {
    const { client } = top([echo]);
    for (const id of ids) {
      await expect(client.startByName("echo", { value: 1 }, { id })).rejects.toMatchObject({ code: "ID_INVALID" });
      await expect(client.startByName("echo", { value: 1 }, { tenant: id })).rejects.toMatchObject({
        code: "ID_INVALID",
      });
    }
    expect((await client.list()).runs).toEqual([]);
  });

  test("again is the first one, with another body a conflict that names it, and of another tenant its own", async () => {
    const { client, worker } = top([echo]);
    const first = await client.startByName("echo", { value: 1 }, { id: "r1" });
    expect((await client.startByName("echo", { value: 1 }, { id: "r1" })).id).toBe(first.id);
    await expect(client.startByName("echo", { value: 2 }, { id: "r1" })).rejects.toMatchObject({
      code: "RUN_CONFLICT",
    });
    const other = await client.startByName("echo", { value: 2 }, { id: "r1", tenant: "acme" });
    await worker();
    for (const run of [first, other]) await until(async () => (await run.get()).waitingFor === "event");
    expect([(await first.get()).input, (await other.get()).input]).toEqual([{ value: 1 }, { value: 2 }]);
  });
});

describe("what JSON can say", () => {
  test.each<[string, unknown]>([
    ["odd strings, numbers and keys", odd],
    ["what looks like actors of XState's own", actorLike],
  ])("%s: comes back exactly, from input, step, event and context, over a restart", async (_what, value) => {
    const { client, worker } = top([echo]);
    const first = await worker();
    const run = await client.startByName("echo", { value } as never, { id: "r1" });
    await until(async () => (await run.get()).waitingFor === "event");
    await first.stop();
    await worker();
    await client.run("r1").signal("SAY", { value } as never);
    await client.run("r1").signal("END", {});
    expect(await run.result({ timeout: "20s" })).toEqual({ value, said: value, count: 1 });
  });
});

describe("a signal", () => {
  test("with what is no JSON, or of a type that nobody sends from outside, is refused, and the run stays as it was", async () => {
    const { client } = top([echo]);
    const run = await client.startByName("echo", { value: 1 }, { id: "r1" });
    for (const [, value, code] of hostile) {
      const refused = run.signal("SAY", { value } as never);
      await expect(refused).rejects.toMatchObject({ code: code === "INVALID" ? "EVENT_INVALID" : code });
    }
    const reserved = [
      "xstate.done.actor.0.x",
      "xstate.stop",
      "done.invoke.keep",
      "error.platform.keep",
      "*",
      "SAY.*",
      "",
      "__proto__",
    ];
    for (const event of reserved) {
      await expect(run.signal(event, {})).rejects.toMatchObject({ code: "EVENT_UNKNOWN" });
    }
    for (const id of ids) {
      await expect(run.signal("SAY", { value: 1 }, { id })).rejects.toMatchObject({ code: "ID_INVALID" });
    }
    await expect(client.run("r1", { tenant: "acme" }).signal("SAY", { value: 1 })).rejects.toMatchObject({
      code: "RUN_NOT_FOUND",
    });
    expect((await run.get()).revision).toBe(1);
  });

  test("comes a thousand times at once, some of them twice, and counts once each; after the end it is refused", async () => {
    const { client, worker, replica } = top([echo]);
    await worker();
    const run = await client.startByName("echo", { value: 1 }, { id: "r1" });
    await until(async () => (await run.get()).waitingFor === "event");
    const { revision: waiting } = await run.get();
    const other = replica().run("r1");
    const send = (at: number) => (at % 2 === 0 ? run : other).signal("SAY", { value: at }, { id: `s${at}` });
    const numbers = Array.from({ length: 1_000 }, (_, at) => at);
    const answers = await Promise.all([...numbers, ...numbers.slice(0, 100)].map(send));
    expect(answers.filter((answer) => answer === "duplicate")).toHaveLength(100);
    // The thousand fill the inbox: there is room again when a slow worker has taken some.
    await until(async () => (await run.get()).revision > waiting);
    await run.signal("END", {});
    expect(await run.result({ timeout: "25s" })).toMatchObject({ count: 1_000 });
    await expect(run.signal("SAY", { value: 1 })).rejects.toMatchObject({ code: "RUN_ENDED" });
  });
});
