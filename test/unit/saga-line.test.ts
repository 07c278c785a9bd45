import { describe, expect, test } from "vitest";
import { type AnyMachineSnapshot, type AnyStateMachine, initialTransition, transition } from "xstate";
import { z } from "zod";
import { RepriseError } from "../../src/errors.ts";
import { decodeInput, type Finding, isSaga, type Saga, saga, step } from "../../src/saga/index.ts";
import { graphOf } from "../../src/saga/inspect.ts";

const input = z.object({ id: z.string(), cents: z.int() });
const noCompensation = "it stays";
const make = <const Name extends string>(name: Name) =>
  step(name, {
    input: z.object({ from: z.string() }),
    output: z.object({ by: z.string() }),
    effect: "idempotent",
    noCompensation,
    action: () => ({ by: name }),
  });
const [a, b, c, d] = [make("a"), make("b"), make("c"), make("d")];
const options = { version: 1, input };
const from = (text: string) => () => ({ from: text });

type Results = Readonly<Record<string, unknown>>;

/** Drives a machine as the machine port does: pure transitions, the context handed in (or kept, where it is its own). */
class Driver {
  readonly #saga: Saga;
  readonly #input: unknown;
  readonly #results: Record<string, unknown> = {};
  readonly started: { readonly step: string; readonly input: unknown }[] = [];
  #snapshot: AnyMachineSnapshot;

  constructor(declared: Saga, runInput: unknown) {
    this.#saga = declared;
    this.#input = runInput;
    const [snapshot, actions] = initialTransition(this.#machine, runInput);
    this.#snapshot = snapshot;
    this.#note(actions);
  }

  get #machine(): AnyStateMachine {
    return this.#saga.machine;
  }

  get value(): unknown {
    return this.#snapshot.value;
  }

  get output(): unknown {
    return this.#snapshot.status === "done" ? this.#snapshot.output : "not done";
  }

  get last(): unknown {
    return this.started.at(-1);
  }

  done(name: string, output: unknown): this {
    this.#results[name] = output;
    const call = graphOf(this.#machine).calls.find((one) => one.spec.name === name);
    return this.#feed({ type: `xstate.done.actor.${call?.invoke}`, output } as { readonly type: string });
  }

  send(event: { readonly type: string }): this {
    return this.#feed(event);
  }

  #feed(event: { readonly type: string }): this {
    const { value, context, status } = this.#snapshot;
    const handedIn = this.#saga.spec.context === "own" ? context : this.#view();
    // Through JSON, as between any two events of a run.
    const stored = JSON.parse(JSON.stringify({ value, context: handedIn, status }));
    const [snapshot, actions] = transition(this.#machine, this.#machine.resolveState(stored), event);
    this.#snapshot = snapshot;
    this.#note(actions);
    return this;
  }

  #view(): { readonly input: unknown; readonly results: Results } {
    return { input: this.#input, results: this.#results };
  }

  #note(actions: readonly { readonly type: string; readonly params?: unknown }[]): void {
    for (const action of actions) {
      if (action.type !== "xstate.spawnChild") continue;
      const { src, input: stepInput } = action.params as { readonly src: string; readonly input: unknown };
      this.started.push({ step: src, input: stepInput });
    }
  }
}

const run = { id: "o-1", cents: 40 };

function codeOf(declare: () => unknown): string {
  try {
    declare();
  } catch (error) {
    expect(error).toBeInstanceOf(RepriseError);
    const findings = (error as RepriseError).details["findings"] as readonly Finding[];
    expect(findings[0]?.saga).toBe("line");
    return findings.map((finding) => finding.code).join();
  }
  return expect.unreachable("the declaration should have been refused");
}

