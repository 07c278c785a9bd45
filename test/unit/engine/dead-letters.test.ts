/** What a worker shows of parked runs, and what it makes of letters that are put back: over memory, in virtual time. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { connectedClient } from "../../../src/client/index.ts";
import type { DeadLetter, DeadLetterRef, DeadLetters } from "../../../src/core/index.ts";
import { RepriseError } from "../../../src/errors.ts";
import { absent, cannotTell, happened, notApplied, type ProbeAnswer, saga, step } from "../../../src/saga/index.ts";
import { aCommit, aCreate, aLease } from "../../support/records.ts";
import { benchTop } from "./bench-top.ts";

const input = z.object({});
const output = z.object({ ref: z.string() });

/** A queue in this process's memory, shared by all workers; each takes what is put back by `resume`. */
function letterBox() {
  const shown = new Map<string, DeadLetter>();
  const key = ({ run, review }: DeadLetterRef) => `${run.id} ${review}`;
  let isAway = false;
  let resume: Parameters<DeadLetters["start"]>[0] = () => Promise.reject(new Error("nobody has started"));
  const reach = (): Promise<void> => (isAway ? Promise.reject(new Error("the queue is away")) : Promise.resolve());
  const letters: DeadLetters = {
    add: async (added) => {
      await reach();
      for (const letter of added) if (!shown.has(key(letter))) shown.set(key(letter), letter);
    },
    remove: async (removed) => {
      await reach();
      for (const letter of removed) shown.delete(key(letter));
    },
    list: async (from, limit) => {
      await reach();
      return [...shown.values()].slice(from, from + limit);
    },
    start: async (handler) => {
      resume = handler;
    },
    stop: () => Promise.resolve(),
  };
  return {
    letters,
    shown: () => [...shown.keys()],
    letter: (name: string) => shown.get(name),
    lose: () => shown.clear(),
    away: (is: boolean) => {
      isAway = is;
    },
    /** Why it was refused; `null`: it was done; `elsewhere`. */
    putBack: async (id: string, review = 1) => {
      const fate = await resume({ run: { tenant: "default", id }, review });
      return fate.is === "refused" ? fate.reason : fate.is === "done" ? null : fate.is;
    },
  };
}

function setup() {
  const calls: string[] = [];
  const world = { open: false, answer: cannotTell() as ProbeAnswer<{ ref: string }> };
  const busy = step("busy", {
    input,
    output,
    effect: "keyed",
    action: () => {
      calls.push("busy");
      if (!world.open) throw notApplied("closed today");
      return { ref: "b-1" };
    },
    compensate: () => undefined,
    retry: { attempts: 1 },
    onExhausted: "review",
  });
  const send = step("send", {
    input,
    output,
    effect: "once",
    action: () => {
      calls.push("send");
      if (!world.open) throw new Error("the line broke");
      return { ref: "m-2" };
    },
    probe: () => {
      calls.push("probe");
      return world.answer;
    },
    noCompensation: "it stays",
    timeout: "1s",
    lateness: "1s",
  });
  const shop = saga("shop", { version: 1, input })
    .step(busy, () => ({}))
    .build();
  const mail = saga("mail", { version: 1, input })
    .step(send, () => ({}))
    .build();
  const top = benchTop([shop, mail]);
  const client = connectedClient(top.ports, {
    namespace: "test",
    sagas: [shop, mail],
    maxPayloadBytes: 1_000,
    maxReplays: 10,
  });
  const statusOf = async (id: string) => (await client.run(id).get()).status;
  return { ...top, calls, world, shop, mail, client, statusOf, box: letterBox() };
}

const sweepMs = 30_000;

