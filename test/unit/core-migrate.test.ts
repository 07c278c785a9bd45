/** A run is moved to another version of its saga whole and between two calls, or it stays as it was and the log says why. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { foldLog, isAskedToMove, judgeMove, MissingArtifact, machineOf, targetsOf } from "../../src/core/index.ts";
import type { Json, MigratedRun, Migration, Saga, Step } from "../../src/saga/index.ts";
import { notApplied, ok, Play, resolveHappened, timedOut } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const same: Migration = (run) => run;

/** Waits for GO, calls `a`, waits ten seconds, calls `b`. Later versions differ by what a test says. */
function slow(
  version: number,
  states: object = {},
  options: object = {},
  steps: readonly Step[] = [call("a"), call("b")],
): Saga {
  const config = {
    initial: "idle",
    context: { count: 0 },
    states: {
      idle: { on: { GO: "first" } },
      first: { invoke: { src: "a", id: "a", onDone: "rest", onError: "end" } },
      rest: { after: { 10000: "second" } },
      second: { invoke: { src: "b", id: "b", onDone: "end" } },
      end: { type: "final" },
      ...states,
    },
  };
  const migrate = version === 1 ? {} : { migrate: { 1: same } };
  return played(config, steps, { events: ["GO", "STOP"], version, ...migrate, ...options });
}

const v1 = slow(1);

function at(state: "idle" | "first" | "rest"): Play {
  const play = new Play(v1);
  if (state !== "idle") play.event("GO");
  if (state === "rest") play.answer("a", ok());
  return play;
}

/** A request to move arrives, and the run is taken up by a worker that has that version. */
function move(play: Play, to: Saga): Play {
  const { version } = to;
  if (play.held) throw new Error("it is held");
  play.machine = machineOf(to.spec);
  play.send(`migrate:${version}.${play.run.record.revision}`, {
    type: "migrate",
    to: version,
    hash: `hash-${version}`,
    reason: "new",
  });
  return play;
}

/** Why it was refused, once it is held by its own version again. */
function refusalOf(play: Play, to: Saga): string {
  const before = play.run.record;
  const { machine } = play;
  move(play, to);
  const { revision, logDigest, seen, ...rest } = play.run.record;
  expect({ ...before, ...rest }).toEqual({ ...before });
  expect(play.next).toEqual({ does: "released", wanted: play.now, due: play.now });
  play.machine = machine;
  const [asked, said] = play.log.at(-1)?.taken ?? [];
  expect(asked).toEqual({ what: "migrated", from: 1, to: to.version, by: "ops", reason: "new" });
  expect(foldLog(machine, play.run, play.log).at(-1)?.problem).toBeNull();
  return said?.what === "refused" ? (said.note ?? "") : "it was not refused";
}

