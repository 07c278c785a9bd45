/** What is said of a saga whose structure has changed under its version: what is gone, what is different, what is new. */
import { expect, test } from "vitest";
import { log, setup } from "xstate";
import { z } from "zod";
import { outlineOf, registrationOf, structureChanges } from "../../src/core/index.ts";
import { type Saga, saga, step } from "../../src/saga/index.ts";

interface Parts {
  readonly states: object;
  readonly effect?: "keyed" | "once";
  readonly cents?: z.ZodType;
  readonly events?: Readonly<Record<string, z.ZodObject>>;
  readonly delays?: Readonly<Record<string, number>>;
  readonly input?: z.ZodObject;
}

const done = { type: "final" };
const shipping = { invoke: { src: "ship", onDone: "done" } };
const paying = { invoke: { src: "charge", onDone: "waiting", onError: "failed" } };
const failed = { type: "final", tags: ["unwind"] };
const waiting = { on: { PAID: "shipping" } };
const usual = { paying, waiting, shipping, done, failed };

function order({ states, effect = "keyed", cents = z.int(), events = { PAID: z.object({}) }, ...more }: Parts): Saga {
  const rest = { effect, action: () => undefined, noCompensation: "a test" } as const;
  const charge = step("charge", { input: z.object({ cents }), ...rest });
  const ship = step("ship", { input: z.json(), ...rest, effect: "keyed" });
  const { delays = {}, input = z.object({ id: z.string() }) } = more;
  const parts = {
    actors: { charge, ship },
    delays,
    guards: { isRich: () => true },
    actions: { note: log("paid") },
  };
  const machine = setup(parts as never).createMachine({ id: "order", initial: "paying", context: {}, states } as never);
  // The machine is put together at run time; `saga` judges it.
  return saga("order", { version: 1, input, events } as never).machine(machine as never);
}

const changes = (before: Parts, after: Parts) =>
  structureChanges(registrationOf(order(before)), registrationOf(order(after)));

test("nothing where nothing changed", () => {
  expect(changes({ states: usual }, { states: usual })).toEqual([]);
});

test("what is gone, what is different, what is new, in this order, and schemas last", () => {
  const forked = [{ target: "gift", guard: "isRich", actions: "note" }, { target: "shipping" }];
  const after: Parts = {
    states: {
      paying: { ...paying, invoke: { ...paying.invoke, onDone: forked }, tags: ["savepoint"] },
      gift: { on: { PAID: "shipping" }, after: { patience: "failed" } },
      shipping,
      done,
      failed,
    },
    effect: "once",
    cents: z.string(),
    events: { PAID: z.object({}), GIFT: z.object({}) },
    delays: { patience: 100 },
  };
  expect(changes({ states: usual }, after)).toEqual([
    "state order.waiting is gone",
    "step charge: effect keyed -> once",
    "state order.paying: tags none -> savepoint",
    "state order.paying, when charge is done: to order.waiting -> to order.gift if isRich doing note, else to order.shipping",
    "state order.gift is new",
    "event GIFT is new",
    "delay patience is new (100)",
    expect.stringMatching(
      /^schema of charge input: cents\.maximum: .* -> nothing; .*cents\.type: "integer" -> "string"$/,
    ),
  ]);
});

test("transitions are told by what triggers them", () => {
  const before = {
    paying: { ...paying, after: { 1000: "failed" } },
    waiting: { after: { 5000: "shipping" }, on: { PAID: [{ target: "shipping", guard: () => true }, {}] } },
    shipping: {
      initial: "in",
      onDone: "done",
      states: { in: { invoke: { src: "ship", id: "shipper", onDone: "out" } }, out: done },
    },
    done,
    failed,
  };
  const after = {
    paying: { ...paying, always: { target: "failed", guard: "isRich" } },
    waiting: { on: { PAID: { target: "waiting", reenter: true } }, after: { 5000: "shipping" } },
    shipping: {
      initial: "in",
      onDone: "failed",
      states: { in: { invoke: { src: "ship", onDone: "out" } }, out: done },
    },
    done,
    failed,
  };
  expect(changes({ states: before }, { states: after })).toEqual([
    "state order.paying, after 1000 is gone (to order.failed)",
    "state order.waiting, on PAID: to order.shipping if inline, else stays -> to order.waiting anew",
    "state order.shipping, when it is done: to order.done -> to order.failed",
    "state order.shipping.in, calling ship: as shipper -> none",
    "state order.paying, always is new (to order.failed if isRich)",
  ]);
});

