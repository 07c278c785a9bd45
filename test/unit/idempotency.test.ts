/** What `run` answers, over the store in memory and a clock that only moves when told. */
import { describe, expect, test } from "vitest";
import type { Store } from "../../src/core/index.ts";
import {
  type Idempotency,
  type IdempotencySettings,
  idempotencyOf,
  type RequestContext,
  readTimes,
} from "../../src/idempotency/index.ts";
import {
  absent,
  cannotTell,
  createIdempotency,
  fail,
  happened,
  notApplied,
  RepriseError,
  transient,
} from "../../src/index.ts";
import { memoryStore } from "../../src/store/index.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { over } from "../support/fault-ports.ts";

const hourMs = 3_600_000;
const claimMs = 60_000;
const settings: IdempotencySettings = {
  windowMs: 24 * hourMs,
  claimMs,
  unknownMs: 720 * hourMs,
  maxPayloadBytes: 1_000,
  barrierMs: 1_500,
  allowForgetfulStore: false,
};
const request = { cents: 4_200, to: { name: "Ann" } };

/** A service and the world it acts on: how often `fn` was called. */
function scene(
  more: { settings?: Partial<IdempotencySettings>; durability?: "always" | "barrier" | "forgetful" } = {},
) {
  const clock = new VirtualClock();
  const store = memoryStore({ clock, durability: more.durability ?? "always" });
  let ids = 0;
  const serviceOver = (changed: Partial<Store>): Idempotency =>
    idempotencyOf(
      { store: over(store, changed), clock, ids: { next: () => `call-${++ids}` } },
      { ...settings, ...more.settings },
    );
  const effects: string[] = [];
  const effect =
    <Answer>(answer: Answer) =>
    () => {
      effects.push("effect");
      return answer;
    };
  return { clock, store, effects, effect, serviceOver, service: serviceOver({}) };
}

type Scene = ReturnType<typeof scene>;

/** A request under way, whose `fn` answers when told to. */
function held({ effects }: Scene, service: Idempotency, key = "k") {
  let finish: (answer: unknown) => void = () => undefined;
  let context: RequestContext | null = null;
  const answer = service.run(key, request, (given) => {
    effects.push("effect");
    context = given;
    return new Promise((resolve) => {
      finish = resolve;
    });
  });
  answer.catch(() => undefined);
  return { answer, finish: (with_: unknown) => finish(with_), signal: () => context?.signal };
}

/** A request that was interrupted: its process is gone. */
async function interrupted(at: Scene, key = "k") {
  held(at, at.serviceOver({}), key);
  await at.clock.advance(0);
}

const refused = (code: string, details: Record<string, unknown>) => ({
  code,
  details: expect.objectContaining({ key: "k", tenant: "default", ...details }),
});
const unknown = (details: Record<string, unknown> = {}) =>
  refused("IDEMPOTENCY_UNKNOWN", { httpStatus: 500, ...details });

