import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type CallFault,
  FakeWorld,
  type FakeWorldOptions,
  serveFakeWorld,
  type WorldClient,
  type WorldClock,
  type WorldControl,
  type WorldServer,
  worldClient,
  worldControl,
} from "reprise/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { owned } from "../support/processes.ts";

const { own, release } = owned();
afterEach(release);

function worldOf(options: FakeWorldOptions = {}): FakeWorld {
  return own(new FakeWorld(options));
}

/** A clock that stands still until it is moved. */
function handClock(): WorldClock & { advance(ms: number): void } {
  let now = Date.UTC(2030, 0, 1);
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  return {
    now: () => now,
    after: (ms, run) => {
      const timer = { at: now + ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((each) => each !== timer);
      };
    },
    advance: (ms) => {
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { run } of due) run();
    },
  };
}

const keyed = { effect: "keyed", query: true } as const;
const once = { effect: "once", query: true } as const;

/** The same client over both ways in: what a step sees must not depend on which one it is. */
interface Reached {
  readonly world: FakeWorld;
  readonly client: WorldClient;
}

const ways: readonly (readonly [string, (options?: FakeWorldOptions) => Promise<Reached>])[] = [
  [
    "in process",
    async (options) => {
      const world = worldOf(options);
      return { world, client: worldClient(world) };
    },
  ],
  [
    "over HTTP",
    async (options) => {
      const world = worldOf(options);
      const server = own(await serveFakeWorld(world));
      return { world, client: worldClient(server.url) };
    },
  ],
];

