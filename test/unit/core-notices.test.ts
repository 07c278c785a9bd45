/** What is told of runs that end, park or wait, and when: in order, again until it is taken, and nobody for another one's sake. */
import { describe, expect, test } from "vitest";
import {
  afterAnswer,
  freshCourse,
  type NoticeHook,
  nextNotices,
  noticeId,
  noticeIn,
  noticesOf,
  type RunRecord,
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
  const text = (run: string, revision: number) =>
    `${String(revision).padStart(10, "0")} ${JSON.stringify({ tenant: "t", run, revision })}`;
  const none: ReadonlySet<string> = new Set();
  const sent = (...given: Parameters<typeof nextNotices>) => nextNotices(...given).map(({ text: of }) => noticeIn(of));

  test("of a run one after the other, of several runs at once, and no more than eight", () => {
    const owing = [text("a", 1), text("a", 2), text("b", 1)];
    expect(sent(freshCourse, owing, none, 0)).toMatchObject([
      { run: "a", revision: 1 },
      { run: "b", revision: 1 },
    ]);
    expect(sent(freshCourse, owing, new Set(["t:a"]), 0)).toMatchObject([{ run: "b" }]);
    const many = Array.from({ length: 20 }, (_, n) => text(`r${n}`, 1));
    expect(sent(freshCourse, many, none, 0)).toHaveLength(8);
    expect(sent(freshCourse, many, new Set(["1", "2", "3", "4", "5", "6", "7", "8"]), 0)).toEqual([]);
  });

  test("what was not taken comes again, later and later and at most a minute, and holds up its own run alone", () => {
    let course = freshCourse;
    const pauses: number[] = [];
    for (let tries = 1; tries <= 12; tries += 1) {
      course = afterAnswer(course, "t:a", "failed", 1_000, 0.999_999);
      // Others are heard meanwhile: the receiver is there.
      course = afterAnswer(course, "t:b", "taken", 1_000, 0);
      pauses.push(Math.round((course.runs.get("t:a")?.againAt ?? 0) - 1_000));
    }
    expect(pauses.slice(0, 4)).toEqual([500, 1_000, 2_000, 4_000]);
    expect(pauses.at(-1)).toBe(60_000);
    expect(sent(course, [text("a", 1), text("a", 2), text("b", 1)], none, 1_000)).toMatchObject([{ run: "b" }]);
    expect(sent(course, [text("a", 1)], none, 61_000)).toMatchObject([{ run: "a", revision: 1 }]);
  });

  test("a receiver that takes nothing is asked by one at a time, and when it takes again nobody waits any longer", () => {
    let course = freshCourse;
    for (let n = 0; n < 5; n += 1) course = afterAnswer(course, `t:r${n}`, "failed", 1_000, 0);
    const owing = Array.from({ length: 9 }, (_, n) => text(`r${n}`, 1));
    expect(sent(course, owing, none, 1_000)).toEqual([]);
    expect(sent(course, owing, none, 1_250)).toHaveLength(1);
    expect(sent(course, owing, new Set(["t:r7"]), 1_250)).toEqual([]);
    const heard = afterAnswer(course, "t:r0", "taken", 1_250, 0);
    expect(sent(heard, owing.slice(1), none, 1_250)).toHaveLength(8);
  });

  test("one that was refused for good is through", () => {
    const failed = afterAnswer(freshCourse, "t:a", "failed", 0, 0);
    expect(afterAnswer(failed, "t:a", "refused", 1, 0)).toEqual(freshCourse);
  });
});
