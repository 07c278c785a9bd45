/** How long a run is kept after its end. */

import { ulid } from "ulid";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isIdKept, keptFor, mayBePurged } from "../../src/core/index.ts";
import type { SagaOptions } from "../../src/saga/index.ts";
import { saga } from "../../src/saga/index.ts";
import { ok, Play, refused } from "../support/play.ts";
import { call } from "../support/play-sagas.ts";

const dayMs = 86_400_000;

const one = (retention?: SagaOptions["retention"]) =>
  saga("one", { version: 1, input: z.object({}), ...(retention === undefined ? {} : { retention }) })
    .step(call("a"), () => ({}))
    .build();

function ended(of = one(), retentionMs: number | null = dayMs): Play {
  const play = new Play(of, { settings: { retentionMs } });
  play.answer("a", ok("1"));
  expect(play.status).toBe("completed");
  return play;
}

describe("a run that has ended", () => {
  test("may be deleted after the time that the settings say, and is listed as that", () => {
    const { last, now } = ended();
    expect(last?.commit).toMatchObject({ keepUntil: now + dayMs });
    expect(last?.commit?.join).toContain("expiring");
  });

  test("is kept as long as its saga says, whatever the settings say", () => {
    const { last, now } = ended(one("7d"), null);
    expect(last?.commit).toMatchObject({ keepUntil: now + 7 * dayMs });
    const kept = ended(one("forever")).last;
    expect(kept?.commit).toMatchObject({ keepUntil: null });
    expect(kept?.commit?.join).not.toContain("expiring");
  });

  test("is kept for ever where nobody says anything", () => {
    expect(ended(one(), null).last?.commit).toMatchObject({ keepUntil: null });
  });

  test("however it has ended", () => {
    const play = new Play(one("1d"));
    play.answer("a", refused("no"));
    expect(play.status).toBe("failed");
    expect(play.last?.commit).toMatchObject({ keepUntil: play.now + dayMs });
  });

  test("and is taken up again is kept, until it has ended again", () => {
    const play = ended();
    const again = play.undo();
    expect(play.status).toBe("unwinding");
    expect(again.commit).toMatchObject({ keepUntil: null });
    expect(again.commit?.leave).toContain("expiring");
    play.now += 5_000;
    play.answer("undo a", ok());
    expect(play.status).toBe("cancelled");
    expect(play.last?.commit).toMatchObject({ keepUntil: play.now + dayMs });
  });
});

test("a run that goes on is in no list of those that may be deleted", () => {
  const play = new Play(one("1d"));
  expect(play.last?.commit).toMatchObject({ keepUntil: null });
  expect([...(play.last?.commit?.join ?? []), ...(play.last?.commit?.leave ?? [])]).not.toContain("expiring");
});

test("what is remembered of a run is no proof that the store has forgotten it, once it may be gone", () => {
  expect(mayBePurged(100, null, 99)).toBe(false);
  expect(mayBePurged(100, null, 100)).toBe(true);
  expect(mayBePurged(null, null, 100)).toBe(false);
  // Another run has its id.
  expect(mayBePurged(100, { createdAt: 99 }, 200)).toBe(false);
  expect(mayBePurged(100, { createdAt: 100 }, 200)).toBe(true);
});

test("the id that somebody gave is remembered; one that was made for its run, and a child's, are not", () => {
  const { record } = new Play(one()).run;
  const { createdAt } = record;
  const parent = { run: "p", seq: 1, detached: false };
  expect(isIdKept(record)).toBe(true);
  expect(isIdKept({ ...record, id: ulid(createdAt) })).toBe(false);
  // Somebody's own number of an order, made at another time.
  expect(isIdKept({ ...record, id: ulid(createdAt - 1) })).toBe(true);
  expect(isIdKept({ ...record, parent })).toBe(false);
});

test("a child is kept for its parent, unless it goes its own way", () => {
  const { record } = new Play(one()).run;
  const parent = { run: "p", seq: 1, detached: false };
  expect(keptFor(record)).toBeNull();
  expect(keptFor({ ...record, parent })).toEqual({ tenant: "default", id: "p" });
  expect(keptFor({ ...record, parent: { ...parent, detached: true } })).toBeNull();
});

test.each(["soon", -1, "400d"])("a retention of %s is refused where the saga is declared", (retention) => {
  expect(() => one(retention as SagaOptions["retention"])).toThrow(/retention/);
});