describe.each(ways)("%s", (_way, reach) => {
  test("a keyed call that is repeated is two arrivals and one effect, with the same answer", async () => {
    const { world, client } = await reach();
    const first = await client.payments.charge({ orderId: "o-1", cents: 4200 }, { operationId: "r/charge/1" });
    const second = await client.payments.charge({ cents: 4200, orderId: "o-1" }, { operationId: "r/charge/1" });
    expect(second).toEqual(first);
    expect(world.service("payments").counts("r/charge/1")).toEqual({ arrivals: 2, effects: 1 });
    expect(world.entries().map(({ kind, deduplicated, ref }) => ({ kind, deduplicated, ref }))).toEqual([
      { kind: "arrival", deduplicated: undefined, ref: undefined },
      { kind: "effect", deduplicated: undefined, ref: first.chargeId },
      { kind: "arrival", deduplicated: true, ref: first.chargeId },
    ]);
  });

  test("a key that is used again with other arguments is refused with 422 and changes nothing", async () => {
    const { world, client } = await reach();
    await client.payments.charge({ orderId: "o-1", cents: 1 }, { operationId: "k" });
    const again = client.payments.charge({ orderId: "o-1", cents: 2 }, { operationId: "k" });
    await expect(again).rejects.toMatchObject({ status: 422, code: "idempotency_key_reused" });
    expect(world.service("payments").counts("k")).toEqual({ arrivals: 2, effects: 1 });
    expect(world.entries().at(-1)).not.toHaveProperty("deduplicated");
  });

  test("a mail is sent as often as it is asked for", async () => {
    const { world, client } = await reach();
    for (let sent = 0; sent < 3; sent += 1) await client.mail.send({ to: "a@b", subject: "hi" }, { operationId: "m" });
    expect(world.service("mail").counts("m")).toEqual({ arrivals: 3, effects: 3 });
    await expect(client.mail.findByKey("m")).rejects.toMatchObject({ status: 405, code: "not_queryable" });
  });

  test("a reservation is recognised by order and sku, and made anew once it was released", async () => {
    const { world, client } = await reach();
    const order = { orderId: "o-1", sku: "A" };
    const first = await client.stock.reserve(order, { operationId: "a" });
    expect(await client.stock.reserve(order, { operationId: "b" })).toEqual(first);
    expect(await client.stock.findByKey("b")).toEqual(first);
    await client.stock.release(first, { operationId: "a/undo" });
    await client.stock.release(first, { operationId: "a/undo" });
    expect(world.service("stock").counts("a/undo")).toEqual({ arrivals: 2, effects: 1 });
    expect(await client.stock.reserve(order, { operationId: "a" })).not.toEqual(first);
    expect(world.service("stock").counts("a")).toEqual({ arrivals: 2, effects: 2 });
  });

  test("every service books, is asked, and takes back, each once", async () => {
    const { world, client } = await reach({ services: { mail: { query: true } } });
    const at = (operationId: string) => ({ operationId });
    const { reservationId } = await client.stock.reserve({ orderId: "o", sku: "s" }, at("stock"));
    const { chargeId } = await client.payments.charge({ orderId: "o", cents: 5 }, at("pay"));
    const { shipmentId } = await client.shipping.ship({ reservationId }, at("ship"));
    const { messageId } = await client.mail.send({ to: "a@b", subject: "s" }, at("mail"));
    const flight = await client.flights.book({ tripId: "t" }, at("flight"));
    const hotel = await client.hotels.book({ tripId: "t" }, at("hotel"));
    expect(await client.stock.findByKey("stock")).toEqual({ reservationId });
    expect(await client.payments.findByKey("pay")).toEqual({ chargeId });
    expect(await client.shipping.findByKey("ship")).toEqual({ shipmentId });
    expect(await client.mail.findByKey("mail")).toEqual({ messageId });
    expect(await client.flights.findByKey("flight")).toEqual(flight);
    expect(await client.hotels.findByKey("elsewhere")).toBeUndefined();
    const cancellation = await client.hotels.cancel(hotel, at("hotel/undo"));
    expect(await client.hotels.findCancellationByKey("hotel/undo")).toEqual(cancellation);
    await client.flights.cancel(flight, at("flight/undo"));
    await client.shipping.recall({ shipmentId }, at("ship/undo"));
    const refund = await client.payments.refund({ chargeId }, at("pay/undo"));
    expect(await client.payments.findRefundByKey("pay/undo")).toEqual(refund);
    await client.stock.release({ reservationId }, at("stock/undo"));
    expect(world.effects().map(({ service, direction }) => `${service} ${direction}`)).toEqual([
      ...["stock do", "payments do", "shipping do", "mail do", "flights do", "hotels do"],
      ...["hotels undo", "flights undo", "shipping undo", "payments undo", "stock undo"],
    ]);
    expect(world.counts().every(({ arrivals, effects }) => arrivals === 1 && effects === 1)).toBe(true);
  });

  test("an undoing under a second key, or of nothing, is a business no", async () => {
    const { client } = await reach();
    const charge = await client.payments.charge({ orderId: "o", cents: 5 }, { operationId: "c" });
    await client.payments.refund(charge, { operationId: "c/undo" });
    const again = client.payments.refund(charge, { operationId: "c/undo2" });
    await expect(again).rejects.toMatchObject({ status: 410, code: "already_undone" });
    const nothing = client.payments.refund({ chargeId: "ch_9" }, { operationId: "x/undo" });
    await expect(nothing).rejects.toMatchObject({ status: 404, code: "not_found" });
  });

  test("a service of any name behaves as its profile says", async () => {
    const { world, client } = await reach({ services: { ledger: { effect: "once" } } });
    const call = async (service: string, effect: "none" | "idempotent" | "keyed" | "once") => {
      const op = client.op(service, { effect, query: true });
      for (let sent = 0; sent < 2; sent += 1) await op.call("act", { a: 1 }, { operationId: service });
      return world.service(service).counts();
    };
    expect(await call("reader", "none")).toEqual({ arrivals: 2, effects: 0 });
    expect(await call("setter", "idempotent")).toEqual({ arrivals: 2, effects: 1 });
    expect(await call("payer", "keyed")).toEqual({ arrivals: 2, effects: 1 });
    expect(await call("sender", "once")).toEqual({ arrivals: 2, effects: 2 });
    expect(await client.op("sender", once).find("act", "sender")).toMatchObject({ ref: "sender_4" });
    await client.op("ledger").call("write", {}, { operationId: "w" });
    await client.op("ledger").call("write", {}, { operationId: "w" });
    expect(world.service("ledger").counts()).toEqual({ arrivals: 2, effects: 2 });
    await client.op("undoer", { ...keyed, direction: "undo" }).call("act", {}, { operationId: "u" });
    expect(world.effects().at(-1)).toMatchObject({ service: "undoer", direction: "undo" });
    const unknown = client.op("nobody").call("act", {}, { operationId: "n" });
    await expect(unknown).rejects.toMatchObject({ status: 404, code: "unknown_service" });
  });

  test("a line says who asked for what, under a hash that the order of fields does not change", async () => {
    const { world, client } = await reach();
    const call = { operationId: "ns/acme/r-ä 1%/charge/1", run: { id: "r-ä 1%" }, step: "chargeCard" };
    await client.op("op", keyed).call("act", { b: [1, { d: null, c: "é" }], a: 2 }, call);
    await client.op("op", keyed).find("act", call.operationId, { run: call.run });
    const argsHash = createHash("sha256").update('{"a":2,"b":[1,{"c":"é","d":null}]}').digest("hex").slice(0, 32);
    const seen = { service: "op", action: "act", operationId: call.operationId, direction: "do", pid: process.pid };
    expect(world.entries()).toMatchObject([
      { ...seen, n: 1, kind: "arrival", run: "r-ä 1%", step: "chargeCard", argsHash },
      { ...seen, n: 2, kind: "effect", run: "r-ä 1%", step: "chargeCard", argsHash, ref: "op_1" },
      { ...seen, n: 3, kind: "query", run: "r-ä 1%", found: true },
    ]);
  });

  describe("a fault", () => {
    const charge = { orderId: "o-1", cents: 1 };

    test.each<readonly [CallFault, Readonly<Record<string, unknown>>, number]>([
      [{ kind: "apply-then-500" }, { status: 500 }, 1],
      [{ kind: "reset-before-apply" }, { status: undefined }, 0],
      [{ kind: "reset-after-apply" }, { status: undefined }, 1],
      [{ kind: "rate-limit", retryAfterSeconds: 7 }, { status: 429, retryAfterSeconds: 7 }, 0],
      [{ kind: "refuse", code: "card_declined" }, { status: 422, code: "card_declined" }, 0],
    ])("%j strikes once, and the next try succeeds", async (broken, error, effects) => {
      const { world, client } = await reach();
      const fault = world.fault({ service: "payments", action: "charge", ...broken });
      await expect(client.payments.charge(charge, { operationId: "c" })).rejects.toMatchObject(error);
      expect(world.service("payments").counts("c")).toEqual({ arrivals: 1, effects });
      expect(world.entries()[0]).toMatchObject({ kind: "arrival", fault: broken.kind });
      await client.payments.charge(charge, { operationId: "c" });
      expect(world.service("payments").counts("c")).toEqual({ arrivals: 2, effects: 1 });
      expect(fault.hits).toBe(1);
    });

    test("of a broken connection keeps the code of what broke", async () => {
      const { world, client } = await reach();
      world.fault({ service: "payments", kind: "reset-after-apply" });
      const error = await client.payments.charge(charge, { operationId: "c" }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "ECONNRESET", cause: { code: "ECONNRESET" } });
    });

    test("apply-then-hang tells at once that it was applied, and its answer can be released", async () => {
      const { world, client } = await reach();
      world.fault({ service: "payments", kind: "apply-then-hang" });
      const answer = client.payments.charge(charge, { operationId: "c" });
      const held = await world.nextHeld({ service: "payments" });
      expect(held).toMatchObject({ operationId: "c", applied: true, fault: "apply-then-hang", pid: process.pid });
      expect(world.service("payments").counts("c")).toEqual({ arrivals: 1, effects: 1 });
      held.release();
      await expect(answer).resolves.toEqual({ chargeId: "ch_1" });
      expect(world.held()).toEqual([]);
    });

    test("apply-then-hang that is dropped is a reset connection", async () => {
      const { world, client } = await reach();
      world.fault({ service: "payments", kind: "apply-then-hang" });
      const answer = client.payments.charge(charge, { operationId: "c" });
      answer.catch(() => undefined);
      (await world.nextHeld()).drop();
      await expect(answer).rejects.toMatchObject({ code: "ECONNRESET" });
    });

    test("hang-before-apply is applied when it is released, even if the caller has left", async () => {
      const { world, client } = await reach();
      world.fault({ service: "payments", kind: "hang-before-apply", times: 2 });
      const leaving = new AbortController();
      const answer = client.payments.charge(charge, { operationId: "late", signal: leaving.signal });
      answer.catch(() => undefined);
      const held = await world.nextHeld({ operationId: "late" });
      const abandoned = new Promise((resolve) =>
        world.subscribe(({ event }) => event === "abandoned" && resolve(event)),
      );
      leaving.abort(new Error("enough"));
      await expect(answer).rejects.toThrow();
      await abandoned;
      expect(world.service("payments").counts("late")).toEqual({ arrivals: 1, effects: 0 });
      held.release();
      await expect.poll(() => world.service("payments").counts("late").effects).toBe(1);

      client.payments.charge(charge, { operationId: "never" }).catch(() => undefined);
      (await world.nextHeld({ operationId: "never" })).drop();
      expect(world.service("payments").counts("never")).toEqual({ arrivals: 1, effects: 0 });
    });

    test("500-then-apply-later applies behind the caller's back, and a repeat is deduplicated", async () => {
      const clock = handClock();
      const { world, client } = await reach({ clock });
      world.fault({ service: "payments", kind: "500-then-apply-later", afterMs: 2_000 });
      await expect(client.payments.charge(charge, { operationId: "c" })).rejects.toMatchObject({ status: 500 });
      expect(await client.payments.findByKey("c")).toBeUndefined();
      clock.advance(2_000);
      expect(await client.payments.findByKey("c")).toEqual({ chargeId: "ch_1" });
      await client.payments.charge(charge, { operationId: "c" });
      expect(world.service("payments").counts("c")).toEqual({ arrivals: 2, effects: 1 });
    });

    test("slow answers after its time", async () => {
      const clock = handClock();
      const { world, client } = await reach({ clock });
      world.fault({ service: "payments", kind: "slow", ms: 500 });
      const answer = client.payments.charge(charge, { operationId: "c" });
      await expect.poll(() => world.service("payments").counts().arrivals).toBe(1);
      expect(world.service("payments").counts().effects).toBe(0);
      clock.advance(500);
      await expect(answer).resolves.toEqual({ chargeId: "ch_1" });
    });

    test("partial-batch applies the first k items, each under its own operation id", async () => {
      const { world, client } = await reach();
      const payouts = client.op("payouts", keyed);
      const items = ["a", "b", "c"].map((operationId) => ({ operationId, args: { to: operationId } }));
      world.fault({ service: "payouts", kind: "partial-batch", applied: 2 });
      await expect(payouts.batch("pay", items)).rejects.toMatchObject({ status: 500 });
      expect(world.effects().map(({ operationId }) => operationId)).toEqual(["a", "b"]);
      const answer = await payouts.batch("pay", items);
      expect(answer).toMatchObject({ results: [{ status: 200 }, { status: 200 }, { operationId: "c", status: 200 }] });
      expect(world.service("payouts").counts()).toEqual({ arrivals: 6, effects: 3 });
    });

    test("a fault for one operation meets the batch that carries it, and no other", async () => {
      const { world, client } = await reach();
      const payouts = client.op("payouts", keyed);
      const batchOf = (...ids: readonly string[]) => {
        return payouts.batch(
          "pay",
          ids.map((operationId) => ({ operationId, args: {} })),
        );
      };
      world.fault({ service: "payouts", operationId: "d", kind: "partial-batch", applied: 1 });
      await batchOf("a", "b");
      await expect(batchOf("c", "d")).rejects.toMatchObject({ status: 500 });
      expect(world.effects().map(({ operationId }) => operationId)).toEqual(["a", "b", "c"]);
    });

    test("a query may be stale, fail, or hang, whatever the truth is", async () => {
      const clock = handClock();
      const { world, client } = await reach({ clock });
      await client.payments.charge(charge, { operationId: "c" });
      const stale = world.fault({ service: "payments", action: "charge", kind: "stale-query", ms: 2_000 });
      expect(await client.payments.findByKey("c")).toBeUndefined();
      expect(await client.payments.findByKey("c")).toBeUndefined();
      clock.advance(2_000);
      expect(await client.payments.findByKey("c")).toEqual({ chargeId: "ch_1" });
      expect(stale.hits).toBe(2);
      world.fault({ service: "payments", kind: "failing-query" });
      await expect(client.payments.findByKey("c")).rejects.toMatchObject({ status: 500 });
      world.fault({ service: "payments", kind: "hanging-query" });
      const answer = client.payments.findByKey("c");
      (await world.nextHeld()).release();
      expect(await answer).toEqual({ chargeId: "ch_1" });
    });

    test("answer-with applies, and tells something else", async () => {
      const { world, client } = await reach();
      world.fault({ service: "payments", kind: "answer-with", body: { chargeId: 7, secret: "s" } });
      expect(await client.payments.charge(charge, { operationId: "c" })).toEqual({ chargeId: 7, secret: "s" });
      expect(world.service("payments").counts("c")).toEqual({ arrivals: 1, effects: 1 });
    });

    test("meets the k-th arrival, one operation, or arguments with a given value, and no other", async () => {
      const { world, client } = await reach();
      const op = client.op("op", keyed);
      const status = (operationId: string, args = {}) =>
        op.call("act", args, { operationId }).then(
          () => 200,
          (error: { status: number }) => error.status,
        );
      world.fault({ service: "op", kind: "apply-then-500", operationId: "x", fromArrival: 2, times: 2 });
      expect([await status("x"), await status("y"), await status("x"), await status("x"), await status("x")]).toEqual([
        200, 200, 500, 500, 200,
      ]);
      world.fault({ service: "op", kind: "refuse", code: "no", status: 409, args: { sku: "B" }, times: "always" });
      expect([
        await status("1", { sku: "A" }),
        await status("2", { sku: "B" }),
        await status("3", { sku: "B" }),
      ]).toEqual([200, 409, 409]);
      world.clearFaults();
      expect(await status("2", { sku: "B" })).toBe(200);
    });
  });

  test("a key is forgotten after its time to live", async () => {
    const clock = handClock();
    const { world, client } = await reach({ clock, services: { op: { ...keyed, keyTtlMs: 1_000 } } });
    await client.op("op").call("act", {}, { operationId: "k" });
    clock.advance(1_000);
    await client.op("op").call("act", {}, { operationId: "k" });
    expect(world.service("op").counts("k")).toEqual({ arrivals: 2, effects: 2 });
  });

  test("bad input is refused with a sentence that names it, and leaves no line", async () => {
    const { world, client } = await reach();
    const op = client.op("op", keyed);
    const deep = JSON.parse("[".repeat(100) + "]".repeat(100));
    await expect(op.call("act", {}, { operationId: "" })).rejects.toMatchObject({ status: 400 });
    await expect(op.call("act", { deep }, { operationId: "o" })).rejects.toMatchObject({ code: "too_deep" });
    await expect(op.call("9 lives", {}, { operationId: "o" })).rejects.toThrow("the action must be a word");
    await expect(client.op("constructor").call("act", {}, { operationId: "o" })).rejects.toMatchObject({ status: 404 });
    await expect(client.op("mail", once).call("send", {}, { operationId: "o" })).rejects.toMatchObject({ status: 400 });
    await expect(op.batch("act", [])).rejects.toMatchObject({ status: 400 });
    expect(world.entries()).toEqual([]);
    const cents = client.op("payments").call("charge", { orderId: "o", cents: 1.5 }, { operationId: "o" });
    await expect(cents).rejects.toMatchObject({ status: 400, code: "bad_arguments" });
    expect(world.service("payments").counts()).toEqual({ arrivals: 1, effects: 0 });
  });

  test("an abort ends the waiting with its reason", async () => {
    const { world, client } = await reach();
    world.fault({ service: "payments", kind: "apply-then-hang" });
    const leaving = new AbortController();
    const answer = client.payments.charge({ orderId: "o", cents: 1 }, { operationId: "c", signal: leaving.signal });
    answer.catch(() => undefined);
    await world.nextHeld();
    leaving.abort(new RangeError("enough"));
    await expect(answer).rejects.toMatchObject({ name: "RangeError" });
    expect(world.service("payments").counts("c")).toEqual({ arrivals: 1, effects: 1 });
  });
});

