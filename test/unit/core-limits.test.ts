/** A run that takes turns does nothing before its turn is on record, keeps it until it has ended on record, and gives it then. */
import { describe, expect, test } from "vitest";
import { type RunLimit, turnKeyOf, turnOf } from "../../src/core/index.ts";
import { close, defect, ok, Play, refused } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const byCustomer = { key: ({ input }: { input: { customer?: string } }) => input.customer, limit: 2 };
const input = { customer: "c1" };
const wait = (ahead = 0) => ({ answer: "WAIT", ahead, before: [{ run: "r0", asked: 1 }] }) as const;
const mine = { answer: "MINE" } as const;

function limited(options: { readonly startAt?: number; readonly idle?: boolean } = {}): Play {
  return new Play(line([call("a"), call("b")], { concurrency: byCustomer }), { input, ...options });
}

describe("before its turn", () => {
  test("it asks, under its key and limit and from when it was started, and does nothing else", () => {
    const play = limited();
    const turn = turnOf("default", "line", "c1");
    const { startAt: startedAt, revision } = play.run.record;
    expect([...play.line.values()]).toEqual([{ kind: "ask", turn, limit: 2, startedAt, asked: revision }]);
    expect(play).toMatchObject({ status: "running", held: true, ordered: [] });
    expect(play.run.record.snapshot).toBeNull();
  });

  test("it waits in line without a worker", () => {
    const play = limited();
    play.turned(wait());
    expect(play).toMatchObject({ status: "waiting", held: false, ordered: [] });
    expect(play.run.record.waitingFor).toBe("limit");
    expect(play.taken().at(-1)).toEqual({ what: "turn_taken", state: "waiting" });
  });

  test("it asks again by itself, lest nobody tells it: after half a minute at the front, later further back", () => {
    const front = limited();
    front.turned(wait(1));
    expect((front.due ?? 0) - front.now).toBe(30_000);
    front.advance(30_000);
    expect([...front.line.keys()]).toEqual(["turn:ask"]);
    front.turned(wait(1));
    expect((front.due ?? 0) - front.now).toBe(30_000);
    expect(front.taken().filter(({ what }) => what === "turn_taken")).toHaveLength(1);
    const back = limited();
    back.turned(wait(7));
    expect((back.due ?? 0) - back.now).toBe(120_000);
    const farBack = limited();
    farBack.turned(wait(1_000));
    expect((farBack.due ?? 0) - farBack.now).toBe(600_000);
  });

  test("told that it may be its turn it asks at once", () => {
    const play = limited();
    play.turned(wait());
    play.send("turn:r0", { type: "turn" });
    expect([...play.line.keys()]).toEqual(["turn:ask"]);
    expect(play.run.inbox).toEqual([]);
    play.turned(mine);
    expect(play.flying()).toEqual(["a"]);
  });

  test("told so while the answer is on its way, which may be older, it asks once more", () => {
    const play = limited();
    play.send("turn:r0", { type: "turn" });
    expect(play.run.inbox).toHaveLength(1);
    play.turned(wait());
    expect([...play.line.keys()]).toEqual(["turn:ask"]);
    expect(play.run.inbox).toEqual([]);
  });

  test("told so before it has ever asked, or when it has its turn, it makes nothing of it", () => {
    const play = limited({ idle: true });
    play.send("turn:r0", { type: "turn" });
    play.turned(mine);
    play.send("turn:r9", { type: "turn" });
    expect(play.run.inbox).toEqual([]);
    expect([...play.line.keys()]).toEqual([]);
    const other = new Play(line([call("a")]), { input });
    other.send("turn:r0", { type: "turn" });
    expect(other.run.inbox).toEqual([]);
  });

  test("one to be started later stands in no line before", () => {
    const play = limited({ startAt: 1_060_000 });
    expect(play.line.size).toBe(0);
    expect(play.held).toBe(false);
    play.advance(60_000);
    expect([...play.line.values()].map(({ startedAt }) => startedAt)).toEqual([1_060_000]);
  });

  test("a worker that stops leaves the asking to the next one", () => {
    const play = limited();
    play.turned(wait());
    play.advance(29_000);
    play.acquire();
    play.stop();
    expect(play.line.size).toBe(0);
    const fresh = limited({ idle: true });
    fresh.takeOver();
    expect([...fresh.line.keys()]).toEqual(["turn:ask"]);
    fresh.takeOver();
    expect([...fresh.line.keys()]).toEqual(["turn:ask"]);
  });

  test("an answer that says it has given before is no turn: it asks later", () => {
    const play = limited();
    play.turned({ answer: "GONE" });
    expect(play).toMatchObject({ status: "waiting", ordered: [] });
    expect((play.due ?? 0) - play.now).toBe(30_000);
  });

  test("paused it keeps its place", () => {
    const play = limited();
    play.turned(wait());
    play.pause();
    expect(play.status).toBe("paused");
    play.resume();
    expect(play.status).toBe("waiting");
  });

  test("cancelled it ends, leaves the line, and is begun never", () => {
    const play = limited();
    play.turned(wait());
    play.cancel();
    expect(play).toMatchObject({ status: "cancelled", ordered: [], held: true });
    expect([...play.line.keys()]).toEqual(["turn:give"]);
    play.given();
    expect(play.held).toBe(false);
    expect(play.run.record.limit?.state).toBe("freed");
  });

  test("cancelled while it asks, the answer that comes later changes nothing", () => {
    const play = limited();
    play.cancel();
    expect([...play.line.keys()]).toEqual(["turn:ask", "turn:give"]);
    play.turned(mine);
    expect(play.run.record.limit?.state).toBe("asking");
    play.given();
    expect(play).toMatchObject({ status: "cancelled", held: false });
  });

  test("events that come meanwhile are kept, and taken in order when it has its turn", () => {
    const config = { initial: "s", states: { s: { on: { GO: "t" } }, t: { on: { ON: "u" } }, u: { type: "final" } } };
    const play = new Play(played(config, [call("a")], { events: ["GO", "ON"], concurrency: byCustomer }), { input });
    play.turned(wait());
    play.event("GO", {}, "1");
    play.event("ON", {}, "2");
    expect(play.run.inbox).toHaveLength(2);
    play.send("turn:r0", { type: "turn" });
    play.turned(mine);
    expect(play.status).toBe("completed");
  });
});

