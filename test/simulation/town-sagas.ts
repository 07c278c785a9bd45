/**
 * Sagas of a town, put together by chance: approvals and gates, child runs of other sagas of the town (one, several at once, a
 * list of them, detached), turns, budgets and deadlines, around effects of every class. The same seed gives the same sagas.
 *
 * Invariants: T1 a saga starts runs of sagas made before it, so that there is an end to it. T2 every step is given `{ id }` and
 * passes exactly that to the outside: what the world is asked for can be compared with what people approved.
 */
import { z } from "zod";
import {
  absent,
  child,
  type GateOptions,
  happened,
  type Saga,
  type Step,
  saga,
  stepsFor,
} from "../../src/saga/index.ts";
import type { Random } from "./random.ts";
import {
  approveOrder,
  chargeCard,
  orderSaga,
  pickParcel,
  reserveStock,
  type SimServices,
  sendMail,
  waitSaga,
} from "./sagas.ts";

const { step } = stepsFor<SimServices>();
const Id = z.object({ id: z.string() });
const Ref = z.object({ ref: z.string() });
const Order = z.object({ id: z.string(), refuse: z.boolean() });
const quick = { timeout: "2s", lateness: "3s", retry: { attempts: 4, initial: "100ms", max: "2s" } } as const;

/** Whoever asks, and so may not decide. */
export const requester = "rex";

/** The builder, types erased: which parts a saga has is only known at run time. */
interface AnyLine {
  step(step: Step, mapper: (view: View) => unknown): AnyLine;
  each(items: (view: View) => readonly unknown[], step: Step, options: object): AnyLine;
  parallel(branches: Readonly<Record<string, (branch: AnyLine) => AnyLine>>): AnyLine;
  approval(name: string, options: object, mapper: (view: View) => unknown): AnyLine;
  waitFor(event: string): AnyLine;
  wait(duration: string): AnyLine;
  build(): Saga;
}
interface View {
  readonly input: { readonly id: string; readonly refuse: boolean };
}
type Part = (line: AnyLine) => AnyLine;

const toId = ({ input }: View) => ({ id: input.id });
const plain = (made: unknown, mapper: (view: View) => unknown = toId): Part => {
  return (line) => line.step(made as Step, mapper);
};

/** The sagas of one town; runs are started of each, and moved from version 1 to 2 of the last. */
export function townSagas(random: Random): readonly Saga[] {
  const towns: Saga[] = [];
  for (let n = 0; n < 3; n += 1) towns.push(townSaga(`town${n}`, random, towns));
  return [...towns, lasting(1), lasting(2)];
}

function townSaga(name: string, random: Random, before: readonly Saga[]): Saga {
  const start = saga(name, {
    version: 1,
    input: Order,
    events: { GO: z.object({}) },
    unwind: random.pick(["reverse", "reverse", "parallel-regions"] as const),
    ...boundsOf(random),
  } as never) as unknown as AnyLine;
  return partsOf(random, before)
    .reduce((line, part) => part(line), start)
    .build();
}

/** What bounds its runs: turns of the whole town, a time, what they may use. */
function boundsOf(random: Random): object {
  const limit = random.between(1, 2);
  const then = random.pick(["compensate", "review"] as const);
  const after = `${random.between(6, 40)}s`;
  const hard = random.between(2, 4);
  return {
    ...(random.chance(0.4) ? { concurrency: { key: () => "town", limit } } : {}),
    ...(random.chance(0.3) ? { deadline: { after, then } } : {}),
    ...(random.chance(0.5) ? { budget: { steps: { soft: 1, hard }, money: { soft: 2, hard: hard * 2 } } } : {}),
    ...(random.chance(0.2) ? { loopLimit: 1 } : {}),
  };
}

// ---- parts

function partsOf(random: Random, before: readonly Saga[]): readonly Part[] {
  const asking = [plain(payOut(random)), consent(random), plain(clerk(random))];
  const all: Part[] = [
    plain(reserveStock),
    plain(chargeCard),
    plain(pickParcel),
    plain(approveOrder, ({ input }) => ({ refuse: input.refuse })),
    plain(meter),
    childPart(random, before, "kin"),
    childPart(random, before, "cousin"),
    plain(child(random.pick([orderSaga, ...before]) as Saga, { name: "aside", detached: true }), quiet),
    flock(random, before),
  ];
  const some = shuffled(random, all).slice(0, random.between(2, 5));
  const parts = shuffled(random, [...some, ...shuffled(random, asking).slice(0, random.between(1, 2))]);
  if (random.chance(0.3)) parts.push(random.chance(0.5) ? (line) => line.waitFor("GO") : (line) => line.wait("3s"));
  if (random.chance(0.3)) parts.push(plain(sendMail));
  if (parts.length < 3 || random.chance(0.5)) return parts;
  const [left, right, ...rest] = parts as [Part, Part, ...Part[]];
  return [(line) => line.parallel({ left, right }), ...rest];
}

