/** The small pure parts: names, digests, listings, commits as values, records that cannot be true. */
import { describe, expect, test } from "vitest";
import { digestOf, evolve, hashOf, idPattern, listingsOf, operationId, runKey } from "../../src/core/index.ts";
import { mayRepeat, newCall } from "../../src/core/rows.ts";
import { ok, Play, refused, retry, timedOut } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

describe("names", () => {
  const run = { tenant: "acme", id: "order-1" };
  const row = (step: string) => ({ ...new Play(line([call("a")])).row("a"), step });

  test("a run is spelt in one way", () => {
    expect(runKey(run)).toBe("acme:order-1");
  });

  test("an operation id says where it belongs", () => {
    expect(operationId("ns", run, row("charge"))).toBe("ns/acme/order-1/charge/1");
    expect(operationId("ns", run, row("charge"), "undo")).toBe("ns/acme/order-1/charge/1/undo");
  });

  test("a long operation id ends in a hash and stays unique", () => {
    const long = "s".repeat(300);
    const ids = [operationId("ns", run, row(`${long}a`)), operationId("ns", run, row(`${long}b`))];
    expect(ids.map((id) => id.length)).toEqual([200, 200]);
    expect(new Set(ids).size).toBe(2);
  });

  test("an operation id of exactly the greatest length is left as it is", () => {
    const step = "s".repeat(200 - "ns/acme/order-1//1".length);
    expect(operationId("ns", run, row(step))).toBe(`ns/acme/order-1/${step}/1`);
  });

  test.each(["a", "A-1_b.c", "x".repeat(64)])("%s is an id", (id) => {
    expect(idPattern.test(id)).toBe(true);
  });

  test.each(["", "a b", "a:b", "a/b", "x".repeat(65), "\u00e9"])("%s is none", (id) => {
    expect(idPattern.test(id)).toBe(false);
  });
});

describe("digests", () => {
  test("of equal values are equal whatever the order of their keys", () => {
    expect(hashOf({ a: 1, b: [1, 2] })).toBe(hashOf({ b: [1, 2], a: 1 }));
  });

  test("of different values differ, and are 22 characters", () => {
    expect(hashOf({ a: 1 })).not.toBe(hashOf({ a: 2 }));
    expect(digestOf("x")).toHaveLength(22);
  });

  test("are of JSON only", () => {
    expect(() => hashOf(undefined as never)).toThrow("only JSON has a hash");
  });

  test("chain the log: the same entry after another history has another digest", () => {
    const play = new Play(line([call("a"), call("b")]));
    const other = new Play(line([call("a"), call("b")]));
    other.now += 1;
    play.answer("a", ok());
    other.answer("a", ok("y"));
    play.answer("b", ok());
    other.answer("b", ok());
    expect(play.log[2]?.digest).toBe(other.log[2]?.digest);
    expect(play.run.record.logDigest).toBe(play.log.at(-1)?.digest);
    expect(new Set(play.log.map((entry) => entry.digest)).size).toBe(play.log.length);
  });
});

test.each([
  ["none", true],
  ["idempotent", true],
  ["keyed", true],
  ["once", false],
] as const)("%s may be repeated: %s", (effect, may) => {
  const { spec } = call("a", { effect });
  expect(mayRepeat({ ...newCall(effect, 0), firstSentAt: 0 }, spec, 1_000)).toBe(may);
});

describe("listings", () => {
  test("an open run is found by status, saga, structure and attributes", () => {
    const play = new Play(line([call("a")], { attributes: () => ({ city: "Rome", n: 7 }) }));
    expect(listingsOf(play.run.record)).toEqual([
      "status:running",
      "saga:line:running",
      "open:line@1#hash",
      "attribute:city=Rome",
      "attribute:n=7",
    ]);
  });

  test("a parked run is in one more, that tells nothing but that", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", timedOut());
    expect(listingsOf(play.run.record)).toEqual([
      "status:needs_review",
      "saga:line:needs_review",
      "open:line@1#hash",
      "parked",
    ]);
    expect(play.last?.commit?.join).toContain("parked");
    play.verb({ verb: "close", reason: "enough" });
    expect(play.last?.commit?.leave).toContain("parked");
  });

  test("an ended run is in two", () => {
    const play = new Play(line([call("a")]));
    play.answer("a", ok());
    expect(listingsOf(play.run.record)).toEqual(["status:completed", "saga:line:completed"]);
    expect(play.last?.commit).toMatchObject({
      leave: ["status:running", "saga:line:running", "open:line@1#hash"],
      join: ["status:completed", "saga:line:completed"],
    });
  });

  test("are untouched by a commit that changes no membership", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    expect(play.last?.commit).toMatchObject({ leave: [], join: [] });
  });
});

describe("a commit", () => {
  test("says for which revision it was decided, when, and by whom", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok());
    expect(play.last?.commit).toMatchObject({ expects: 2, now: play.now, release: false, mustSee: false, due: null });
    expect(play.log.at(-1)).toMatchObject({ revision: 3, actor: "w1", fence: 1, from: "running", to: "running" });
  });

  test("applied to a run leaves that run as it was", () => {
    const play = new Play(line([call("a"), call("b")]));
    const before = structuredClone(play.run);
    const { commit } = play.answer("a", ok());
    if (commit === null) throw new Error("nothing was written");
    const run = structuredClone(before);
    evolve(run, commit);
    expect(run).toEqual(before);
  });

  test("that changes no row keeps the ledger itself", () => {
    const play = new Play(line([call("a")]));
    const { commit } = play.pause();
    if (commit === null) throw new Error("nothing was written");
    expect(evolve(play.run, commit).rows).toBe(play.run.rows);
  });
});

describe("a record that cannot be true", () => {
  test("with a hole in its ledger is refused, not guessed at", () => {
    const play = new Play(line([call("a")]));
    play.run = { ...play.run, rows: [] };
    expect(() => play.tick()).toThrow("has no ledger row 1");
  });

  test("with a question about a compensation that is not there is refused", () => {
    const play = new Play(line([call("a", { effect: "once" })]));
    play.answer("a", timedOut());
    const { record } = play.run;
    const review = { ...(record.review as NonNullable<typeof record.review>), side: "undo" as const };
    play.run = { ...play.run, record: { ...record, review: { ...review, verbs: ["retry", "close"] } } };
    expect(() => play.verb(retry())).toThrow("row 1 has no compensation");
  });
});

describe("what a machine emits or logs", () => {
  test("is no business of the ledger", async () => {
    const { emit, log } = await import("xstate");
    const machine = {
      initial: "one",
      entry: [emit({ type: "hello" }), log("hello")],
      states: { one: { invoke: { src: "a", onDone: "end" } }, end: { type: "final" } },
    };
    const play = new Play(played(machine, [call("a")]));
    expect(play.run.rows).toHaveLength(1);
    play.answer("a", refused());
    expect(play.status).toBe("failed");
  });
});