describe("a straight line", () => {
  const line = saga("line", options)
    .step(a, ({ input }) => ({ from: input.id }))
    .step(b, ({ results }) => ({ from: results.a.by }))
    .build();

  test("is a saga, its states named like its steps, its context handed in", () => {
    expect(isSaga(line)).toBe(true);
    expect(line.spec).toMatchObject({
      name: "line",
      version: 1,
      context: "results",
      unwind: "reverse",
      pool: "default",
    });
    expect(Object.keys(line.machine.root.states)).toEqual(["a", "b", "done"]);
    expect(Object.keys(line.spec.steps)).toEqual(["a", "b"]);
    expect(line.machine.options).toEqual({ maxIterations: 1_000 });
    expect(line.machine.root.states["a"]?.invoke[0]?.id).toBe("0.line.a");
  });

  test("runs its steps in turn, each mapper reading input and results, and results in all of them", () => {
    const driver = new Driver(line, run);
    expect(driver.last).toEqual({ step: "a", input: { from: "o-1" } });
    driver.done("a", { by: "A" });
    expect(driver.last).toEqual({ step: "b", input: { from: "A" } });
    driver.done("b", { by: "B" });
    expect(driver.output).toEqual({ a: { by: "A" }, b: { by: "B" } });
    expect(driver.started).toHaveLength(2);
  });

  test("may say its own output", () => {
    const short = saga("line", options)
      .step(a, from("x"))
      .build({ output: ({ input, results }) => `${input.id}:${results.a.by}` });
    expect(new Driver(short, run).done("a", { by: "A" }).output).toBe("o-1:A");
  });

  test("gives a step the saga's input where there is no mapper", () => {
    const same = saga("line", { version: 1, input: z.object({ from: z.string() }) })
      .step(a)
      .build();
    expect(new Driver(same, { from: "me" }).last).toEqual({ step: "a", input: { from: "me" } });
  });

  test("may be continued in two ways from one point", () => {
    const start = saga("line", options).step(a, from("x"));
    const one = start.step(b, from("y")).build();
    const other = start.step(c, from("z")).build();
    expect(Object.keys(one.spec.steps)).toEqual(["a", "b"]);
    expect(Object.keys(other.spec.steps)).toEqual(["a", "c"]);
  });

  test("has 40 steps without trouble", () => {
    const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
    // Typed one by one in test/types; here only the compiling to a machine matters.
    type Loose = { step(one: unknown, mapper: () => unknown): Loose; build(): Saga };
    const start = saga("line", options) as unknown as Loose;
    const forty = names.reduce((sofar, name) => sofar.step(make(name), from("x")), start).build();
    const driver = new Driver(forty, run);
    for (const name of names) driver.done(name, { by: name });
    expect(Object.keys(driver.output as object)).toEqual(names);
  });
});