test("what has no words of its own is told as it stands", () => {
  const [one, other] = [{ src: "charge" }, { src: "ship" }];
  const both = (invoke: object) => ({ paying: { invoke, on: { PAID: "done" } }, done });
  expect(changes({ states: both([one, other]) }, { states: both([other, one]) })).toEqual([
    expect.stringMatching(/^root\.states\[order\.paying\]\.invoke/),
    expect.stringMatching(/^root\.states\[order\.paying\]\.invoke/),
  ]);
});

test("what was called in another state than the one that hears of it is told by its id", () => {
  const mine = registrationOf(order({ states: usual }));
  const { root, ...rest } = JSON.parse(mine.structure);
  const transitions = [{ event: "xstate.done.actor.elsewhere", targets: ["order.done"] }];
  const heard = { ...mine, structure: JSON.stringify({ ...rest, root: { ...root, transitions } }) };
  expect(structureChanges(mine, heard)).toEqual(["state order, when elsewhere is done is new (to order.done)"]);
});

test("many lines, and many differences of one schema, are cut", () => {
  const states = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`s${at}`, { on: { PAID: "done" } }]));
  const lines = changes({ states: usual }, { states: { ...usual, ...states } });
  expect([lines.length, lines.at(-1)]).toEqual([13, "and 18 more"]);
  const input = z.object({ id: z.string(), a: z.string(), b: z.string(), c: z.string() });
  const [line] = changes({ states: usual }, { states: usual, input });
  expect(line).toMatch(/^schema of input: a: nothing -> .*; b: .*; c: .*; and \d more$/);
});

test("schemas are told whatever the order in which they are written, and not where one side does not know them", () => {
  const input = (keys: readonly string[]) => z.object(Object.fromEntries(keys.map((key) => [key, z.iso.date()])));
  const one = { states: usual, input: input(["a", "b"]) };
  expect(changes(one, { states: usual, input: input(["b", "a"]) })).toEqual([]);
  const mine = registrationOf(order(one));
  expect(structureChanges({ ...mine, schemas: "" }, mine)).toEqual([]);
  expect(structureChanges(mine, { ...mine, schemas: "{}" })).toEqual([]);
});

test("an outline has every state and every transition that does something, in words", () => {
  const forked = [{ target: "gift", guard: "isRich", actions: "note" }, { target: "shipping" }];
  const past = { type: "history" };
  const states = {
    paying: { ...paying, invoke: { ...paying.invoke, onDone: forked } },
    gift: { initial: "a", states: { a: { on: { PAID: {} } }, past }, on: { PAID: "shipping" } },
    shipping,
    done,
    failed,
  };
  const outline = outlineOf(registrationOf(order({ states })).structure);
  expect(outline.states.map((id) => id.replace("order", ""))).toEqual([
    "",
    ".paying",
    ".gift",
    ".gift.a",
    ".shipping",
    ".done",
    ".failed",
  ]);
  expect(outline.transitions.map(({ source, nth, text }) => `${source} ${nth} ${text}`)).toEqual([
    "order.paying 0 when charge is done: to order.gift if isRich doing note",
    "order.paying 1 when charge is done: to order.shipping",
    "order.paying 0 when charge fails: to order.failed",
    "order.gift 0 on PAID: to order.shipping",
    "order.shipping 0 when ship is done: to order.done",
  ]);
});
