/** How a timeline is drawn: the same every time, as wide as it may be, with nothing of what happened left out. */
import { describe, expect, test } from "vitest";
import { draw } from "../../src/cli/base/ink.ts";
import { colorsIn } from "../../src/cli/colors.ts";
import { groupsOf } from "../../src/cli/dlq/letters.ts";
import { axisOf } from "../../src/cli/runs/axis.ts";
import { ganttLines } from "../../src/cli/runs/gantt.ts";
import type { InboxItem } from "../../src/client/index.ts";
import type { Mark, Span, Timeline, TimelineRow } from "../../src/core/index.ts";

const t0 = Date.UTC(2026, 0, 31, 9);
const plain = colorsIn({}, {}, false);

function span(
  kind: Span["kind"],
  from: number,
  to: number | null,
  end: Span["end"] = null,
  worker: string | null = null,
): Span {
  return { kind, from: t0 + from, to: to === null ? null : t0 + to, send: 1, worker, end };
}

function row(seq: number, step: string, spans: readonly Span[], more: Partial<TimelineRow> = {}): TimelineRow {
  return {
    seq,
    step,
    occurrence: 1,
    side: "action",
    operationId: `ns/default/r1/${step}/1`,
    spans,
    probes: [],
    ...more,
  };
}

function mark(what: Mark["what"], at: number, more: Partial<Mark> = {}): Mark {
  return { what, at: t0 + at, worker: null, from: null, heardAt: null, note: null, ...more };
}

function timeline(more: Partial<Timeline>): Timeline {
  return {
    from: t0,
    to: t0 + 10_000,
    isOver: true,
    isWhole: true,
    waitingFor: null,
    rows: [],
    stretches: [],
    marks: [],
    ...more,
  };
}

const drawn = (given: Timeline, width = 100) => ganttLines(given, width).map((line) => draw(line, plain).trimEnd());

/** An order whose charge was broken off by a crash, waited a day for people, and was undone. */
const story = timeline({
  to: t0 + 86_420_000,
  rows: [
    row(1, "reserve", [span("call", 0, 2_000, "succeeded", "w-a")]),
    row(
      2,
      "charge",
      [
        span("call", 2_000, 5_000, "interrupted", "w-a"),
        span("between", 5_000, 6_000, "went_on"),
        span("call", 6_000, 9_000, "succeeded", "w-b"),
      ],
      {
        probes: [{ at: t0 + 5_500, answer: "cannot_tell" }],
      },
    ),
    row(3, "manager", [span("people", 9_000, 86_409_000, "approved")]),
    row(4, "ship", [
      span("queue", 86_409_000, 86_410_000, "went_on"),
      span("call", 86_410_000, 86_412_000, "not_applied", "w-b"),
    ]),
    row(2, "charge", [span("call", 86_412_000, 86_420_000, "succeeded", "w-b")], { side: "undo" }),
  ],
  stretches: [
    { status: "running", from: t0, to: t0 + 9_000 },
    { status: "waiting", from: t0 + 9_000, to: t0 + 86_409_000 },
    { status: "running", from: t0 + 86_409_000, to: t0 + 86_412_000 },
    { status: "unwinding", from: t0 + 86_412_000, to: t0 + 86_420_000 },
    { status: "failed", from: t0 + 86_420_000, to: t0 + 86_420_000 },
  ],
  marks: [
    mark("crash", 5_000, { worker: "w-b", from: "w-a", heardAt: t0 + 2_900 }),
    mark("hand_over", 5_000, { worker: "w-b", from: "w-a", heardAt: t0 + 2_900 }),
    mark("event", 86_409_000, { note: "GO\u001b[31m" }),
    mark("cancel", 86_412_000, { worker: "ann", note: "wrong price" }),
  ],
});

describe("a timeline", () => {
  test.each([100, 60])("is drawn in %i columns", (width) => {
    const lines = drawn(story, width);
    for (const line of lines.slice(0, 7)) expect([...line].length).toBeLessThanOrEqual(width);
    expect(lines.join("\n")).toMatchSnapshot();
  });

  test("that goes on says so, and of which only a part is kept, too", () => {
    const open = timeline({
      isOver: false,
      isWhole: false,
      rows: [
        row(1, "charge", [span("call", 1_000, null, null, "w-a")]),
        row(2, "a-step-with-quite-a-long-name", [span("call", 2_000, 3_000, "unknown"), span("between", 3_000, null)]),
      ],
      stretches: [{ status: "running", from: t0, to: null }],
      marks: [...Array(15)].map((_, at) => mark("timer", at * 100, { note: `t${at}` })),
    });
    expect(drawn(open, 80).join("\n")).toMatchSnapshot();
  });

  test("of a parked run says how its call ended, not that it is under way", () => {
    const parked = timeline({
      isOver: false,
      rows: [row(1, "charge", [span("call", 1_000, 3_000, "unknown", "w-a"), span("between", 3_000, null)])],
      stretches: [
        { status: "running", from: t0, to: t0 + 3_000 },
        { status: "needs_review", from: t0 + 3_000, to: null },
      ],
    });
    expect(drawn(parked)[3]).toMatch(/ \? unknown 2s$/);
    const again = { ...parked, stretches: [{ status: "running", from: t0, to: null }] as const };
    expect(drawn(again)[3]).toMatch(/ ● 9s$/);
  });

  test("of a run that has done nothing is one line for the run", () => {
    expect(
      drawn(timeline({ to: t0, stretches: [{ status: "running", from: t0, to: null }], isOver: false })),
    ).toHaveLength(4);
  });

  test("draws a long wait short, and everything else in proportion", () => {
    const { at, short } = axisOf(story, 80);
    expect(short).toEqual([{ from: expect.any(Number), to: expect.any(Number), ms: 86_400_000 }]);
    expect([at(t0), at(t0 + 86_420_000)]).toEqual([0, 79]);
    const times = story.rows
      .flatMap(({ spans }) => spans.flatMap(({ from, to }) => [from, to ?? 0]))
      .sort((a, b) => a - b);
    const columns = times.map(at);
    expect(columns).toEqual([...columns].sort((a, b) => a - b));
  });
});

test("dead letters are grouped by what they are parked for, the most frequent first, with the newest as examples", () => {
  const item = (id: string, step: string, since: number) =>
    ({ tenant: "default", id, saga: "order", version: 1, step, reason: "unknown_outcome", since }) as InboxItem; // the rest is not looked at
  const groups = groupsOf([
    item("a", "mail", 1),
    item("b", "charge", 2),
    item("c", "charge", 9),
    item("d", "charge", 3),
    item("e", "charge", 4),
  ]);
  expect(groups).toMatchObject([
    { step: "charge", count: 4, first: 2, last: 9, examples: [{ id: "c" }, { id: "e" }, { id: "d" }] },
    { step: "mail", count: 1 },
  ]);
});