describe("a parked run", () => {
  test("is shown with its question, until it is answered", async () => {
    const { client, clock, shop, worker, box, statusOf } = setup();
    await worker({ letters: box.letters }).start();
    const run = await client.start(shop, {}, { id: "r1" });
    await clock.advance(100);
    const { review } = await run.get();
    expect(box.letter("r1 1")).toEqual({
      run: { tenant: "default", id: "r1" },
      review: 1,
      saga: "shop",
      version: 1,
      reason: "exhausted",
      message: review?.message,
      since: review?.since,
      verbs: review?.verbs,
    });
    await run.operator.retry({ by: "ann", reason: "again" });
    await clock.advance(100);
    expect(box.shown()).toEqual(["r1 2"]);
    await run.operator.close({ by: "ann", reason: "enough" });
    await clock.advance(100);
    expect([await statusOf("r1"), box.shown()]).toEqual(["failed", []]);
  });

  test("goes on while the queue is away, and is shown or not as it stands when the queue is back", async () => {
    const { client, clock, shop, mail, worker, box, world, statusOf } = setup();
    await worker({ letters: box.letters }).start();
    box.away(true);
    const run = await client.start(shop, {}, { id: "r1" });
    await client.start(mail, {}, { id: "stays" });
    await clock.advance(60_000);
    world.open = true;
    await run.operator.retry({ by: "ann", reason: "open again" });
    await clock.advance(1_000);
    expect([await statusOf("r1"), await statusOf("stays")]).toEqual(["completed", "needs_review"]);
    box.away(false);
    await clock.advance(1.3 * sweepMs);
    expect(box.shown()).toEqual(["stays 1"]);
  });
});

describe("a sweep", () => {
  test("shows what a worker that died had parked", async () => {
    const { client, clock, shop, worker, mortal, box } = setup();
    const { kill } = await mortal();
    await client.start(shop, {}, { id: "r1" });
    await clock.advance(100);
    kill();
    await worker({ letters: box.letters }).start();
    expect(box.shown()).toEqual([]);
    await clock.advance(1.3 * sweepMs);
    expect(box.shown()).toEqual(["r1 1"]);
  });

  test("takes away what is over, and leaves what is open", async () => {
    const { client, clock, shop, worker, box } = setup();
    await worker({ letters: box.letters }).start();
    await client.start(shop, {}, { id: "r1" });
    await clock.advance(100);
    const open = box.letter("r1 1") as DeadLetter;
    await box.letters.add([
      { ...open, review: 7 },
      { ...open, run: { tenant: "default", id: "never-there" } },
    ]);
    await clock.advance(1.3 * sweepMs);
    expect(box.shown()).toEqual(["r1 1"]);
  });

  test("leaves the letter of a run that cannot be read, and sees to the others", async () => {
    const { client, clock, shop, worker, box, ports } = setup();
    await worker({ letters: box.letters }).start();
    await client.start(shop, {}, { id: "r1" });
    await clock.advance(100);
    const open = box.letter("r1 1") as DeadLetter;
    const named = (id: string): DeadLetter => ({ ...open, run: { tenant: "default", id } });
    await box.letters.add([named("damaged"), named("never-there")]);
    const { read } = ports.store;
    ports.store.read = (run) =>
      run.id === "damaged"
        ? Promise.reject(new RepriseError("RECORD_CORRUPT", "it cannot be read"))
        : read.call(ports.store, run);
    await clock.advance(1.3 * sweepMs);
    expect(box.shown()).toEqual(["r1 1", "damaged 1"]);
  });

  test("goes through very many in turns, both ways", async () => {
    const { clock, store, worker, box } = setup();
    const review = {
      n: 1,
      reason: "defect",
      message: "a bug",
      seq: null,
      side: null,
      evidence: null,
      verbs: [],
    } as const;
    const now = await store.now();
    const runs = Array.from({ length: 2_300 }, (_, n) => ({ tenant: "default", id: `r${n}` }));
    for (const [n, run] of runs.entries()) {
      const { record, ...create } = aCreate({ ...run, createdAt: now - n, startAt: now - n });
      await store.create({ record, ...create });
      const acquired = await store.acquire({ run, owner: "w", token: `t${n}`, leaseMs: 10_000 });
      if (acquired.answer !== "OK") throw new Error(acquired.answer);
      const parked = { status: "needs_review", review: { ...review, since: now } } as const;
      const commit = aCommit(record, { record: parked, release: true, due: null, now });
      await store.commit({ lease: aLease(run, acquired.fence, `t${n}`, "w"), commit, leaseMs: 10_000 });
    }
    const left: DeadLetter = {
      run: { tenant: "default", id: "x" },
      review: 1,
      saga: "shop",
      version: 1,
      ...review,
      since: 0,
    };
    await box.letters.add(Array.from({ length: 1_500 }, (_, n) => ({ ...left, run: { ...left.run, id: `x${n}` } })));
    await worker({ letters: box.letters }).start();
    await clock.advance(8 * sweepMs);
    expect(new Set(box.shown())).toEqual(new Set(runs.map(({ id }) => `${id} 1`)));
  });
});

