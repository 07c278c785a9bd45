/** A run that is found to be forgotten in part asks for its turn again: under a number above all that any world has heard of it. */
import { describe, expect, test } from "vitest";
import type { Remembered } from "../../src/core/index.ts";
import { defect, ok, Play, retry } from "../support/play.ts";
import { letItFinish } from "../support/play-happenings.ts";
import { call, line } from "../support/play-sagas.ts";

/** A run that has its turn and has called `b`. */
function inTurn(): Play {
  const play = new Play(line([call("a"), call("b"), call("c")], { concurrency: { key: () => "one", limit: 1 } }));
  play.turned({ answer: "MINE" });
  play.answer("a", ok());
  return play;
}

/** What a worker remembers of the run as it is now, which the store's log says otherwise. */
function remembered({ run, now }: Play): Remembered {
  const { revision, logDigest: digest } = run.record;
  return { revision, digest, at: now, run, isDenied: true };
}

/** What happens next happens in one world, and is forgotten in the other: what is remembered of it. */
function inAnotherWorld(play: Play, happens: () => void): Remembered {
  const { run, log } = play;
  const stood = [...log];
  happens();
  const known = remembered(play);
  play.becomes(run, stood);
  play.advance(1_000);
  return known;
}

describe("a run that has its turn and was forgotten in part", () => {
  test("asks for it again, which the line may have forgotten, and does nothing before it has it", () => {
    const play = inTurn();
    const known = inAnotherWorld(play, () => play.answer("b", ok()));
    play.remembers(known);
    const asked = known.revision + 1;
    expect(play.line.get("turn:ask")?.asked).toBe(asked);
    play.verb(retry());
    play.turned({ answer: "WAIT", ahead: 0, before: [{ run: "r0", asked: 1 }] });
    expect(play).toMatchObject({ status: "waiting", held: false });
    play.send("turn:r0", { type: "turn" });
    expect(play.line.get("turn:ask")?.asked).toBeGreaterThan(asked);
    const { revision } = play.run.record;
    expect(play.flying()).toEqual([]);
    play.turned({ answer: "MINE" });
    expect(play.run.record.limit?.asked).toBe(revision);
    letItFinish(play);
    expect(play.status).toBe("completed");
    expect(play.line.get("turn:give")?.asked).toBe(revision);
  });

  test("asks for it again where it goes on as the store has it, or nothing but its revision is remembered", () => {
    const play = inTurn();
    const known = inAnotherWorld(play, () => play.answer("b", defect));
    play.answer("b", ok("b-1"));
    expect(play.run.record.limit?.asked).toBe(1);
    for (const run of [known.run, null]) {
      play.remembers({ ...known, run });
      expect(play.review?.evidence).toMatchObject({ restored: run !== null });
      expect(play.line.get("turn:ask")?.asked).toBe(play.run.record.revision);
      play.verb(retry());
      expect(play.run.record.limit?.state).toBe("asking");
      play.turned({ answer: "MINE" });
    }
    letItFinish(play);
    expect(play.status).toBe("completed");
  });

  test("asks for it again where it goes back, and waits for nothing", () => {
    const play = inTurn();
    const known = inAnotherWorld(play, () => play.answer("b", ok("b-1")));
    play.acquire();
    play.cancel();
    play.remembers(known);
    const asked = play.run.record.revision;
    expect(play.line.get("turn:ask")?.asked).toBe(asked);
    play.turned({ answer: "WAIT", ahead: 0, before: [{ run: "r0", asked: 1 }] });
    play.send("turn:r0", { type: "turn" });
    expect(play.line.get("turn:ask")?.asked).toBeGreaterThan(asked);
    play.verb(retry());
    expect(play.status).toBe("unwinding");
    play.turned({ answer: "MINE" });
    expect(play.run.record.limit?.state).toBe("mine");
    letItFinish(play);
    expect(play.status).toBe("cancelled");
    expect(play.line.get("turn:give")?.asked).toBe(play.run.record.limit?.asked);
  });
});
