/** The log of a long run is cut, and still explains the run from its first entry on. */
import { describe, expect, test } from "vitest";
import { foldLog, type LogEntry, momentBefore } from "../../src/core/index.ts";
import { notApplied, ok, Play, rewind } from "../support/play.ts";
import { call, line, played } from "../support/play-sagas.ts";

const logEntries = 10;
/** An entry more than two spans: after so many the first cut has been made. */
const turns = 30;

/** Calls `a` again and again until STOP. */
const loop = played(
  {
    initial: "wait",
    context: { seen: null },
    states: {
      wait: { on: { GO: "work", STOP: "end" }, after: { 60000: "end" } },
      work: { invoke: { src: "a", id: "a", onDone: { target: "wait", actions: "keep" } } },
      end: { type: "final" },
    },
  },
  [call("a")],
  { events: ["GO", "STOP"], keep: true },
);

function looped(): Play {
  const play = new Play(loop, { settings: { logEntries } });
  for (let n = 0; n < turns; n += 1) {
    play.event("GO", {}, `g${n}`);
    play.answer("a", ok(`${n}`));
  }
  return play;
}

/** What the store still has. */
function kept({ log, run }: Play): readonly LogEntry[] {
  return log.filter(({ revision }) => revision >= run.record.logFrom);
}

function folded(play: Play, log = kept(play)) {
  return foldLog(play.machine, play.run, log);
}

describe("a log that is cut", () => {
  test("keeps the newest entries, fewer than twice as many and one, and begins where the machine stood", () => {
    const play = new Play(loop, { settings: { logEntries } });
    for (let n = 0; n < turns; n += 1) {
      play.event("GO", {}, `g${n}`);
      play.answer("a", ok(`${n}`));
      const { revision, logFrom } = play.run.record;
      const length = revision - logFrom + 1;
      expect(length).toBeGreaterThanOrEqual(Math.min(revision, logEntries));
      expect(length).toBeLessThanOrEqual(2 * logEntries);
      if (logFrom > 1) expect(kept(play)[0]?.taken[0]?.what).toBe("stood");
    }
    expect(play.run.record.logFrom).toBeGreaterThan(1);
  });

  test("leads to the snapshot, by every digest in between; so does the whole one", () => {
    const play = looped();
    play.event("STOP");
    expect(play.status).toBe("completed");
    for (const log of [kept(play), play.log]) {
      const steps = folded(play, log);
      expect(steps.map(({ problem }) => problem)).toEqual(log.map(() => null));
      expect(steps.at(-1)?.snapshot).toEqual(play.run.record.snapshot);
    }
  });

  test("shows what was changed, left out, or never so", () => {
    const play = looped();
    const [first, second, ...rest] = kept(play) as [LogEntry, LogEntry, ...LogEntry[]];
    const said = (log: readonly LogEntry[]) => folded(play, log).at(-1)?.problem;
    expect(said([first, ...rest])).toMatch(/^its digest is |was never|no timer|told twice/);
    expect(said([second, ...rest])).toBe("the log before it is missing");
    const stood = first.taken[0];
    if (stood?.what !== "stood") throw new Error("it does not say where it stood");
    const elsewhere = { ...first, taken: [{ ...stood, base: { ...stood.base, rows: 0 } }, ...first.taken.slice(1)] };
    const whole = play.log.map((entry) => (entry === first ? elsewhere : entry));
    expect(said(whole)).toBe("it did not stand where the entry says");
  });

  test("of a line has the results of before", () => {
    const play = new Play(line([call("z"), call("a"), call("b")]), { settings: { logEntries } });
    play.answer("z", ok("0"));
    play.answer("a", ok("1"));
    for (let n = 0; n < 2 * logEntries; n += 1) {
      play.pause();
      play.resume();
    }
    play.answer("b", ok("2"));
    expect(play.run.record).toMatchObject({ status: "completed", output: { a: { id: "1" }, b: { id: "2" } } });
    expect(play.run.record.logFrom).toBeGreaterThan(1);
    expect(folded(play).at(-1)).toMatchObject({ problem: null, snapshot: play.run.record.snapshot });
  });

  test("with a call that waits for its next attempt tells of it when it comes", () => {
    const play = new Play(line([call("a"), call("b")]), { settings: { logEntries } });
    play.answer("a", notApplied({ retryAfterMs: 60_000 }));
    for (let n = 0; n < logEntries; n += 1) {
      play.pause();
      play.resume();
    }
    play.advance(60_000);
    play.answer("a", ok());
    play.answer("b", ok());
    expect(play.status).toBe("completed");
    expect(folded(play).map(({ problem }) => problem)).toEqual(kept(play).map(() => null));
  });

  test("knows which rows were a tool's, and which were taken back by a rewind to before it begins", () => {
    const config = {
      initial: "plan",
      states: {
        plan: { tags: "savepoint", invoke: { src: "agent", onDone: "ship" } },
        ship: { invoke: { src: "ship", onDone: "end" } },
        end: { type: "final" },
      },
    };
    const agent = call("agent", { effect: "none", uses: { lookup: call("lookup", { effect: "none" }) } });
    const ship = call("ship", { onExhausted: "review", retry: { attempts: 1 } });
    const play = new Play(played(config, [agent, ship]), { settings: { logEntries } });
    const moveOn = () => {
      play.ask("agent", "lookup", {}, play.run.rows.filter(({ step }) => step === "agent").length);
      play.answer("lookup", ok());
      play.answer("agent", ok());
    };
    const lookAndLook = () => {
      for (let n = 0; n < logEntries + 2; n += 1) {
        play.pause();
        play.resume();
      }
    };
    moveOn();
    play.answer("ship", notApplied());
    lookAndLook();
    play.verb(rewind("played.plan"));
    expect(folded(play).map(({ problem }) => problem)).toEqual(kept(play).map(() => null));
    lookAndLook();
    moveOn();
    play.answer("ship", ok());
    expect(play.status).toBe("completed");
    expect(folded(play).at(-1)).toMatchObject({ problem: null, snapshot: play.run.record.snapshot });
  });

  test("gives no fork before it begins, and one after", () => {
    const play = looped();
    const judged = { namespace: "ns", record: play.run.record, rows: play.run.rows, log: kept(play), now: play.now };
    const given = play.run.rows.length;
    expect(momentBefore(judged as never, play.machine, 1)).toMatchObject({
      ok: false,
      problem: expect.stringContaining(
        `the log is kept from revision ${play.run.record.logFrom} on, after row 1 was asked for`,
      ),
    });
    expect(momentBefore(judged as never, play.machine, given)).toMatchObject({ ok: true, start: { rows: given } });
    const short = { ...judged, log: kept(play).slice(1) };
    expect(momentBefore(short as never, play.machine, given)).toMatchObject({ ok: false });
  });
});