describe("its turn", () => {
  test("is on record in the commit that begins it", () => {
    const play = limited();
    play.turned(mine);
    expect(play.log.at(-1)?.taken.map(({ what }) => what)).toEqual(["turn_taken", "begun", "sent"]);
    expect(play.run.record.limit).toEqual({ key: "c1", limit: 2, state: "mine", askAt: null, asked: 1 });
  });

  test("is given when it has ended on record, not before, and nobody lets the run go until the line has heard", () => {
    const play = limited();
    play.turned(mine);
    play.answer("a", ok());
    expect(play.line.size).toBe(0);
    play.answer("b", ok());
    expect(play).toMatchObject({ status: "completed", held: true });
    expect([...play.line.keys()]).toEqual(["turn:give"]);
    play.tick();
    expect(play.held).toBe(true);
    play.given();
    expect(play).toMatchObject({ status: "completed", held: false });
    expect(play.taken().at(-1)).toEqual({ what: "turn_taken", state: "freed" });
  });

  test("is given by a worker that stops, too", () => {
    const play = limited();
    play.turned(mine);
    play.answer("a", ok());
    play.stop();
    play.takeOver();
    play.stop();
    play.acquire();
    play.answer("b", ok());
    play.stop();
    expect([...play.line.keys()]).toEqual(["turn:give"]);
    play.given();
    expect(play.held).toBe(false);
  });

  test("stays its own while it is parked and while it goes back", () => {
    const play = limited();
    play.turned(mine);
    play.answer("a", ok());
    play.answer("b", defect);
    expect(play.status).toBe("needs_review");
    expect(play.line.size).toBe(0);
    play.cancel();
    expect(play.status).toBe("unwinding");
    expect(play.line.size).toBe(0);
    play.answer("undo a", ok());
    expect(play.status).toBe("cancelled");
    expect([...play.line.keys()]).toEqual(["turn:give"]);
  });

  test("is given when a person closes it", () => {
    const play = limited();
    play.turned(mine);
    play.answer("a", defect);
    play.verb(close);
    expect([...play.line.keys()]).toEqual(["turn:give"]);
  });

  test("is no other's when a run that has ended is undone: it takes none again", () => {
    const play = limited();
    play.turned(mine);
    play.answer("a", ok());
    play.answer("b", ok());
    play.given();
    play.undo();
    expect(play.status).toBe("unwinding");
    play.answer("undo b", ok());
    play.answer("undo a", ok());
    expect(play).toMatchObject({ status: "cancelled", held: false });
    expect(play.line.size).toBe(0);
  });

  test("asked back while it is given, the word that it is given comes too early for the end", () => {
    const play = limited();
    play.turned(mine);
    play.answer("a", ok());
    play.answer("b", ok());
    play.undo();
    expect(play.status).toBe("unwinding");
    play.given();
    expect(play.run.record.limit?.state).toBe("mine");
    play.answer("undo b", ok());
    play.answer("undo a", ok());
    expect([...play.line.keys()]).toEqual(["turn:give"]);
    play.given();
    expect(play.run.record.limit?.state).toBe("freed");
  });

  test("a word for a run that takes turns with nobody is none", () => {
    const play = new Play(line([call("a")]), { input });
    play.step({ type: "turn", answer: mine, asked: 1 }, { type: "turn_given" });
    expect(play.run.record.limit).toBeNull();
  });
});