describe("the first answer", () => {
  test("is kept and replayed, byte for byte, the first caller's too", async () => {
    const { service, effect, effects } = scene();
    const answer = { b: [1e300, -0, "ä😀"], a: null, 2: "two", 1: "one", none: undefined };
    const first = await service.run("k", request, effect<unknown>(answer));
    const again = await service.run("k", request, effect<unknown>("another"));
    expect([first.replayed, again.replayed, effects.length]).toEqual([false, true, 1]);
    expect(JSON.stringify(first.answer)).toBe('{"1":"one","2":"two","b":[1e+300,0,"ä😀"],"a":null}');
    expect(JSON.stringify(again.answer)).toBe(JSON.stringify(first.answer));
    expect(Object.is((first.answer as typeof answer).b[1], 0)).toBe(true);
  });

  test("is replayed when it says that something went wrong, and when it says nothing", async () => {
    const { service, effect, effects } = scene();
    await service.run("k", request, effect({ status: 402, body: "card declined" }));
    const again = await service.run("k", request, effect({ status: 200, body: "" }));
    expect(again).toEqual({ answer: { status: 402, body: "card declined" }, replayed: true });
    await service.run("nothing", request, effect(undefined));
    expect(await service.run("nothing", request, effect(undefined))).toEqual({ answer: null, replayed: true });
    expect(effects).toHaveLength(2);
  });

  test("is nobody's to change", async () => {
    const { service } = scene();
    const mine = { n: 1 };
    const first = await service.run("k", request, () => mine);
    mine.n = 2;
    first.answer.n = 3;
    expect(await service.run("k", request, () => mine)).toEqual({ answer: { n: 1 }, replayed: true });
  });

  test("is replayed for the window, however often it is asked for; then its key is new", async () => {
    const { service, effect, effects, clock } = scene();
    await service.run("k", request, effect("first"));
    for (let n = 0; n < 23; n += 1) {
      await clock.advance(hourMs);
      expect(await service.run("k", request, effect("again"))).toEqual({ answer: "first", replayed: true });
    }
    await clock.advance(hourMs);
    expect(await service.run("k", { other: true }, effect("new"))).toEqual({ answer: "new", replayed: false });
    expect(effects).toHaveLength(2);
  });

  test("of another tenant's same key is another answer", async () => {
    const { service, effect } = scene();
    await service.run("k", request, effect("mine"), { tenant: "acme" });
    expect(await service.run("k", request, effect("theirs"))).toEqual({ answer: "theirs", replayed: false });
    expect(await service.run("k", request, effect("late"), { tenant: "acme" })).toMatchObject({ answer: "mine" });
  });

  test("that cannot be kept is said to be carried out and is not carried out again", async () => {
    const { service, effect, effects } = scene();
    const problems: [unknown, RegExp][] = [
      ["x".repeat(999), /1001 bytes of JSON; the limit is 1000/],
      [{ at: new Date() }, /at \.at: an instance of Date is not JSON/],
    ];
    for (const [n, [answer, problem]] of problems.entries()) {
      await expect(service.run(`k${n}`, request, effect(answer))).rejects.toMatchObject({
        code: "IDEMPOTENCY_ANSWER_INVALID",
        message: expect.stringMatching(problem),
        details: { httpStatus: 500 },
      });
      await expect(service.run(`k${n}`, request, effect(1))).rejects.toMatchObject({ code: "IDEMPOTENCY_UNKNOWN" });
    }
    expect(effects).toHaveLength(2);
    expect(await service.run("k", request, effect("x".repeat(998)))).toMatchObject({ replayed: false });
  });
});

describe("the same key again", () => {
  test("while the first is under way is refused: 409, and when to ask again", async () => {
    const at = scene();
    const first = held(at, at.service);
    await at.clock.advance(1_000);
    const recover = () => happened("recovered");
    await expect(at.service.run<unknown>("k", request, at.effect(1), { recover })).rejects.toMatchObject(
      refused("IDEMPOTENCY_IN_PROGRESS", { httpStatus: 409, retryAfterMs: claimMs - 1_000 }),
    );
    first.finish("done");
    expect(await first.answer).toEqual({ answer: "done", replayed: false });
    expect(await at.service.run<unknown>("k", request, at.effect(1), { recover })).toEqual({
      answer: "done",
      replayed: true,
    });
    expect(at.effects).toHaveLength(1);
  });

  test("of many at once one is carried out", async () => {
    const { service, effect, effects } = scene();
    const asked = Array.from({ length: 20 }, () => service.run("k", request, effect(1)));
    const answers = await Promise.allSettled(asked);
    expect(effects).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === "rejected") expect(answer.reason).toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS" });
      else expect(answer.value.answer).toBe(1);
    }
  });

  test("with another request is refused: 422, under way or done; the order of its keys does not matter", async () => {
    const at = scene();
    const first = held(at, at.service);
    await at.clock.advance(0);
    const conflict = refused("IDEMPOTENCY_CONFLICT", { httpStatus: 422 });
    const other = { ...request, cents: 4_300 };
    await expect(at.service.run("k", other, at.effect(1))).rejects.toMatchObject(conflict);
    first.finish("done");
    await first.answer;
    await expect(at.service.run("k", other, at.effect(1))).rejects.toMatchObject(conflict);
    const reordered = { to: { name: "Ann" }, cents: 4_200 };
    expect(await at.service.run("k", reordered, at.effect(1))).toEqual({ answer: "done", replayed: true });
    expect(at.effects).toHaveLength(1);
  });

  test("is refused before anything is written where it is none: 400", async () => {
    const { service, effect, effects } = scene();
    const bad = (code: string) => ({ code, details: expect.objectContaining({ httpStatus: 400 }) });
    await expect(service.run("", request, effect(1))).rejects.toMatchObject(bad("INPUT_INVALID"));
    await expect(service.run("x".repeat(256), request, effect(1))).rejects.toMatchObject(bad("INPUT_INVALID"));
    await expect(service.run("k", { at: new Date() }, effect(1))).rejects.toMatchObject(bad("INPUT_INVALID"));
    await expect(service.run("k", undefined, effect(1))).rejects.toMatchObject(bad("INPUT_INVALID"));
    await expect(service.run("k", request, effect(1), { tenant: "a:b" })).rejects.toMatchObject(bad("ID_INVALID"));
    expect(effects).toEqual([]);
    expect(await service.run("ä".repeat(255), null, effect(1))).toMatchObject({ replayed: false });
  });
});