describe("branches", () => {
  const trip = saga("line", options)
    .step(a, from("x"))
    .parallel({
      flight: (branch) => branch.step(b, ({ results }) => ({ from: results.a.by })).wait("1h"),
      hotel: (branch) => branch.step(c, ({ results }) => ({ from: results.a.by })),
    })
    .step(d, ({ results }) => ({ from: results.b.by + results.c.by }))
    .build();

  test("run side by side, and what follows waits for all of them", () => {
    const driver = new Driver(trip, run).done("a", { by: "A" });
    expect(driver.value).toEqual({ "flight+hotel": { flight: "b", hotel: "c" } });
    expect(driver.started.slice(1)).toEqual([
      { step: "b", input: { from: "A" } },
      { step: "c", input: { from: "A" } },
    ]);
    driver.done("c", { by: "C" }).done("b", { by: "B" });
    expect(driver.value).toEqual({ "flight+hotel": { flight: "wait_1h", hotel: "done" } });
    driver.send({ type: "xstate.after.3600000.line.flight+hotel.flight.wait_1h" });
    expect(driver.last).toEqual({ step: "d", input: { from: "BC" } });
    expect(driver.done("d", { by: "D" }).output).toMatchObject({ b: { by: "B" }, c: { by: "C" }, d: { by: "D" } });
  });

  test("a branch under .when runs if the guard says so", () => {
    const maybe = saga("line", options)
      .when(
        ({ input }) => input.cents > 50,
        (branch) => branch.step(a, from("x")).step(b, from("y")),
      )
      .step(c, ({ results }) => ({ from: results.b?.by ?? "nobody" }))
      .build();
    expect(new Driver(maybe, run).started).toEqual([{ step: "c", input: { from: "nobody" } }]);
    const taken = new Driver(maybe, { ...run, cents: 60 }).done("a", { by: "A" }).done("b", { by: "B" });
    expect(taken.last).toEqual({ step: "c", input: { from: "B" } });
    expect(Object.keys(maybe.machine.root.states)).toEqual(["a?", "a", "b", "c", "done"]);
  });

  test("may stand inside each other", () => {
    const nested = saga("line", options)
      .parallel({
        one: (outer) =>
          outer.when(
            () => true,
            (inner) => inner.parallel({ two: (branch) => branch.step(a, from("x")) }),
          ),
        three: (outer) => outer.wait(5),
      })
      .build();
    const driver = new Driver(nested, run);
    expect(driver.value).toEqual({ "one+three": { one: { two: { two: "a" } }, three: "wait_5ms" } });
    driver.done("a", { by: "A" }).send({ type: "xstate.after.5.line.one+three.three.wait_5ms" });
    expect(driver.output).toEqual({ a: { by: "A" } });
  });
});

describe("waiting", () => {
  test(".wait goes on when its time has come", () => {
    const slow = saga("line", options).wait("24h").wait("24h").step(a, from("x")).build();
    const driver = new Driver(slow, run);
    expect(driver.value).toBe("wait_24h");
    driver.send({ type: "xstate.after.86400000.line.wait_24h" });
    expect(driver.value).toBe("wait_24h~2");
    driver.send({ type: "xstate.after.86400000.line.wait_24h~2" });
    expect(driver.last).toEqual({ step: "a", input: { from: "x" } });
  });

  test(".waitFor keeps what came with the event, together with all results, in the machine's own context", () => {
    const events = { "order.approved": z.object({ by: z.string() }) };
    const asked = saga("line", { ...options, events })
      .step(a, from("x"))
      .waitFor("order.approved")
      .step(b, ({ results }) => ({ from: results.a.by + results["order.approved"].by }))
      .build();
    expect(asked.spec.context).toBe("own");
    const driver = new Driver(asked, run).done("a", { by: "A" });
    expect(driver.value).toBe("await_order_approved");
    driver.send({ type: "order.approved", by: "Ann" } as { readonly type: string });
    expect(driver.last).toEqual({ step: "b", input: { from: "AAnn" } });
    expect(driver.done("b", { by: "B" }).output).toEqual({
      a: { by: "A" },
      "order.approved": { by: "Ann" },
      b: { by: "B" },
    });
  });
});

describe("a step's state keeps its name whatever stands beside it", () => {
  test("a step called done, or like a branch", () => {
    const odd = saga("line", options)
      .step(make("done"), from("x"))
      .parallel({ one: (branch) => branch.step(make("one"), from("y")) })
      .build();
    expect(Object.keys(odd.machine.root.states)).toEqual(["done", "one~2", "done~2"]);
    const driver = new Driver(odd, run).done("done", { by: "1" }).done("one", { by: "2" });
    expect(driver.output).toEqual({ done: { by: "1" }, one: { by: "2" } });
  });
});