describe("the world", () => {
  test.each([
    [{ service: "op", kind: "no-such" }, "kind must be one of"],
    [{ kind: "slow", ms: 1 }, "service must be"],
    [{ service: "op", kind: "slow" }, "the fault's ms must be a whole number"],
    [{ service: "op", kind: "slow", ms: -1 }, "the fault's ms"],
    [{ service: "op", kind: "refuse", code: "no", status: 500 }, "the fault's status"],
    [{ service: "op", kind: "apply-then-500", times: 0 }, "the fault's times"],
    [{ service: "op", kind: "apply-then-500", fromArival: 2 }, 'has no field "fromArival"'],
    [null, "a fault must be a JSON object"],
  ])("refuses the fault %j", (fault, message) => {
    expect(() => worldOf().fault(fault as never)).toThrow(message);
  });

  test("writes down what its witness saw at the moment of the arrival", async () => {
    const world = worldOf({
      witness: ({ operationId }) => (operationId === "bad" ? Promise.reject(new Error("lost")) : { row: "sent" }),
    });
    const op = worldClient(world).op("op", keyed);
    await op.call("act", {}, { operationId: "good" });
    await op.call("act", {}, { operationId: "bad" });
    const arrivals = world.entries().filter(({ kind }) => kind === "arrival");
    expect(arrivals.map(({ saw }) => saw)).toEqual([{ row: "sent" }, { error: "Error: lost" }]);
  });

  test("takes nothing more when it is full or closed, and closes twice", async () => {
    const world = worldOf({ maxEntries: 2 });
    const op = worldClient(world).op("op", keyed);
    await op.call("act", {}, { operationId: "1" });
    await expect(op.call("act", {}, { operationId: "2" })).rejects.toMatchObject({ status: 507, code: "world_full" });
    world.close();
    world.close();
    await expect(op.call("act", {}, { operationId: "3" })).rejects.toMatchObject({ status: 503 });
  });

  test("drops what is held and forgets what is late when it closes", async () => {
    const clock = handClock();
    const world = worldOf({ clock });
    const { payments } = worldClient(world);
    const charge = { orderId: "o", cents: 1 };
    world.fault({ service: "payments", kind: "500-then-apply-later", afterMs: 10 });
    await payments.charge(charge, { operationId: "later" }).catch(() => undefined);
    world.fault({ service: "payments", kind: "slow", ms: 10 });
    const slow = payments.charge(charge, { operationId: "slow" });
    world.fault({ service: "payments", kind: "hang-before-apply" });
    const held = payments.charge(charge, { operationId: "held" });
    const ended = Promise.allSettled([slow, held]);
    await world.nextHeld();
    world.close();
    expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    clock.advance(10);
    expect(world.effects()).toEqual([]);
  });

  test("gives a held call to one who asks for it, and lets go of one who stops asking", async () => {
    const world = worldOf();
    const { payments } = worldClient(world);
    const given = [world.nextHeld(), world.nextHeld()];
    world.fault({ service: "payments", kind: "apply-then-hang", times: 2 });
    for (const operationId of ["a", "b"]) {
      payments.charge({ orderId: "o", cents: 1 }, { operationId }).catch(() => undefined);
    }
    expect((await Promise.all(given)).map(({ operationId }) => operationId)).toEqual(["a", "b"]);
    await expect(world.nextHeld({}, { signal: AbortSignal.timeout(5) })).rejects.toMatchObject({
      name: "TimeoutError",
    });
  });
});