describe("a run that is moved", () => {
  test("goes on by the new machine, from where its old one stood", () => {
    const play = move(
      at("rest"),
      slow(2, { rest: { after: { 10000: "more" } }, more: { invoke: { src: "b", onDone: "end" } } }),
    );
    expect(play.run.record).toMatchObject({
      version: 2,
      hash: "hash-2",
      status: "waiting",
      migratedFrom: { version: 1, hash: "hash", revision: 4 },
    });
    play.advance(10_000);
    expect(play.run.record.snapshot?.value).toBe("more");
    play.answer("b", ok());
    expect(play.status).toBe("completed");
  });

  test("is of another structure from that very commit on", () => {
    const { commit } = move(at("idle"), slow(2)).last ?? {};
    expect(commit).toMatchObject({ leave: ["open:played@1#hash"], join: ["open:played@2#hash-2"] });
    expect(commit?.consumed).toEqual(["migrate:2.2"]);
  });

  test("keeps what it was, and the log leads from the move to what it is", () => {
    const play = at("rest");
    const before = play.run.record;
    move(play, slow(2, {}, { migrate: { 1: (run: MigratedRun) => ({ ...run, context: { count: 7 } }) } }));
    play.advance(10_000);
    play.answer("b", ok());
    expect(play.run.record.migratedFrom?.snapshot).toEqual(before.snapshot);
    const steps = foldLog(play.machine, play.run, play.log);
    expect(steps.map(({ problem }) => problem)).toEqual(steps.map(() => null));
    expect(steps[0]?.revision).toBe(before.revision + 1);
    expect(steps.at(-1)?.snapshot).toEqual(play.run.record.snapshot);
    const cut = play.log.filter(({ revision }) => revision !== before.revision);
    expect(foldLog(play.machine, play.run, cut)[0]?.problem).toBe("it does not follow the entry before");
  });

  test("goes through every version between, each given what the one before gave", () => {
    const seen: Json[] = [];
    const step = (run: MigratedRun): MigratedRun => {
      seen.push(run.context);
      return { ...run, context: { count: Object(run.context).count + 1 } };
    };
    const play = move(at("idle"), slow(3, {}, { migrate: { 1: step, 2: step } }));
    expect(seen.slice(0, 2)).toEqual([{ count: 0 }, { count: 1 }]);
    expect(play.run.record).toMatchObject({ version: 3, snapshot: { context: { count: 2 } } });
  });

  test("before it has begun, begins by the new version, with the input that the migration gives", () => {
    const play = new Play(v1, { startAt: 2_000_000, input: { sku: "a" } });
    const input = z.object({ skus: z.array(z.string()) });
    move(play, slow(2, {}, { input, migrate: { 1: (run: MigratedRun) => ({ ...run, input: { skus: ["a"] } }) } }));
    expect(play.run.record).toMatchObject({ version: 2, snapshot: null, input: { skus: ["a"] }, bytes: 14 });
    play.advance(1_000_000);
    expect(play.run.record.snapshot?.value).toBe("idle");
  });

  test("keeps a call that waits for its next attempt, under its operation id", () => {
    const play = at("first");
    play.answer("a", notApplied({ retryAfterMs: 60_000 }));
    const before = play.row("a");
    move(play, slow(2));
    expect(play.row("a")).toEqual(before);
    play.advance(60_000);
    expect(play.orders.map(({ operationId }) => operationId)).toEqual(["ns/default/r1/a/1", "ns/default/r1/a/1"]);
  });

  test("of a builder's line has the results that it had", () => {
    const play = new Play(line([call("a"), call("b")]));
    play.answer("a", ok("1"));
    play.answer("b", notApplied({ retryAfterMs: 60_000 }));
    move(play, line([call("a"), call("b"), call("c")], { version: 2, migrate: { 1: same } }));
    play.advance(60_000);
    play.answer("b", ok("2"));
    play.answer("c", ok("3"));
    expect(play.run.record).toMatchObject({
      version: 2,
      status: "completed",
      output: { a: { id: "1" }, b: { id: "2" } },
    });
    expect(foldLog(play.machine, play.run, play.log).at(-1)?.problem).toBeNull();
  });

  test("while it is parked stays parked, and its review can be answered", () => {
    const steps = [call("a", { effect: "once" }), call("b")];
    const play = new Play(slow(1, {}, {}, steps));
    play.event("GO");
    play.answer("a", timedOut());
    play.advance(60_000);
    expect(play.status).toBe("needs_review");
    move(play, slow(2, {}, {}, steps));
    expect(play.run.record).toMatchObject({ version: 2, status: "needs_review" });
    play.verb(resolveHappened());
    expect(play.run.record.snapshot?.value).toBe("rest");
  });

  test("undoes by the new version what the old one had done", () => {
    const play = move(at("rest"), slow(2));
    play.cancel();
    play.answer("undo a", { kind: "succeeded", output: null });
    expect(play.run.record).toMatchObject({ version: 2, status: "cancelled", rollback: "complete" });
  });
});

