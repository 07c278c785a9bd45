/** What is told of runs that end, park or wait, and when: in order, again until it is taken, and nobody for another one's sake. */
import { describe, expect, test } from "vitest";
import {
  afterAnswer,
  againAfterMs,
  freshCourse,
  type Hearing,
  type NoticeFate,
  type NoticeHook,
  nextNotices,
  noticeId,
  noticeIn,
  noticesOf,
  type OwedRun,
  type RunRecord,
  type UnderWay,
} from "../../src/core/index.ts";
import { aCommit, aRecord } from "../support/records.ts";

const everything: NoticeHook = { name: "all", on: ["end", "park", "wait"], sagas: null, tenants: null };
const review = { n: 1, reason: "unknown_outcome" } as RunRecord["review"];

/** What a move from one record to the next owes. */
function owed(before: Partial<RunRecord>, after: Partial<RunRecord>, hooks: readonly NoticeHook[] = [everything]) {
  const record = aRecord({ id: "r-1", ...before });
  return noticesOf(hooks, record, aCommit(record, { record: after }));
}

const eventsOf = (before: Partial<RunRecord>, after: Partial<RunRecord>) =>
  owed(before, after).map(({ text }) => noticeIn(text).event);

describe("what is told", () => {
  test("that a run ends, is parked, waits; nothing else", () => {
    expect(eventsOf({}, { status: "completed" })).toEqual(["end"]);
    expect(eventsOf({ status: "completed" }, { status: "unwinding" })).toEqual([]);
    expect(eventsOf({ status: "failed" }, { status: "failed" })).toEqual([]);
    expect(eventsOf({}, { status: "needs_review", review })).toEqual(["park"]);
    expect(eventsOf({}, { status: "waiting", waitingFor: "approval" })).toEqual(["wait"]);
    expect(eventsOf({}, { status: "running" })).toEqual([]);
  });

  test("a run that is parked anew or waits for something else is told again, one that stays as it was is not", () => {
    const parked = { status: "needs_review", review } as const;
    expect(eventsOf(parked, parked)).toEqual([]);
    const anew = { ...parked, review: { ...review, n: 2 } as RunRecord["review"] };
    expect(eventsOf(parked, anew)).toEqual(["park"]);
    const waiting = { status: "waiting", waitingFor: "timer" } as const;
    expect(eventsOf(waiting, waiting)).toEqual([]);
    expect(eventsOf(waiting, { status: "waiting", waitingFor: "event" })).toEqual(["wait"]);
  });

  test("each hook is told of what it asked for", () => {
    const hooks: readonly NoticeHook[] = [
      { ...everything, name: "ends", on: ["end"] },
      { ...everything, name: "parks", on: ["park"] },
      { ...everything, name: "others", sagas: ["another"] },
      { ...everything, name: "ours", sagas: ["order"], tenants: ["default"] },
      { ...everything, name: "theirs", tenants: ["acme"] },
    ];
    expect(owed({}, { status: "completed" }, hooks).map(({ hook }) => hook)).toEqual(["ends", "ours"]);
    expect(owed({}, { status: "waiting" }, hooks.slice(0, 1))).toEqual([]);
    expect(owed({}, { status: "completed" }, [])).toEqual([]);
  });

  test("a notice says how the run stands and names nothing that a user wrote", () => {
    const cause = { kind: "defect", step: "pay", message: "card 4242", reference: null } as const;
    const [notice] = owed({}, { status: "needs_review", review, cause, input: { secret: "s3cret" } });
    expect(noticeIn(notice?.text ?? "")).toMatchObject({
      ...{ event: "park", tenant: "default", run: "r-1", saga: "order", version: 1, revision: 2 },
      ...{
        status: "needs_review",
        review: { n: 1, reason: "unknown_outcome" },
        cause: { kind: "defect", step: "pay" },
      },
    });
    expect(notice?.text).not.toMatch(/4242|s3cret/);
    expect(noticeId("prod", noticeIn(notice?.text ?? ""))).toBe("prod/default/r-1/2");
  });
});