describe("the witness's file", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "reprise-world-"));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  test("holds a line before the answer is given", async () => {
    const file = join(directory, "deep", "world.jsonl");
    const world = worldOf({ file });
    const { payments } = worldClient(world);
    world.fault({ service: "payments", kind: "apply-then-hang" });
    payments.charge({ orderId: "o", cents: 1 }, { operationId: "c" }).catch(() => undefined);
    await world.nextHeld();
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual(world.entries());
    expect(lines).toHaveLength(2);
  });

  test("must be empty at the start: the lines of another world are nobody's evidence", async () => {
    const file = join(directory, "world.jsonl");
    await writeFile(file, '{"n":1}\n');
    expect(() => new FakeWorld({ file })).toThrow("already holds the lines of a world");
    expect(await readFile(file, "utf8")).toBe('{"n":1}\n');
  });
});

describe("the server", () => {
  let world: FakeWorld;
  let server: WorldServer;
  let control: WorldControl;
  beforeEach(async () => {
    world = worldOf();
    server = own(await serveFakeWorld(world));
    control = worldControl(server.url);
  });

  function post(path: string, body: string, headers: Record<string, string> = {}) {
    const type = { "content-type": "application/json" };
    return fetch(server.url + path, { method: "POST", body, headers: { ...type, ...headers } });
  }

  test("is driven from another process as from its own", async () => {
    const { payments } = worldClient(server.url);
    const id = await control.fault({ service: "payments", kind: "apply-then-hang" });
    const waiting = control.nextHeld({ service: "payments" });
    const answer = payments.charge({ orderId: "o", cents: 1 }, { operationId: "c" });
    const held = await waiting;
    expect(held).toMatchObject({ operationId: "c", applied: true });
    expect(await control.countsOf("payments", "c")).toEqual({ arrivals: 1, effects: 1 });
    await held.release();
    await expect(answer).resolves.toEqual({ chargeId: "ch_1" });
    await expect(held.release()).rejects.toMatchObject({ status: 404 });
    expect(await control.faults()).toMatchObject([{ id, hits: 1 }]);
    await control.clearFaults();
    expect(await control.faults()).toEqual([]);
    expect(await control.effects()).toEqual(world.effects());
    expect(await control.entries()).toEqual(world.entries());
    expect(await control.counts()).toEqual(world.counts());
    await expect(control.fault({ service: "op", kind: "no" } as never)).rejects.toMatchObject({ status: 400 });
  });

  test("gives a held call that came before anybody asked, and each only once", async () => {
    const { payments } = worldClient(server.url);
    await control.fault({ service: "payments", kind: "apply-then-hang", times: 2 });
    payments.charge({ orderId: "o", cents: 1 }, { operationId: "a" }).catch(() => undefined);
    await world.nextHeld();
    expect(await control.nextHeld()).toMatchObject({ operationId: "a" });
    const next = control.nextHeld();
    payments.charge({ orderId: "o", cents: 1 }, { operationId: "b" }).catch(() => undefined);
    await (await next).drop();
    const signal = AbortSignal.timeout(20);
    await expect(control.nextHeld({}, { signal })).rejects.toMatchObject({ name: "TimeoutError" });
  });

  test("refuses what it cannot read", async () => {
    const address = "/services/payments/charge";
    const key = { "idempotency-key": "k" };
    const codes = async (response: Response) => [response.status, ((await response.json()) as { code: string }).code];
    expect(await codes(await post(address, "{}"))).toEqual([400, "operation_id_required"]);
    expect(await codes(await post(address, "{", key))).toEqual([400, "bad_request"]);
    expect(await codes(await post(address, "[]", key))).toEqual([400, "bad_request"]);
    expect(await codes(await post(address, "{}", { "idempotency-key": "%" }))).toEqual([400, "bad_request"]);
    expect(await codes(await post(address, "{}", { ...key, "x-reprise-worker": "x" }))).toEqual([400, "bad_request"]);
    expect(await codes(await post(address, "{}", { ...key, "content-type": "text/plain" }))).toEqual([
      415,
      "json_only",
    ]);
    const large = JSON.stringify({ text: "x".repeat(1024 * 1024) });
    expect(await codes(await post(address, large, key))).toEqual([413, "too_large"]);
    expect(await codes(await post(`${address}/batch`, "{}"))).toEqual([400, "bad_request"]);
    expect(await codes(await post(`${address}/batch`, '{"items":[1]}'))).toEqual([400, "bad_request"]);
    expect(await codes(await post("/services/op/act?effect=twice", "{}", key))).toEqual([400, "bad_request"]);
    expect(await codes(await post("/services/op/act?effect=once&query=yes", "{}", key))).toEqual([400, "bad_request"]);
    expect(await codes(await fetch(`${server.url}${address}`))).toEqual([400, "bad_request"]);
    expect(await codes(await fetch(`${server.url}/nowhere`))).toEqual([404, "unknown_address"]);
    expect(await codes(await fetch(`${server.url}/events?after=x`))).toEqual([400, "bad_request"]);
    expect(await codes(await fetch(`${server.url}/faults/none`, { method: "DELETE" }))).toEqual([404, "not_found"]);
    expect(world.entries()).toEqual([]);
  });

  test("rejects a port that is taken", async () => {
    const other = serveFakeWorld(world, { port: server.port });
    await expect(other).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("closes twice, with calls held and events being read", async () => {
    const { payments } = worldClient(server.url);
    await control.fault({ service: "payments", kind: "hang-before-apply" });
    const answer = payments.charge({ orderId: "o", cents: 1 }, { operationId: "c" });
    answer.catch(() => undefined);
    await world.nextHeld();
    const reading = control.nextHeld({ operationId: "never" });
    reading.catch(() => undefined);
    await expect.poll(() => fetch(`${server.url}/held`).then((response) => response.ok)).toBe(true);
    await Promise.all([server.close(), server.close()]);
    await expect(answer).rejects.toMatchObject({ code: expect.stringMatching(/^(ECONNRESET|UND_ERR_SOCKET)$/) });
    await expect(reading).rejects.toThrow();
    await expect(payments.charge({ orderId: "o", cents: 1 }, { operationId: "d" })).rejects.toMatchObject({
      code: "ECONNREFUSED",
      cause: { code: "ECONNREFUSED" },
    });
  });

  test("survives a caller who leaves in the middle of its request", async () => {
    const half = request(`${server.url}/services/payments/charge`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "k", "content-length": 100 },
    });
    half.on("error", () => undefined);
    half.write("{", () => half.destroy());
    await new Promise((resolve) => half.once("close", resolve));
    expect(await control.entries()).toEqual([]);
  });
});
