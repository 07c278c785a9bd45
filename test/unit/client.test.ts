import { describe, expect, test } from "vitest";
import { setup as machineOf } from "xstate";
import { z } from "zod";
import { connectedClient, ResultTimeout, RunNeedsReview, type RunView } from "../../src/client/index.ts";
import type { Store } from "../../src/core/index.ts";
import { RepriseError } from "../../src/errors.ts";
import { fail, saga, step } from "../../src/saga/index.ts";
import { benchTop, wrapped } from "./engine/bench-top.ts";

const input = z.object({ n: z.number() });
const act = step("act", {
  input,
  output: input,
  effect: "keyed",
  action: ({ input }) => input,
  compensate: () => undefined,
});
const line = saga("line", { version: 1, input, events: { GO: z.object({ n: z.number() }) } })
  .step(act, ({ input }) => input)
  .waitFor("GO")
  .build({ output: ({ results }) => results.act });

function setup(over: (store: Store) => Partial<Store> = () => ({})) {
  const top = benchTop([line]);
  const reads: number[] = [];
  const counted = wrapped((store) => ({
    read: (run) => {
      reads.push(top.clock.monotonicMs());
      return store.read(run);
    },
    ...over(store),
  }))(top.store);
  const ports = { ...top.ports, store: counted };
  const client = connectedClient(ports, { namespace: "test", sagas: [line], maxPayloadBytes: 1_000, maxReplays: 10 });
  return { ...top, client, reads };
}

/** Whether a promise has settled, and with what. */
function settling<Value>(promise: Promise<Value>) {
  const seen: { value?: Value; error?: unknown } = {};
  promise.then(
    (value) => {
      seen.value = value;
    },
    (error: unknown) => {
      seen.error = error;
    },
  );
  return seen;
}