describe("a letter that is put back", () => {
  test("is done where nothing can be doubled: the step is tried again, once", async () => {
    const { client, clock, shop, worker, box, world, calls, statusOf } = setup();
    await worker({ letters: box.letters }).start();
    await client.start(shop, {}, { id: "r1" });
    await clock.advance(100);
    world.open = true;
    expect(await Promise.all([box.putBack("r1"), box.putBack("r1")])).toEqual([null, null]);
    await clock.advance(1_000);
    expect([await statusOf("r1"), calls, box.shown()]).toEqual(["completed", ["busy", "busy"], []]);
    expect(await box.putBack("r1")).toBeNull();
    await clock.advance(1_000);
    expect(calls).toEqual(["busy", "busy"]);
  });

  test("asks the other side where that can be asked, and does not do again what happened", async () => {
    const { client, clock, mail, worker, box, world, calls, statusOf } = setup();
    await worker({ letters: box.letters }).start();
    await client.start(mail, {}, { id: "r1" });
    await clock.advance(60_000);
    expect(box.shown()).toEqual(["r1 1"]);
    world.answer = happened({ ref: "m-1" });
    expect(await box.putBack("r1")).toBeNull();
    await clock.advance(1_000);
    expect([await statusOf("r1"), calls.filter((call) => call === "send")]).toEqual(["completed", ["send"]]);
  });

  test("sends again what the other side says is absent, and only then", async () => {
    const { client, clock, mail, worker, box, world, calls, statusOf } = setup();
    await worker({ letters: box.letters }).start();
    await client.start(mail, {}, { id: "r1" });
    await clock.advance(60_000);
    expect(await box.putBack("r1")).toBeNull();
    await clock.advance(60_000);
    expect(calls.filter((call) => call === "send")).toEqual(["send"]);
    expect(box.shown()).toEqual(["r1 2"]);
    world.answer = absent();
    world.open = true;
    expect(await box.putBack("r1", 2)).toBeNull();
    await clock.advance(10_000);
    expect(await statusOf("r1")).toBe("completed");
    expect(calls.filter((call) => call === "send")).toEqual(["send", "send"]);
  });

  test("is for another worker where this one does not have the saga, and refused where nobody has it", async () => {
    const { client, clock, shop, mail, worker, box, statusOf } = setup();
    const first = worker();
    await first.start();
    await client.start(shop, {}, { id: "r1" });
    await clock.advance(100);
    await worker({ serve: [mail], letters: box.letters }).start();
    expect(await box.putBack("r1")).toBe("elsewhere");
    const stopped = first.stop();
    await clock.advance(20_000);
    await stopped;
    expect(await box.putBack("r1")).toContain("it cannot go on here (BLOCKED): the saga is not here: shop version 1");
    expect(await statusOf("r1")).toBe("needs_review");
  });

  test("after somebody else has decided says who; after the review is over it goes", async () => {
    const { client, clock, shop, worker, box, store, calls } = setup();
    await worker({ letters: box.letters }).start();
    await client.start(shop, {}, { id: "r1" });
    await clock.advance(100);
    const verb = { type: "verb", verb: { verb: "close", reason: "enough" } } as const;
    const run = { tenant: "default", id: "r1" };
    await store.send({ run, slot: "review:1", commandId: "c", by: "ann", body: verb });
    expect(await box.putBack("r1")).toBe("ann has already decided on this review");
    await clock.advance(10_000);
    expect(await box.putBack("r1")).toBeNull();
    expect(await box.putBack("never-there")).toBeNull();
    expect(calls).toEqual(["busy"]);
  });
});