describe("when it is told", () => {
  const owing = (run: string, failure: Partial<NonNullable<OwedRun["failure"]>> | null = null): OwedRun => ({
    ...{ run, text: run },
    failure: failure === null ? null : { tries: 1, at: 0, why: "", againAt: 0, ...failure },
  });
  const many = (name: string, failure: Partial<NonNullable<OwedRun["failure"]>> | null = null) =>
    Array.from({ length: 20 }, (_, n) => owing(`${name}${n}`, failure));
  const none: UnderWay = new Map();
  const sent = (...given: Parameters<typeof nextNotices>) => nextNotices(...given).map(({ run }) => run);
  const hearing = (fates: readonly NoticeFate[], now = 1_000) =>
    fates.reduce((course: Hearing, fate) => afterAnswer(course, fate, now, 0), freshCourse);
  const fiveOf = (fate: NoticeFate) => Array.from({ length: 5 }, () => fate);

  test("of a run one after the other, of several runs at once, and no more than eight", () => {
    expect(sent(freshCourse, [owing("a"), owing("b")], none, 0)).toEqual(["a", "b"]);
    expect(sent(freshCourse, [owing("a"), owing("b")], new Map([["a", false]]), 0)).toEqual(["b"]);
    expect(sent(freshCourse, many("r"), none, 0)).toHaveLength(8);
    expect(
      sent(
        freshCourse,
        many("r"),
        new Map(
          many("s")
            .slice(0, 8)
            .map(({ run }) => [run, false]),
        ),
        0,
      ),
    ).toEqual([]);
  });

  test("what was not taken comes again in its time, and leaves half of the room to what was not tried", () => {
    expect(sent(freshCourse, [owing("a", { againAt: 600 })], none, 599)).toEqual([]);
    expect(sent(freshCourse, [owing("a", { againAt: 600 })], none, 600)).toEqual(["a"]);
    const both = sent(freshCourse, [...many("new"), ...many("old", {})], none, 0);
    expect(both).toEqual(["new0", "new1", "new2", "new3", "old0", "old1", "old2", "old3"]);
    const again = new Map(["x1", "x2", "x3", "x4"].map((run) => [run, true]));
    expect(sent(freshCourse, [...many("new"), ...many("old", {})], again, 0)).toEqual(["new0", "new1", "new2", "new3"]);
  });

  test("it comes later and later, at most ten minutes later", () => {
    const pauses = Array.from({ length: 14 }, (_, nth) => againAfterMs(nth + 1, 0.999_999_9));
    expect(pauses.slice(0, 4)).toEqual([500, 1_000, 2_000, 4_000]);
    expect(pauses.at(-1)).toBe(600_000);
    expect(againAfterMs(1, 0)).toBe(250);
  });

  test("a receiver that takes nothing is asked one thing at a time, of what was tried and of what was not, and at once", () => {
    const course = hearing(fiveOf("failed"));
    expect(sent(course, [...many("new"), ...many("old", {})], none, 1_000)).toEqual(["new0", "old0"]);
    expect(sent(course, [...many("new"), ...many("old", {})], new Map([["x", true]]), 1_000)).toEqual(["new0"]);
    expect(sent(course, [...many("new"), ...many("old", {})], new Map([["x", false]]), 1_000)).toEqual(["old0"]);
    expect(sent(afterAnswer(course, "taken", 1_000, 0), many("new"), none, 1_000)).toHaveLength(8);
  });

  test("one that is not there is left alone, longer and longer; once it is back nobody waits any longer", () => {
    const course = hearing(fiveOf("away"));
    expect(sent(course, many("new"), none, 1_249)).toEqual([]);
    expect(sent(course, many("new"), none, 1_250)).toEqual(["new0"]);
    expect(hearing([...fiveOf("away"), ...fiveOf("away"), ...fiveOf("away")]).restUntil).toBe(16_000);
    const waits = many("old", { at: 1_100, againAt: 60_000 });
    for (const fate of ["taken", "failed"] as const) {
      const back = afterAnswer(course, fate, 1_250, 0);
      expect(sent(back, waits, none, 1_250)).not.toEqual([]);
      // What is not taken from then on waits as ever.
      expect(sent(back, many("old", { at: 1_250, againAt: 60_000 }), none, 1_300)).toEqual([]);
    }
  });

  test("an answer to one thing says that it is there", () => {
    expect(hearing(["away", "away", "refused"])).toEqual(freshCourse);
    expect(hearing(["away", "away", "away", "away", "failed"])).toMatchObject({ failures: 5, away: 0, restUntil: 0 });
  });
});