describe("a step over a list", () => {
  const items = () => [{ from: "x" }, { from: "y" }];

  test("is a step that uses it as its tool, known by the step's name with Each or by the one that is given", () => {
    const line = saga("line", options)
      .each(items, a)
      .each(items, a, { as: "again", size: 1, concurrency: 2 })
      .step(b, ({ results }) => ({ from: results.again[0]?.by ?? "" }))
      .build();
    expect(Object.keys(line.spec.steps).sort()).toEqual(["a", "aEach", "again", "b"]);
    expect(line.spec.steps["aEach"]).toMatchObject({ effect: "none", uses: { item: a.spec } });
    const driver = new Driver(line, run).done("aEach", [{ by: "1" }]).done("again", [{ by: "2" }]);
    expect(driver.last).toEqual({ step: "b", input: { from: "2" } });
  });

  test("judges every item before the first is begun, and names the ones that do not fit", () => {
    const { steps } = saga("line", options).each(items, a).build().spec;
    const batch = steps["aEach"];
    expect(batch && decodeInput(batch, [{ from: "x" }])).toMatchObject({ ok: true });
    expect(batch && decodeInput(batch, [{ from: "x" }, { from: 7 }])).toMatchObject({
      ok: false,
      problem: expect.stringContaining("1"),
    });
  });

  test.each([
    ["a size that is none", "BATCH", () => saga("line", options).each(items, a, { size: 0 })],
    ["a concurrency that is none", "BATCH", () => saga("line", options).each(items, a, { concurrency: 1.5 })],
    ["no step", "NOT_A_STEP", () => saga("line", options).each(items as never, {} as never)],
    [
      "a name that is taken",
      "STEP_NAME_TWICE",
      () =>
        saga("line", options)
          .each(items, a)
          .each(items, a as never)
          .build(),
    ],
  ])("with %s is refused", (_what, code, declare) => {
    expect(codeOf(declare)).toBe(code);
  });
});

describe("a line that makes no sense is refused", () => {
  test.each([
    [
      "two steps of one name in a row",
      () =>
        saga("line", options)
          .step(a, from("x"))
          .step(make("a") as never, from("y"))
          .build(),
    ],
    [
      "two steps of one name in two branches",
      () => {
        // What the compiler refuses (test/types), written as JavaScript would.
        type Branch = { step(one: unknown, mapper: () => unknown): Branch };
        const withA = (branch: Branch): Branch => branch.step(a, from("x"));
        return saga("line", options)
          .parallel({ one: withA, two: withA } as never)
          .build();
      },
    ],
  ])("%s", (_what, declare) => {
    expect(codeOf(declare)).toBe("STEP_NAME_TWICE");
  });

  test.each([
    ["no steps", "EMPTY_SAGA", () => saga("line", options).build()],
    [
      "an empty branch",
      "EMPTY_BRANCH",
      () =>
        saga("line", options).when(
          () => true,
          (branch) => branch,
        ),
    ],
    ["no branches", "EMPTY_BRANCH", () => saga("line", options).parallel({})],
    ["something else than a step", "NOT_A_STEP", () => saga("line", options).step({} as never, from("x") as never)],
    ["an event without schema", "EVENT_UNKNOWN", () => saga("line", options).waitFor("X" as never)],
    ["a version of 0", "VERSION", () => saga("line", { version: 0, input }).step(a, from("x")).build()],
    [
      "a pool with a blank",
      "POOL_NAME",
      () =>
        saga("line", { ...options, pool: "a b" })
          .step(a, from("x"))
          .build(),
    ],
    [
      "an input that is not JSON",
      "SCHEMA",
      () =>
        saga("line", { version: 1, input: z.date() as never })
          .step(a, from("x"))
          .build(),
    ],
    [
      "a reserved event name",
      "EVENT_NAME",
      () =>
        saga("line", { ...options, events: { "xstate.x": z.object({}) } })
          .step(a, from("x"))
          .build(),
    ],
    [
      "an event payload that is no object",
      "EVENT_PAYLOAD",
      () =>
        saga("line", { ...options, events: { X: z.string() } })
          .step(a, from("x"))
          .build(),
    ],
  ])("%s", (_what, code, declare) => {
    expect(codeOf(declare)).toBe(code);
  });

  test("a malformed saga name", () => {
    expect(() => saga("a b", options).step(a, from("x")).build()).toThrow(/\[SAGA_NAME\]/);
  });
});