describe("a request that throws", () => {
  test.each([
    ["notApplied", notApplied("out of stock")],
    ["fail", fail("card declined")],
  ])("%s: its error is thrown on and its key is free, for another request too", async (_, error) => {
    const { service, effect } = scene();
    const thrown = service.run("k", request, () => Promise.reject(error));
    await expect(thrown).rejects.toBe(error);
    expect(await service.run("k", { another: 1 }, effect("now"))).toEqual({ answer: "now", replayed: false });
  });

  test.each([
    ["an Error", new Error("socket hang up")],
    ["transient", transient("busy")],
    ["fail that may have happened", fail("no answer", { mayHaveHappened: true })],
    ["no error at all", "text"],
  ])("%s: it is thrown on, and nobody knows: not carried out again", async (_, error) => {
    const { service, effect, effects } = scene();
    await expect(service.run("k", request, () => Promise.reject(error))).rejects.toBe(error);
    await expect(service.run("k", request, effect(1))).rejects.toMatchObject(unknown({ interrupted: false }));
    expect(effects).toEqual([]);
  });

  test("synchronously is one that throws", async () => {
    const { service, effect } = scene();
    const throws = () => {
      throw new Error("at once");
    };
    await expect(service.run("k", request, throws)).rejects.toThrow("at once");
    await expect(service.run("k", request, effect(1))).rejects.toMatchObject(unknown());
  });
});