describe("a request to move", () => {
  test("waits while something is under way, with those who have the version told to let go", () => {
    const play = at("first");
    const request = { type: "migrate", to: 2, hash: "hash-2", reason: "new" } as const;
    play.send("migrate:2.1", request);
    expect(play.flying()).toEqual(["a"]);
    expect(targetsOf(play.run)).toEqual([]);
    const hears = (hash: string) => isAskedToMove(play.run, [], (to) => to.hash === hash);
    expect([hears("hash-2"), hears("hash-3")]).toEqual([true, false]);
    play.stop();
    play.answer("a", notApplied());
    expect(play.next).toEqual({ does: "released", wanted: play.now, due: play.now });
    expect(targetsOf(play.run)).toEqual([{ saga: "played", version: 2, hash: "hash-2" }]);
  });

  test("is left to others for a while by whoever does not know the version", () => {
    const play = at("idle");
    play.send("migrate:2.1", { type: "migrate", to: 2, hash: "hash-2", reason: "new" });
    expect(play.next.wanted).toBe(play.now + 5_000);
    play.advance(20_000);
    expect(play.run.record).toMatchObject({ version: 1, status: "waiting" });
  });

  test("to where it is, or back, is refused and forgotten", () => {
    const play = move(at("idle"), slow(2));
    for (const to of [2, 1]) play.send(`migrate:${to}.9`, { type: "migrate", to, hash: "h", reason: "again" });
    expect(play.run.record.version).toBe(2);
    expect(play.run.inbox).toEqual([]);
    expect(play.log.at(-1)?.taken).toEqual([
      { what: "migrated", from: 2, to: 1, by: "ops", reason: "again" },
      { what: "refused", note: "it is at version 2" },
    ]);
  });

  test("that somebody else has taken meanwhile leaves the run to those who drive its version", () => {
    const play = at("idle");
    play.machine = machineOf(slow(2).spec);
    const { revision } = play.run.record;
    play.acquire();
    expect(play.run.record.revision).toBe(revision);
    expect(play.next).toEqual({ does: "release", wanted: play.now, due: null });
  });

  test("is refused for a run of which values are missing, or whose machine has ended", () => {
    const { run } = at("idle");
    const later = machineOf(slow(2).spec);
    const gone = new MissingArtifact({ hash: "h", bytes: 1, why: "gone" }, null);
    const of = (judged: typeof run) => judgeMove(later, judged);
    const { snapshot } = run.record;
    if (snapshot === null) throw new Error("it has not begun");
    const ended = { ...run, record: { ...run.record, snapshot: { ...snapshot, status: "done" as const } } };
    expect(of(ended)).toMatchObject({ ok: false, problem: "its machine has ended" });
    const problem = "the input of the run (1 bytes, sha-256 h) is not in the artifact store";
    expect(of({ ...run, record: { ...run.record, input: gone } })).toMatchObject({ ok: false, problem });
  });

  test("waits while values of the run are missing", () => {
    const play = at("idle");
    play.send("migrate:2.1", { type: "migrate", to: 2, hash: "hash-2", reason: "new" });
    expect(targetsOf({ ...play.run, missing: [] })).toEqual([]);
  });
});