/** No child of it refuses. */
const quiet = ({ input }: View) => ({ id: input.id, refuse: false });

function childPart(random: Random, before: readonly Saga[], name: string): Part {
  const of = random.pick([orderSaga, waitSaga, ...before]) as Saga;
  const passesOn = random.chance(0.5);
  return plain(child(of, { name }), ({ input }) => (passesOn ? input : quiet({ input })));
}

/** Runs over a list; the last one may say no. */
function flock(random: Random, before: readonly Saga[]): Part {
  const of = child(random.pick([orderSaga, ...before]) as Saga, { name: "sheep" }) as Step;
  const [many, size, concurrency] = [random.between(1, 4), random.between(1, 3), random.between(1, 3)];
  const items = ({ input }: View) =>
    Array.from({ length: many }, (_, n) => ({ id: `${input.id}-${n}`, refuse: input.refuse && n === many - 1 }));
  return (line) => line.each(items, of, { size, concurrency });
}

function shuffled<Item>(random: Random, items: readonly Item[]): Item[] {
  const order = items.map((item) => ({ item, at: random.next() }));
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item);
}

// ---- people

function terms(random: Random): GateOptions {
  const by = random.pick([null, "finance", ["finance", "board"]]);
  const expires = `${random.between(4, 20)}s` as const;
  const asksAll = random.chance(0.7);
  return {
    ...(by === null ? {} : { by }),
    ...(by === null || random.chance(0.5) ? {} : { escalate: [{ after: "2s", to: "board" }] }),
    ...(random.chance(0.5) ? { expires, onExpire: random.pick(["reject", "review"] as const) } : {}),
    quorum: random.between(1, 2),
    requester,
    allow: ["approve", "edit", "reject", "ask_back"],
    when: ({ input }) => asksAll || !(input as { readonly id: string }).id.endsWith("1"),
  };
}

/** A payment that people let go. */
function payOut(random: Random) {
  return step("payOut", {
    input: Id,
    output: Ref,
    effect: "keyed",
    approve: terms(random),
    action: (c) => c.services.call("charge", c.input, c),
    probe: async (c) => {
      const found = await c.services.find("charge", c);
      return found === undefined ? absent() : happened(found);
    },
    compensate: async (c) => void (await c.services.undo("charge", c.output, c)),
    ...quick,
  });
}

function consent(random: Random): Part {
  const options = { ...terms(random), question: "Shall it be done?", input: Id };
  return (line) => line.approval("consent", options, toId);
}

/** An action that uses two tools, one of which people are asked about. */
function clerk(random: Random) {
  return step("clerk", {
    input: Id,
    effect: "none",
    uses: { payOut: step("payTool", { ...toolBasics, approve: terms(random) }), reserveTool },
    action: async ({ input, tools, spend }) => {
      await tools.reserveTool(input, { key: 0 });
      await spend({ money: 1 }, { key: "stamps" });
      await tools.payOut(input, { key: "pay" });
    },
    ...quick,
    timeout: "60s",
  });
}

const toolBasics = {
  input: Id,
  output: Ref,
  effect: "idempotent",
  action: (c: { readonly services: SimServices; readonly input: { id: string } } & Call) =>
    c.services.call("reserve", c.input, c),
  compensate: async (c: { readonly services: SimServices; readonly output: { ref: string } } & Call) =>
    void (await c.services.undo("reserve", c.output, c)),
  ...quick,
} as const;
interface Call {
  readonly operationId: string;
  readonly signal: AbortSignal;
}
const reserveTool = step("reserveTool", toolBasics);

/** Uses money, as often as it is called. */
const meter = step("meter", {
  input: Id,
  output: Ref,
  effect: "keyed",
  action: async (c) => {
    await c.spend({ money: 2 }, { key: c.attempt });
    return await c.services.call("charge", c.input, c);
  },
  compensate: async (c) => void (await c.services.undo("charge", c.output, c)),
  ...quick,
});

// ---- change

/** Waits for a word, in two versions; the second one picks a parcel as well. */
function lasting(version: 1 | 2): Saga {
  const migrate = version === 1 ? {} : { migrate: { 1: keptAsItIs } };
  const start = saga("lasting", { version, input: Order, events: { GO: z.object({}) }, ...migrate });
  const waiting = start.step(chargeCard, toId).waitFor("GO").wait("2s");
  return (version === 1 ? waiting : waiting.step(pickParcel, toId)).step(sendMail, toId).build();
}

const keptAsItIs = <Run>(run: Run): Run => run;