describe("a request that was interrupted", () => {
  test("is in progress until its claim is over, then unknown, and is never carried out again by itself", async () => {
    const at = scene();
    await interrupted(at);
    await at.clock.advance(claimMs - 1);
    await expect(at.service.run("k", request, at.effect(1))).rejects.toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS" });
    for (const ms of [1, hourMs, 24 * hourMs, 500 * hourMs]) {
      await at.clock.advance(ms);
      await expect(at.service.run("k", request, at.effect(1))).rejects.toMatchObject(unknown({ interrupted: true }));
    }
    expect(at.effects).toHaveLength(1);
  });

  test("is forgotten after unknownFor", async () => {
    const at = scene();
    await interrupted(at);
    await at.clock.advance(settings.unknownMs);
    expect(await at.service.run("k", { another: 1 }, at.effect("new"))).toEqual({ answer: "new", replayed: false });
  });

  test("happened, says recover: its answer is the answer from now on", async () => {
    const at = scene();
    await interrupted(at);
    await at.clock.advance(claimMs);
    const asked: string[] = [];
    const recover = (key: string) => {
      asked.push(key);
      return happened({ chargeId: "ch-1" });
    };
    const found = await at.service.run<unknown>("k", request, at.effect({ chargeId: "ch-2" }), { recover });
    expect(found).toEqual({ answer: { chargeId: "ch-1" }, replayed: true });
    expect(await at.service.run<unknown>("k", request, at.effect({ chargeId: "ch-2" }), { recover })).toEqual(found);
    expect([asked, at.effects.length]).toEqual([["k"], 1]);
  });

  test("is absent, says recover once the claim is over: it is carried out, once for all who ask", async () => {
    const at = scene();
    await interrupted(at);
    await at.clock.advance(claimMs);
    const asked = Array.from({ length: 10 }, () =>
      at.service.run<unknown>("k", request, at.effect("now"), { recover: absent }),
    );
    const answers = await Promise.allSettled(asked);
    expect(at.effects).toHaveLength(2); // the one that was interrupted, and this one
    expect(answers.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(0);
    expect(await at.service.run("k", request, at.effect("late"))).toEqual({ answer: "now", replayed: true });
  });

  test.each([
    ["cannot tell", () => cannotTell("the ledger is down"), "recover cannot tell: the ledger is down"],
    [
      "says a credential",
      () => cannotTell("Bearer abc was refused"),
      "recover cannot tell: Bearer [redacted] was refused",
    ],
    ["throws", () => Promise.reject(new Error("timeout")), "recover failed"],
    ["answers nonsense", () => ({ answer: "perhaps" }) as never, "recover answered none of"],
  ])("stays unknown when recover %s", async (_, recover, why) => {
    const at = scene();
    await interrupted(at);
    await at.clock.advance(claimMs);
    const asked = at.service.run<unknown>("k", request, at.effect(1), { recover });
    await expect(asked).rejects.toMatchObject({
      code: "IDEMPOTENCY_UNKNOWN",
      message: expect.stringContaining(why),
    });
    expect(await at.service.run<unknown>("k", request, at.effect(1), { recover: () => happened(7) })).toMatchObject({
      answer: 7,
    });
    expect(at.effects).toHaveLength(1);
  });

  test("with another request is a conflict, whatever recover would say", async () => {
    const at = scene();
    await interrupted(at);
    await at.clock.advance(claimMs);
    const other = at.service.run<unknown>("k", { other: 1 }, at.effect(1), { recover: absent });
    await expect(other).rejects.toMatchObject({ code: "IDEMPOTENCY_CONFLICT" });
  });
});

test("after an error that says nothing, happened is believed at once, absent only when the claim would be over", async () => {
  const { service, effect, effects, clock } = scene();
  const threw = () => Promise.reject(new Error("socket hang up"));
  for (const key of ["k", "h"]) await expect(service.run(key, request, threw)).rejects.toThrow("socket hang up");
  await clock.advance(1_000);
  expect(await service.run<unknown>("h", request, effect(1), { recover: () => happened(2) })).toMatchObject({
    answer: 2,
  });
  const asked = () => service.run<unknown>("k", request, effect(1), { recover: absent });
  await expect(asked()).rejects.toMatchObject(unknown({ retryAfterMs: claimMs - 1_000 }));
  await clock.advance(claimMs - 1_001);
  await expect(asked()).rejects.toMatchObject(unknown({ retryAfterMs: 1 }));
  expect(effects).toEqual([]);
  await clock.advance(1);
  expect(await asked()).toEqual({ answer: 1, replayed: false });
});

describe("a request slower than its claim", () => {
  test("hears so by its signal, and its answer is still kept where nobody took its place", async () => {
    const at = scene();
    const slow = held(at, at.service);
    await at.clock.advance(claimMs - 1);
    expect(slow.signal()?.aborted).toBe(false);
    await at.clock.advance(1);
    expect(slow.signal()?.reason).toMatchObject({ name: "TimeoutError" });
    slow.finish("late");
    expect(await slow.answer).toEqual({ answer: "late", replayed: false });
    expect(await at.service.run("k", request, at.effect(1))).toEqual({ answer: "late", replayed: true });
  });

  test.each([
    ["happened", () => happened("the second's")],
    ["absent", absent],
  ])("does not overwrite what another has stored (recover: %s)", async (_, recover) => {
    const at = scene();
    const slow = held(at, at.service);
    await at.clock.advance(claimMs);
    const second = await at.service.run<unknown>("k", request, at.effect("the second's"), { recover });
    slow.finish("the first's");
    await expect(slow.answer).rejects.toMatchObject(
      refused("IDEMPOTENCY_CLAIM_LOST", { httpStatus: 409, called: true }),
    );
    expect(second.answer).toBe("the second's");
    expect(await at.service.run("k", request, at.effect(1))).toEqual({ answer: "the second's", replayed: true });
  });

  test("and what it throws in the end frees nothing", async () => {
    const at = scene();
    let end: (error: Error) => void = () => undefined;
    const failing = new Promise((_, reject) => {
      end = reject;
    });
    const slow = at.service.run("k", request, () => failing);
    slow.catch(() => undefined);
    await at.clock.advance(claimMs);
    const taking = at.service.run<unknown>("k", request, () => new Promise(() => undefined), { recover: absent });
    taking.catch(() => undefined);
    await at.clock.advance(1);
    end(notApplied("late"));
    await expect(slow).rejects.toThrow("late");
    await expect(at.service.run("k", request, at.effect(1))).rejects.toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS" });
    expect(at.effects).toEqual([]);
  });

  test("before it began is not carried out, and its key is free", async () => {
    const at = scene();
    const late = at.serviceOver({
      claimIntent: async (command) => {
        const answer = await at.store.claimIntent(command);
        await new Promise<void>((resolve) => void at.clock.after(claimMs, resolve));
        return answer;
      },
    });
    const asked = late.run("k", request, at.effect(1));
    asked.catch(() => undefined);
    await at.clock.advance(claimMs);
    await expect(asked).rejects.toMatchObject(refused("IDEMPOTENCY_CLAIM_LOST", { called: false }));
    expect(at.effects).toEqual([]);
    expect(await at.service.run("k", request, at.effect(1))).toMatchObject({ replayed: false });
  });
});

describe("while the store is out of reach", () => {
  /** The first `times` requests are carried out, and nobody hears of it. */
  const losing = <Args extends readonly unknown[], Answer>(times: number, ask: (...args: Args) => Promise<Answer>) => {
    let left = times;
    return async (...args: Args): Promise<Answer> => {
      const answer = await ask(...args);
      left -= 1;
      if (left >= 0) throw lost();
      return answer;
    };
  };

  test("lost answers are asked for again, and the request is carried out once", async () => {
    const at = scene();
    const lossy = at.serviceOver({
      claimIntent: losing(2, (command) => at.store.claimIntent(command)),
      publishIntent: losing(2, (command) => at.store.publishIntent(command)),
    });
    const asked = lossy.run("k", request, at.effect("once"));
    await at.clock.advance(1_000);
    expect(await asked).toEqual({ answer: "once", replayed: false });
    expect(await at.service.run("k", request, at.effect(1))).toEqual({ answer: "once", replayed: true });
    expect(at.effects).toHaveLength(1);
  });

  test("a claim that is never answered is a 503, nothing is carried out, and the key is given back", async () => {
    const at = scene();
    const deaf = at.serviceOver({ claimIntent: losing(1_000, (command) => at.store.claimIntent(command)) });
    const asked = deaf.run("k", request, at.effect(1));
    asked.catch(() => undefined);
    await at.clock.advance(5_000);
    await expect(asked).rejects.toMatchObject(refused("STORE_UNAVAILABLE", { httpStatus: 503, called: false }));
    expect(await at.service.run("k", request, at.effect("now"))).toEqual({ answer: "now", replayed: false });
    expect(at.effects).toHaveLength(1);
  });

  test("the claim of one that happened is not given back: it stays unknown", async () => {
    const at = scene();
    await interrupted(at);
    await at.clock.advance(claimMs);
    let turn = 0;
    const deaf = at.serviceOver({
      claimIntent: async (command) => {
        const answer = await at.store.claimIntent(command);
        turn += 1;
        if (turn > 1) throw lost();
        return answer;
      },
    });
    const asked = deaf.run<unknown>("k", request, at.effect(1), { recover: () => happened(1) });
    asked.catch(() => undefined);
    await at.clock.advance(5_000);
    await expect(asked).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await at.clock.advance(claimMs);
    await expect(at.service.run("k", request, at.effect(1))).rejects.toMatchObject(unknown());
    expect(at.effects).toHaveLength(1);
  });

  test("an answer that Redis does not confirm is a 503, and is kept as soon as Redis takes it", async () => {
    const at = scene();
    let isDown = true;
    const service = at.serviceOver({
      publishIntent: async (command) => {
        if (isDown) throw lost();
        return await at.store.publishIntent(command);
      },
    });
    const asked = service.run("k", request, at.effect("kept"));
    asked.catch(() => undefined);
    await at.clock.advance(5_000);
    await expect(asked).rejects.toMatchObject(refused("STORE_UNAVAILABLE", { httpStatus: 503, called: true }));
    isDown = false;
    await at.clock.advance(1_000);
    expect(await at.service.run("k", request, at.effect(1))).toEqual({ answer: "kept", replayed: true });
    expect(at.effects).toHaveLength(1);
  });

  test("opening it is tried again by the next request", async () => {
    const at = scene();
    let turn = 0;
    const service = at.serviceOver({
      open: async () => {
        turn += 1;
        if (turn === 1) throw lost();
      },
    });
    const first = service.run("k", request, at.effect(1));
    await expect(first).rejects.toMatchObject(refused("STORE_UNAVAILABLE", { called: false }));
    expect(await service.run("k", request, at.effect(1))).toMatchObject({ replayed: false });
  });

  const lost = () => new RepriseError("STORE_UNAVAILABLE", "no answer");
});

describe("a store that may forget", () => {
  test("is refused, unless it is accepted", async () => {
    const strict = scene({ durability: "forgetful" });
    const asked = strict.service.run("k", request, strict.effect(1));
    await expect(asked).rejects.toMatchObject({ code: "STORE_FORGETFUL" });
    const loose = scene({ durability: "forgetful", settings: { allowForgetfulStore: true } });
    expect(await loose.service.run("k", request, loose.effect(1))).toMatchObject({ replayed: false });
    expect([strict.effects.length, loose.effects.length]).toEqual([0, 1]);
  });

  test("behind a barrier that is not reached carries nothing out, and gives the key back", async () => {
    const at = scene({ durability: "barrier" });
    const unreached = at.serviceOver({ barrier: () => Promise.resolve(false) });
    const asked = unreached.run("k", request, at.effect(1));
    await expect(asked).rejects.toMatchObject(refused("STORE_UNAVAILABLE", { httpStatus: 503, called: false }));
    expect(at.effects).toEqual([]);
    expect(await at.service.run("k", request, at.effect(1))).toMatchObject({ replayed: false });
  });
});

describe("closing", () => {
  test("lets what is under way end, takes nothing more, and may be done twice", async () => {
    const at = scene();
    const first = held(at, at.service);
    await at.clock.advance(0);
    let isClosed = false;
    const closing = Promise.all([at.service.close(), at.service.close()]).then(() => {
      isClosed = true;
    });
    await expect(at.service.run("other", request, at.effect(1))).rejects.toMatchObject({ code: "CLOSED" });
    await at.clock.advance(1_000);
    expect(isClosed).toBe(false);
    first.finish("done");
    await closing;
    expect(await first.answer).toEqual({ answer: "done", replayed: false });
  });

  test("waits for claimFor at most, and not at all where nothing was asked", async () => {
    const at = scene();
    held(at, at.service);
    await at.clock.advance(0);
    let isClosed = false;
    const closing = at.service.close().then(() => {
      isClosed = true;
    });
    await at.clock.advance(claimMs - 1);
    expect(isClosed).toBe(false);
    await at.clock.advance(1);
    expect(isClosed).toBe(true);
    await closing;
    await scene().service.close();
  });
});

describe("times", () => {
  test("are a day, a minute and thirty days unless given", () => {
    expect(readTimes({}, 1_000)).toEqual({ windowMs: 24 * hourMs, claimMs: 60_000, unknownMs: 720 * hourMs });
    expect(readTimes({ window: "1h", claimFor: "5s", unknownFor: 3_600_000 }, 1_000)).toEqual({
      windowMs: hourMs,
      claimMs: 5_000,
      unknownMs: hourMs,
    });
  });

  test.each([
    [{ window: "soon" as never }, /window: "soon" is not a duration/],
    [{ window: 0 }, /window must be at least 1 ms/],
    [{ claimFor: "1s" as const }, /claimFor \(1000 ms\) must be more than a Redis command may take \(1000 ms\)/],
    [{ unknownFor: "1h" as const }, /unknownFor .* must be at least window/],
  ])("that do not hold together are refused: %j", (given, problem) => {
    const refusal = expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(problem) });
    expect(() => readTimes(given, 1_000)).toThrow(refusal as Error);
  });
});

test("createIdempotency refuses times and places that cannot be, before anything is connected", () => {
  const refusal = (message: RegExp) =>
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringMatching(message) }) as Error;
  const redis = "redis://127.0.0.1:1";
  const times = { claimFor: "900ms", unknownFor: "1h" } as const;
  expect(() => createIdempotency({ redis, ...times })).toThrow(refusal(/claimFor .*; unknownFor /));
  expect(() => createIdempotency({ redis, namespace: "a b" })).toThrow(refusal(/a namespace is 1 to 64 characters/));
  expect(() => createIdempotency({ redis: "nowhere" })).toThrow(refusal(/does not say where Redis is/));
});