describe("a move is refused, and the run goes on as it was, where", () => {
  test.each<[string, Migration | undefined, string]>([
    ["there is no migration", undefined, "played has no migration from version 1 to 2"],
    [
      "it throws",
      () => {
        throw new Error("no");
      },
      "the migration from version 1 to 2 threw: no",
    ],
    [
      "it throws no error",
      () => {
        // biome-ignore lint/style/useThrowOnlyError: whoever writes a migration may
        throw "no";
      },
      "the migration from version 1 to 2 threw: no",
    ],
    [
      "it never ends",
      () => {
        for (;;);
      },
      "threw: it did not come to an end within 1000 ms",
    ],
    ["it gives nothing", () => null as never, "gave no { value, context, input }"],
    ["it leaves something out", ({ value, input }) => ({ value, input }) as never, "gave no context"],
    [
      "it gives what is not JSON",
      (run) => ({ ...run, context: { at: 1n } }) as never,
      "gave a context that is not JSON",
    ],
    ["it is asynchronous", (async (run: MigratedRun) => run) as never, "gave no value"],
    ["its context is none", (run) => ({ ...run, context: 7 }), "the stored context is not an object"],
    ["its state is none", (run) => ({ ...run, value: "elsewhere" }), "version 2 cannot stand there"],
    ["it ends the machine", (run) => ({ ...run, value: "end" }), 'the state "end" is final today'],
    [
      "its state waits for a step that was never asked for",
      (run) => ({ ...run, value: "first" }),
      "a would be waited for as a, and was never asked for",
    ],
    [
      "its state needs a timer",
      (run) => ({ ...run, value: "rest" }),
      "no timer is set for xstate.after.10000.played.rest, which a migration does not do",
    ],
  ])("%s", (_, migration, why) => {
    const migrate = migration === undefined ? {} : { 1: migration };
    expect(refusalOf(at("idle"), slow(2, {}, { migrate }))).toContain(why);
  });

  test("nothing takes a timer of the run any more", () => {
    const to = slow(2, { rest: { on: { STOP: "end" } } });
    expect(refusalOf(at("rest"), to)).toBe("nothing takes the timer xstate.after.10000.played.rest");
  });

  test("its input does not fit", () => {
    const why = refusalOf(at("idle"), slow(2, {}, { input: z.object({ sku: z.string() }) }));
    expect(why).toMatch(/^the input does not fit version 2: sku: /);
  });

  test("an effect on record would be unknown, of another kind, or unreadable", () => {
    const other = (a: Step) =>
      slow(2, { first: { invoke: { src: a.spec.name, id: "a", onDone: "rest", onError: "end" } } }, {}, [a, call("b")]);
    expect(refusalOf(at("rest"), other(call("z")))).toBe("a (row 1) is on record, and version 2 has no such step");
    const output = z.object({ id: z.number() });
    expect(refusalOf(at("rest"), other(call("a", { output })))).toMatch(
      /^the output of a \(row 1\) does not fit: id: /,
    );
    const input = z.object({ sku: z.string() });
    expect(refusalOf(at("rest"), other(call("a", { input })))).toMatch(/^the input of a \(row 1\) does not fit: /);
    const play = at("rest");
    const child = { ...play.row("a"), kind: "child" } as const;
    const judged = judgeMove(machineOf(slow(2).spec), { record: play.run.record, rows: [child] });
    expect(judged).toEqual({ ok: false, problem: "a (row 1) is a child, and in version 2 a call", later: false });
  });

  test("an open call would be waited for nowhere", () => {
    const play = at("first");
    play.answer("a", notApplied({ retryAfterMs: 60_000 }));
    const to = slow(2, {}, { migrate: { 1: (run: MigratedRun) => ({ ...run, value: "idle" }) } });
    expect(refusalOf(play, to)).toBe("a (row 1) is open, and the state it would stand in does not invoke it as a");
  });

  test.each([
    [
      "leads on at once",
      {
        idle: {
          on: { GO: "first" },
          always: { target: "end", guard: ({ context }: { context: { count: number } }) => context.count === 0 },
        },
      },
      "an `always` leads out of played.idle at once",
    ],
    [
      "cannot be asked",
      {
        idle: {
          on: { GO: "first" },
          always: {
            target: "end",
            guard: () => {
              throw new Error("no context");
            },
          },
        },
      },
      "no context",
    ],
    ["stays", { idle: { on: { GO: "first" }, always: { target: "end", guard: () => false } } }, "it was not refused"],
  ])("an always of its state %s", (_, states, why) => {
    const play = at("idle");
    if (why === "it was not refused")
      expect(move(play, slow(2, states)).run.record).toMatchObject({ version: 2, status: "waiting" });
    else expect(refusalOf(play, slow(2, states))).toContain(why);
  });

  test("it is under way, goes back, or is over", () => {
    const judge = (play: Play) => {
      const judged = judgeMove(machineOf(slow(2).spec), play.run);
      return judged.ok ? "goes" : `${judged.problem}${judged.later ? ", later" : ""}`;
    };
    const play = at("first");
    expect(judge(play)).toBe("a (row 1) is under way, later");
    play.answer("a", ok());
    expect(judge(play)).toBe("goes");
    play.cancel();
    expect(refusalOf(cancelledMidway(), slow(2))).toBe("it is being undone, which its own version finishes");
    play.answer("undo a", { kind: "succeeded", output: null });
    expect(judge(play)).toBe("it has ended (cancelled)");
    const moved = move(at("idle"), slow(2));
    expect(judge(moved)).toBe("it is at version 2");
  });

  test("its machine has ended, and what it went on without is still being undone", () => {
    const first = { invoke: { src: "a", id: "a", onDone: "rest" }, on: { STOP: "end" } };
    const play = new Play(slow(1, { first }));
    play.event("GO");
    play.event("STOP");
    play.answer("a", ok());
    play.answer("undo a", notApplied({ retryAfterMs: 60_000 }));
    expect(refusalOf(play, slow(2))).toBe("its machine has ended");
  });
});

/** Goes back, and rests between two attempts of a compensation. */
function cancelledMidway(): Play {
  const play = at("rest");
  play.cancel();
  play.answer("undo a", notApplied({ retryAfterMs: 60_000 }));
  return play;
}