describe("the number under which it asks and gives", () => {
  const asked = (play: Play, order: "ask" | "give") => play.line.get(`turn:${order}`)?.asked;

  test("is its revision, as it is once what led to it is written: newer each time, and no commit of its own", () => {
    const play = limited();
    expect([asked(play, "ask"), play.run.record.revision]).toEqual([1, 1]);
    play.turned(wait());
    play.send("turn:r0", { type: "turn" });
    expect([asked(play, "ask"), play.run.record.revision]).toEqual([3, 3]);
    play.turned(wait());
    play.advance(30_000);
    expect([asked(play, "ask"), play.run.record.revision]).toEqual([4, 4]);
  });

  test("is, for the turn that it gives, that of the ask that was answered so, also where the next driver asked again", () => {
    const play = limited();
    play.turned(wait());
    play.advance(30_000);
    expect(asked(play, "ask")).toBe(2);
    play.takeOver();
    expect(asked(play, "ask")).toBe(3);
    play.turned(mine);
    expect(play.run.record.limit?.asked).toBe(3);
    play.answer("a", ok());
    play.answer("b", ok());
    expect(asked(play, "give")).toBe(3);
    expect(play.run.record.revision).toBeGreaterThan(3);
  });

  test("is its revision where it gives without a turn on record: an ask may be on its way, or was answered to somebody who died", () => {
    const play = limited();
    play.turned(wait());
    play.send("turn:r0", { type: "turn" });
    const onItsWay = asked(play, "ask") ?? 0;
    play.cancel();
    expect(asked(play, "give")).toBe(play.run.record.revision);
    expect(asked(play, "give")).toBeGreaterThan(onItsWay);
  });

  test("is none of one that has its turn from before there were numbers", () => {
    const play = limited();
    play.turned(mine);
    const { asked: _, ...limit } = play.run.record.limit as RunLimit;
    play.run = { ...play.run, record: { ...play.run.record, limit } };
    play.answer("a", ok());
    play.answer("b", ok());
    expect(asked(play, "give")).toBeNull();
  });
});

describe("its key", () => {
  const keyOf = (key: unknown, of: unknown = input) =>
    turnKeyOf(line([call("a")], { concurrency: { key, limit: 1 } }).spec, of as never);

  test("must be JSON, and tell runs apart", () => {
    expect(keyOf(() => ({ a: [1] }))).toEqual({ ok: true, value: { a: [1] } });
    expect(keyOf(() => null)).toMatchObject({ ok: false, problem: "the concurrency key of line is null" });
    expect(keyOf(() => Number.NaN)).toMatchObject({ ok: false });
    expect(
      keyOf(() => {
        throw new Error("no customer");
      }),
    ).toMatchObject({ ok: false, problem: expect.stringContaining("no customer") });
    expect(turnKeyOf(line([call("a")]).spec, input)).toEqual({ ok: true, value: null });
  });

  test("that cannot be had makes no run", () => {
    expect(() => new Play(line([call("a")], { concurrency: { key: () => null } }), { input })).toThrow(
      "the concurrency key of line is null",
    );
  });

  test("whose limit is no number of runs is refused where it is declared", () => {
    for (const limit of [0, 1.5, 1_001]) {
      expect(() => line([call("a")], { concurrency: { key: () => "k", limit } })).toThrow("CONCURRENCY");
    }
    expect(() => line([call("a")], { concurrency: { key: "customer" } })).toThrow("not a function");
  });
});

test("a compensation that fails halts it with its turn", () => {
  const play = limited();
  play.turned(mine);
  play.answer("a", ok());
  play.answer("b", refused());
  play.answer("undo a", refused());
  expect(play.status).toBe("needs_review");
  expect(play.line.size).toBe(0);
});