describe("a result", () => {
  test("comes with the notification, without asking again and again", async () => {
    const { client, clock, worker, reads } = setup();
    await worker().start();
    const run = await client.start(line, { n: 7 }, { id: "r" });
    const result = settling(run.result());
    await clock.advance(500);
    const before = reads.length;
    await clock.advance(1_000);
    expect(reads.length).toBe(before);
    await run.signal("GO", { n: 1 });
    await clock.advance(100);
    expect(result).toEqual({ value: { n: 7 } });
  });

  test("comes within two seconds when every notification is lost", async () => {
    const { client, clock, worker } = setup(() => ({ watch: async () => async () => undefined }));
    await worker().start();
    const run = await client.start(line, { n: 7 });
    await run.signal("GO", { n: 1 });
    const result = settling(run.result());
    await clock.advance(2_100);
    expect(result).toEqual({ value: { n: 7 } });
  });

  test("is waited for while the store is away, but not asked for in vain at first", async () => {
    let away = false;
    const { client, clock, worker } = setup((store) => ({
      read: async (run) => {
        if (away) throw new RepriseError("STORE_UNAVAILABLE", "away");
        return await store.read(run);
      },
    }));
    await worker().start();
    const run = await client.start(line, { n: 7 });
    const result = settling(run.result({ timeout: "1m" }));
    await clock.advance(100);
    away = true;
    await clock.advance(5_000);
    await expect(run.result()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(result).toEqual({});
    await run.signal("GO", { n: 1 });
    await clock.advance(1_000);
    away = false;
    await clock.advance(3_000);
    expect(result).toEqual({ value: { n: 7 } });
  });

  test("that does not come in time says how the run stands", async () => {
    const { client, clock, worker } = setup();
    await worker().start();
    const run = await client.start(line, { n: 7 });
    const result = settling(run.result({ timeout: 3_000 }));
    await clock.advance(2_999);
    expect(result).toEqual({});
    await clock.advance(2);
    expect(result.error).toBeInstanceOf(ResultTimeout);
    expect(result.error).toMatchObject({ message: expect.stringContaining("waiting") });
  });

  test("of a parked run is a review, unless one waits through it", async () => {
    const bad = step("bad", {
      input,
      effect: "once",
      action: () => Promise.reject(fail("?", { mayHaveHappened: true })),
      noCompensation: "x",
    });
    const risky = saga("risky", { version: 1, input })
      .step(bad, ({ input }) => input)
      .build({ output: () => "done" });
    const top = benchTop([risky]);
    const client = connectedClient(top.ports, {
      namespace: "test",
      sagas: [risky],
      maxPayloadBytes: 1_000,
      maxReplays: 10,
    });
    await top.worker().start();
    const run = await client.start(risky, { n: 1 });
    const result = settling(run.result());
    const through = settling(run.result({ through: "review" }));
    await top.clock.advance(1_000);
    expect(result.error).toBeInstanceOf(RunNeedsReview);
    expect(through).toEqual({});
    await run.operator.resolve({ as: "happened", evidence: "seen", reference: "m-1" }, { by: "ann" });
    await top.clock.advance(1_000);
    expect(through).toEqual({ value: "done" });
    const verbs = (await run.log()).flatMap((entry) => entry.taken).filter((taken) => taken.what === "verb");
    expect(verbs).toMatchObject([{ verb: "resolve", review: 1, by: "ann" }]);
  });

  test("of a run that is not there is refused by name", async () => {
    const { client } = setup();
    await expect(client.run("nobody").result()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await expect(client.run("nobody").log()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await expect(client.run("nobody").ledger()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(() => client.run("no:body")).toThrow(RepriseError);
  });
});

describe("an explanation", () => {
  const mail = step("mail", {
    input,
    effect: "once",
    action: () => Promise.reject(new Error("no answer")),
    noCompensation: "a mail stays sent",
  });
  const mailing = saga("mailing", { version: 1, input })
    .step(mail, ({ input }) => input)
    .build();

  function parkedAt() {
    const top = benchTop([mailing]);
    const options = { namespace: "test", sagas: [mailing], maxPayloadBytes: 1_000, maxReplays: 10 };
    return { ...top, client: connectedClient(top.ports, options) };
  }

  test("of a parked run says where it stopped, what was attempted, and what is safe", async () => {
    const { client, clock, worker } = parkedAt();
    await worker().start();
    const run = await client.start(mailing, { n: 1 }, { id: "m-1" });
    await clock.advance(1_000);
    const { where, attempted, verdict, text } = await run.explain();
    expect(where).toMatchObject({ status: "needs_review", text: expect.stringContaining("mail was sent") });
    expect(attempted).toMatchObject([
      { step: "mail", known: "may have happened", operationId: "test/default/m-1/mail/1" },
    ]);
    expect(verdict).toEqual(await run.verdict());
    expect(verdict).toMatchObject({ verdict: "HUMAN_REQUIRED", revision: (await run.get()).revision });
    expect(text.split("\n").map((line) => line.split(":")[0])).toEqual(["Where", "Attempted", "Safe now"]);
  });

  test("without the saga in the structure of the run is blocked", async () => {
    const top = parkedAt();
    const { client, worker } = top;
    await worker().start();
    await client.start(mailing, { n: 1 }, { id: "m-1" });
    await top.clock.advance(1_000);
    const changed = saga("mailing", { version: 1, input })
      .step(act, ({ input }) => input)
      .build();
    for (const sagas of [[], [changed]]) {
      const other = connectedClient(top.ports, { namespace: "test", sagas, maxPayloadBytes: 1_000, maxReplays: 10 });
      expect(await other.run("m-1").verdict()).toMatchObject({ verdict: "BLOCKED" });
    }
  });

  test("is of one revision of the run, although it moves while it is read", async () => {
    const top = benchTop([line]);
    let client = connectedClient(top.ports, {
      namespace: "test",
      sagas: [line],
      maxPayloadBytes: 1_000,
      maxReplays: 10,
    });
    const run = await client.start(line, { n: 7 }, { id: "r" });
    let isFirst = true;
    const store = wrapped((inner) => ({
      ledger: async (ref) => {
        const rows = await inner.ledger(ref);
        if (isFirst) {
          isFirst = false;
          await top.worker().start();
          await top.clock.advance(500);
        }
        return rows;
      },
    }))(top.store);
    client = connectedClient(
      { ...top.ports, store },
      { namespace: "test", sagas: [line], maxPayloadBytes: 1_000, maxReplays: 10 },
    );
    const { verdict, where } = await client.run(run.id).explain();
    expect(where.status).toBe("waiting");
    expect(verdict.calls).toMatchObject([{ step: "act", course: "reuse" }]);
  });

  test("of a run that is not there is refused by name", async () => {
    const { client } = parkedAt();
    await expect(client.run("none").explain()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });
});

/** Steps whose outside can be told to refuse, and remembers what it was asked. */
function shop(options: { readonly pivot?: true } = {}) {
  const asked: string[] = [];
  const refuses = new Set<string>();
  const Account = z.object({ account: z.string() });
  const act = (name: string, { account }: { readonly account: string }): void => {
    asked.push(`${name} ${account}`);
    if (refuses.has(name)) throw fail(`${name} is closed`);
  };
  const pay = step("pay", {
    input: Account,
    effect: "keyed",
    action: ({ input }) => act("pay", input),
    compensate: ({ input }) => act("refund", input),
    ...options,
  });
  const ship = step("ship", {
    input: Account,
    effect: "keyed",
    action: ({ input }) => act("ship", input),
    compensate: ({ input }) => act("return", input),
  });
  const orders = saga("orders", { version: 1, input: Account })
    .step(pay, ({ input }) => input)
    .step(ship, ({ input }) => input)
    .build();
  const top = benchTop([orders]);
  const client = connectedClient(top.ports, {
    namespace: "test",
    sagas: [orders],
    maxPayloadBytes: 1_000,
    maxReplays: 10,
  });
  const open = async () => {
    await top.worker().start();
    const run = await client.start(orders, { account: "n-1" }, { id: "o-1" });
    await top.clock.advance(1_000);
    return run;
  };
  return { ...top, client, orders, asked, refuses, open };
}

describe("undoing a run that has ended", () => {
  test("undoes its effects in reverse and ends it as cancelled; asked again it changes nothing", async () => {
    const { open, clock, asked } = shop();
    const run = await open();
    expect(await run.undo({ reason: "regretted", by: "ann" })).toEqual({ by: "ann" });
    expect(await run.undo({ reason: "me too", by: "bob" })).toEqual({ by: "ann" });
    await clock.advance(1_000);
    expect(asked).toEqual(["pay n-1", "ship n-1", "return n-1", "refund n-1"]);
    const cause = { kind: "undone", message: "regretted", reference: "ann" };
    expect(await run.get()).toMatchObject({ status: "cancelled", rollback: "complete", cause });
    expect(await run.undo({ reason: "once more", by: "bob" })).toEqual({ by: "ann" });
    await clock.advance(1_000);
    expect(asked).toHaveLength(4);
    await expect(run.result()).rejects.toMatchObject({ code: "RUN_CANCELLED" });
  });

  test("is refused while it has not ended, and once it was cancelled", async () => {
    const { open, client, orders } = shop();
    const waiting = await client.start(orders, { account: "n-2" }, { id: "later", delay: "1h" });
    const refusal = { code: "VERB_REFUSED", details: { verb: "undo", status: "running" } };
    await expect(waiting.undo({ reason: "r", by: "ann" })).rejects.toMatchObject(refusal);
    await waiting.cancel({ reason: "r", by: "ann" });
    await open();
    await expect(waiting.undo({ reason: "r", by: "ann" })).rejects.toMatchObject({
      code: "VERB_REFUSED",
      message: "run later is not undone: it is cancelled: what there was to undo was undone or left then",
    });
  });

  test("is refused after a point of no return, and done where the request says so", async () => {
    const { open, clock, asked } = shop({ pivot: true });
    const run = await open();
    await expect(run.undo({ reason: "r", by: "ann" })).rejects.toMatchObject({
      code: "VERB_REFUSED",
      message: expect.stringContaining("a point of no return was passed (pay)"),
    });
    await run.undo({ reason: "fraud", by: "ann", despitePivot: true });
    await clock.advance(1_000);
    expect(asked.slice(2)).toEqual(["return n-1", "refund n-1"]);
    expect(await run.get()).toMatchObject({ status: "cancelled", rollback: "complete" });
  });

  test("is refused by the run itself where the client does not have its saga, and the log says why", async () => {
    const { open, clock, ports, asked } = shop({ pivot: true });
    const run = await open();
    const stranger = connectedClient(ports, { namespace: "test", sagas: [], maxPayloadBytes: 1_000, maxReplays: 10 });
    await stranger.run(run.id).undo({ reason: "r", by: "ann" });
    await clock.advance(1_000);
    expect(await run.get()).toMatchObject({ status: "completed", cause: null });
    expect((await run.log()).at(-1)?.taken).toEqual([
      { what: "control", control: "undo", by: "ann", reason: "r" },
      {
        what: "refused",
        note: "a point of no return was passed (pay), so nothing is undone unless it says despitePivot",
      },
    ]);
    await run.undo({ reason: "fraud", by: "bob", despitePivot: true });
    await clock.advance(1_000);
    expect(asked).toContain("refund n-1");
  });

  test("needs a reason, and a run", async () => {
    const { open, client } = shop();
    const run = await open();
    await expect(run.undo({ reason: " ", by: "ann" })).rejects.toMatchObject({ code: "INPUT_INVALID" });
    const nobody = client.run("nobody").undo({ reason: "r", by: "ann" });
    await expect(nobody).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });
});

describe("a person", () => {
  const by = "ann";

  test("turns a parked run round instead of answering, if a reason is given", async () => {
    const refunds: number[] = [];
    const pay = step("pay", {
      input,
      effect: "keyed",
      action: () => undefined,
      compensate: (call) => void refunds.push(call.input.n),
    });
    const mail = step("mail", {
      input,
      effect: "once",
      action: () => Promise.reject(new Error("no answer")),
      noCompensation: "a mail stays sent",
    });
    const mailing = saga("mailing", { version: 1, input })
      .step(pay, (view) => view.input)
      .step(mail, (view) => view.input)
      .build();
    const { ports, clock, worker } = benchTop([mailing]);
    const client = connectedClient(ports, {
      namespace: "test",
      sagas: [mailing],
      maxPayloadBytes: 1_000,
      maxReplays: 10,
    });
    await worker().start();
    const run = await client.start(mailing, { n: 7 });
    await clock.advance(1_000);
    expect((await run.get()).review?.verbs).toEqual(["resolve", "compensate", "close"]);
    await expect(run.operator.compensate({ by, reason: "" })).rejects.toMatchObject({ code: "INPUT_INVALID" });
    await expect(run.operator.discard({ by, reason: "r" })).rejects.toMatchObject({
      code: "VERB_REFUSED",
      message: expect.stringContaining("it takes resolve, compensate, close"),
    });
    await run.operator.compensate({ by, reason: "too late for it" });
    await expect(run.operator.close({ by: "bob", reason: "r", review: 1 })).rejects.toMatchObject({
      code: "REVIEW_TAKEN",
      details: { by },
    });
    await clock.advance(60_000);
    expect(refunds).toEqual([7]);
    const cause = { kind: "step_failed", step: "mail", message: "ann: too late for it" };
    expect(await run.get()).toMatchObject({ status: "failed", rollback: "complete", cause });
  });

  test("throws an event away that the machine cannot take", async () => {
    const events = { BAD: z.object({}), GO: z.object({}) };
    const machine = machineOf({
      types: {} as { events: { type: "BAD" } | { type: "GO" } },
      guards: {
        faulty: () => {
          throw new Error("a bug");
        },
      },
    }).createMachine({
      initial: "one",
      states: { one: { on: { BAD: { target: "end", guard: "faulty" }, GO: "end" } }, end: { type: "final" } },
    });
    const picky = saga("picky", { version: 1, input, events }).machine(machine);
    const { ports, clock, worker } = benchTop([picky]);
    const client = connectedClient(ports, {
      namespace: "test",
      sagas: [picky],
      maxPayloadBytes: 1_000,
      maxReplays: 10,
    });
    await worker().start();
    const run = await client.start(picky, { n: 1 });
    await run.signal("BAD", {}, { id: "bad-1" });
    await run.signal("GO", {}, { id: "go-1" });
    await clock.advance(1_000);
    const { runs } = await client.reviews();
    expect(runs).toMatchObject([{ event: "bad-1", verbs: ["retry", "discard", "compensate", "close"] }]);
    await run.operator.discard({ by, reason: "sent by mistake" });
    await clock.advance(1_000);
    expect(await run.get()).toMatchObject({ status: "completed" });
    expect(await run.signal("BAD", {}, { id: "bad-1" }).catch((error: RepriseError) => error.code)).toBe("duplicate");
  });

  test("gives a halted compensation another input, which its action never sees", async () => {
    const { open, clock, asked, refuses } = shop();
    const run = await open();
    refuses.add("refund");
    await run.undo({ reason: "regretted", by: "ann" });
    await clock.advance(1_000);
    const bad = run.operator.retry({ by: "ann", reason: "new account", input: { account: 7 } });
    await expect(bad).rejects.toMatchObject({ code: "INPUT_INVALID" });
    refuses.clear();
    await run.operator.retry({ by: "ann", reason: "new account", input: { account: "n-2" } });
    await clock.advance(1_000);
    expect(asked).toEqual(["pay n-1", "ship n-1", "return n-1", "refund n-1", "refund n-2"]);
    expect(await run.get()).toMatchObject({ status: "cancelled", rollback: "complete" });
    const [row] = await run.ledger();
    expect(row).toMatchObject({ input: { account: "n-1" }, undo: { state: "done", input: { account: "n-2" } } });
  });
});

describe("the client", () => {
  test("subscribes once, however many wait, and opens the store once", async () => {
    let watches = 0;
    let opens = 0;
    const { client, clock, worker } = setup((store) => ({
      open: async () => {
        opens += 1;
      },
      watch: async (listener) => {
        watches += 1;
        return await store.watch(listener);
      },
    }));
    await worker().start();
    const runs = await Promise.all(["a", "b", "c"].map((id) => client.start(line, { n: 1 }, { id })));
    const results = runs.map((run) => settling(run.result()));
    await clock.advance(100);
    for (const run of runs) await run.signal("GO", { n: 1 });
    await clock.advance(3_000);
    expect(results.every((result) => result.value !== undefined)).toBe(true);
    expect([watches, opens]).toEqual([1, 1]);
  });

  test("refuses an input that is more than a run may hold, and writes nothing", async () => {
    const top = benchTop([line]);
    const options = { namespace: "test", sagas: [line], maxPayloadBytes: 1_000, maxRunBytes: 7, maxReplays: 10 };
    const client = connectedClient(top.ports, options);
    await client.start(line, { n: 1 }, { id: "fits" });
    await expect(client.start(line, { n: 12 }, { id: "large" })).rejects.toMatchObject({
      code: "PAYLOAD_TOO_LARGE",
      message: "input of line is 8 bytes of JSON; a run holds at most 7 (maxRunBytes)",
      details: { bytes: 8, maxRunBytes: 7 },
    });
    expect(await top.store.read({ tenant: "default", id: "large" })).toBeNull();
  });

  test("that waits for a result waits while its values cannot be had", async () => {
    let isAway = false;
    const { client, clock, worker } = setup((store) => ({
      read: async (run) => {
        if (isAway) throw new RepriseError("ARTIFACTS_UNAVAILABLE", "the artifacts are away");
        return await store.read(run);
      },
    }));
    await worker().start();
    const run = await client.start(line, { n: 7 }, { id: "r" });
    const result = settling(run.result());
    await clock.advance(500);
    isAway = true;
    await run.signal("GO", { n: 1 });
    await clock.advance(10_000);
    expect(result).toEqual({});
    isAway = false;
    await clock.advance(3_000);
    expect(result.value).toBeDefined();
  });

  test("tries to open again after it could not", async () => {
    let down = true;
    const { client } = setup(() => ({
      open: async () => {
        if (down) throw new RepriseError("STORE_UNAVAILABLE", "down");
      },
    }));
    await expect(client.start(line, { n: 1 })).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    down = false;
    await client.start(line, { n: 1 });
  });

  test("takes time from the store and asks for it once", async () => {
    let asked = 0;
    const { client, store, clock } = setup((inner) => ({
      now: () => {
        asked += 1;
        return inner.now();
      },
    }));
    await client.start(line, { n: 1 }, { id: "a" });
    await clock.advance(30_000);
    await client.start(line, { n: 1 }, { id: "b", delay: "1h" });
    expect(asked).toBe(1);
    const record = await store.read({ tenant: "default", id: "b" });
    expect(record).toMatchObject({ createdAt: await store.now(), startAt: (await store.now()) + 3_600_000 });
  });

  test("survives a queue that takes no nudge: the run is in the store", async () => {
    const top = benchTop([line]);
    const wakeUps = { ...top.queue.wakeUps, wake: () => Promise.reject(new Error("no")) };
    const client = connectedClient(
      { ...top.ports, wakeUps },
      { namespace: "test", sagas: [line], maxPayloadBytes: 1_000, maxReplays: 10 },
    );
    const run = await client.start(line, { n: 1 });
    expect(await run.get()).toMatchObject({ status: "running", revision: 1 });
    expect(top.facts).toContainEqual({ fact: "trouble", where: "wake", message: "no" });
  });

  test("refuses delays and priorities that make no sense", async () => {
    const { client } = setup();
    for (const options of [{ priority: -1 }, { priority: 1.5 }, { delay: 1, startAt: 1 }, { startAt: Number.NaN }]) {
      await expect(client.start(line, { n: 1 }, options)).rejects.toMatchObject({ code: "INPUT_INVALID" });
    }
  });

  test("is closed for good", async () => {
    const { client } = setup();
    await client.start(line, { n: 1 });
    await client.close();
    await client.close();
    await expect(client.list()).rejects.toMatchObject({ code: "CLOSED" });
  });
});

test("watching gives every state it finds, the last one included, and then ends", async () => {
  const { client, clock, worker } = setup();
  const run = await client.start(line, { n: 1 });
  const views: RunView[] = [];
  const watched = (async () => {
    for await (const view of run.watch()) views.push(view);
  })();
  await clock.advance(10);
  await worker().start();
  await clock.advance(1_000);
  await run.signal("GO", { n: 1 });
  await clock.advance(1_000);
  await watched;
  expect(views[0]?.revision).toBe(1);
  expect(views.at(-1)).toMatchObject({ status: "completed", output: { n: 1 } });
  const revisions = views.map((view) => view.revision);
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
});

describe("runs by what their saga says of them", () => {
  const tagged = saga("tagged", {
    version: 1,
    input,
    events: { GO: z.object({ n: z.number() }) },
    attributes: ({ input: { n } }) => ({ isEven: n % 2 === 0, rest: n % 10 }),
  })
    .waitFor("GO")
    .build();

  test("are found by attributes, page by page, however far apart they are", async () => {
    const top = benchTop([tagged]);
    const options = { namespace: "test", sagas: [tagged], maxPayloadBytes: 1_000, maxReplays: 10 };
    const client = connectedClient(top.ports, options);
    for (let n = 0; n < 60; n += 1) await client.start(tagged, { n }, { id: `r${n}` });
    await top.worker().start();
    await top.clock.advance(5_000);
    const found: string[] = [];
    const sizes: number[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const from = cursor === undefined ? {} : { cursor };
      const page = await client.list({ attributes: { isEven: true, rest: 4 }, limit: 2, ...from });
      found.push(...page.runs.map(({ id }) => id));
      sizes.push(page.runs.length);
      cursor = page.cursor;
    }
    expect(found.toSorted()).toEqual(["r14", "r24", "r34", "r4", "r44", "r54"]);
    expect(sizes.slice(0, 3)).toEqual([2, 2, 2]);
    expect((await client.list({ attributes: { rest: "4" } })).runs).toEqual([]);
    expect((await client.list({ attributes: { rest: 4 }, status: "completed" })).runs).toEqual([]);
  });
});
