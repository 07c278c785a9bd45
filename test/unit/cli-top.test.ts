/** What `reprise top` shows, and how it fits into a terminal. */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Cli } from "../../src/cli/base/cli.ts";
import { draw, type Line } from "../../src/cli/base/ink.ts";
import { Out } from "../../src/cli/base/out.ts";
import { colorsIn } from "../../src/cli/colors.ts";
import { topCommand } from "../../src/cli/top/command.ts";
import { frameOf } from "../../src/cli/top/frame.ts";
import { enough } from "../../src/cli/top/screen.ts";
import { connectedClient, type Overview, type StatusCounts } from "../../src/client/index.ts";
import { runStatuses } from "../../src/core/index.ts";
import { saga, step } from "../../src/saga/index.ts";
import { aHeartbeat } from "../support/records.ts";
import { benchTop } from "./engine/bench-top.ts";

const input = z.object({ n: z.number() });
const seat = saga("seat", { version: 1, input })
  .step(step("take", { input, effect: "none", action: () => null }), ({ input: of }) => of)
  .build();
const plain = colorsIn({}, {}, false);
const text = (lines: readonly Line[]) => lines.map((line) => draw(line, plain).trimEnd());

function runs(some: Partial<StatusCounts>): StatusCounts {
  return { ...(Object.fromEntries(runStatuses.map((status) => [status, 0])) as StatusCounts), ...some };
}

const beat = {
  ...aHeartbeat({ name: "eu-1", lagMs: 12, rssBytes: 151e6, pace: { begun: 4, ended: 3, steps: 20.5 } }),
  at: 0,
};
const seen: Overview = {
  at: Date.UTC(2026, 10, 30, 14, 3, 7),
  tenant: "acme",
  runs: runs({ running: 12, needs_review: 2, completed: 1_204 }),
  sagas: [
    { saga: "order", runs: runs({ running: 12, needs_review: 2, completed: 1_204 }) },
    { saga: "never-started", runs: runs({}) },
  ],
  backlog: { count: 7, oldestMs: 2_000 },
  pace: { begun: 4, ended: 3, steps: 20.5 },
  parked: 2,
  asking: { count: 3, oldestMs: 240_000 },
  unknown: { count: 1, oldestMs: 180_000 },
  notifications: [
    { hook: "shop", owed: 3, oldestMs: 9_000, lost: 1, failing: 1 },
    { hook: "quiet", owed: 0, oldestMs: null, lost: 0, failing: 0 },
  ],
  workers: [
    { id: "w1", state: "ready", heartbeat: beat, ageMs: 900, serves: [], drain: null },
    { id: "w2", state: "lost", heartbeat: null, ageMs: null, serves: [], drain: null },
  ],
  supervisors: [{ id: "s", name: "s", host: "h", pid: 1, version: "", ageMs: 2_000 }],
  unserved: ["order@2#abc"],
};

describe("a frame", () => {
  test("says what there is, what waits, who works, and what needs somebody", () => {
    expect(text(frameOf(seen, "prod", { columns: 80, rows: null }))).toEqual([
      "prod  tenant acme  14:03:07Z",
      "open        ● running 12  ! needs_review 2",
      "ended       ✓ completed 1204",
      "pace        4 begun/s  3 ended/s  20.5 steps/s",
      "backlog     7 due, the oldest for 2s",
      "people      2 parked  1 unknown, the oldest for 3m  3 asked, the oldest for 4m",
      "told        shop: 3 owed, the oldest for 9s  1 lost",
      "supervisor  heard of 2s ago",
      "not served  order@2",
      "",
      "worker  state  busy  steps/s    lag  memory  heard",
      "eu-1    ready  0/10     20.5  12 ms  151 MB  900ms",
      "w2       lost     -        -      -       -      -",
      "",
      "saga   run  wait  pause  review  unwind  done  failed  cancel",
      "order   12     0      0       2       0  1204       0       0",
    ]);
  });

  test("says that there is nothing where there is nothing", () => {
    const empty: Overview = {
      ...seen,
      ...{ runs: runs({}), sagas: [], workers: [], supervisors: [], unserved: [], notifications: [], parked: 0 },
    };
    expect(text(frameOf(empty, "prod", { columns: 80, rows: null }))).toEqual(
      expect.arrayContaining(["open        none", "supervisor  none", expect.stringContaining("reprise worker")]),
    );
  });

  test("is neither wider nor higher than its terminal, whatever things are called", () => {
    const named = { ...beat, name: `\u001b[2J${"w".repeat(200)}` };
    const many = Array.from({ length: 50 }, (_, n) => ({ ...seen.workers[0], id: `w${n}`, heartbeat: named }));
    const wide = { ...seen, workers: many as Overview["workers"] };
    const lines = text(frameOf(wide, "prod", { columns: 40, rows: 20 }));
    expect(lines).toHaveLength(20);
    for (const line of lines) {
      expect(line.length).toBeLessThanOrEqual(40);
      expect(line).not.toContain("\u001b");
    }
    expect(lines.at(-1)).toContain("more lines");
  });
});

test("--json is the overview and nothing else", async () => {
  const { ports } = benchTop([seat]);
  const options = { namespace: "test", sagas: [seat], maxPayloadBytes: 1_000, maxReplays: 10 };
  const client = connectedClient(ports, options);
  await client.start(seat, { n: 1 }, { id: "r1", tenant: "acme" });
  await ports.store.beat(aHeartbeat({ id: "w1", name: "eu-1" }));
  const stdout = new PassThrough();
  const rest = { quiet: false, verbose: false, reveal: false, colors: plain, noteColors: plain };
  const out = new Out({ stdout, stderr: new PassThrough(), env: {}, format: "json", ...rest });
  const cli = {
    io: { stdout },
    out,
    client: async () => client,
    place: async () => ({ tenant: "acme", namespace: "test" }),
    unlessInterrupted: <T>(work: Promise<T>) => work,
  };
  // All that the command asks of it.
  expect(await topCommand.run(cli as unknown as Cli, {})).toBe(0);
  expect(JSON.parse(String(stdout.read()))).toMatchSnapshot("Overview");
});

describe("whoever watches", () => {
  const keyboard = () => {
    const modes: boolean[] = [];
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
    return { stdin, modes };
  };

  test.each(["q", "Q", "\u0003"])("ends it with %j, and has the keyboard back", async (key) => {
    const { stdin, modes } = keyboard();
    const { pressed, close } = enough(stdin, new AbortController().signal);
    stdin.write("x");
    stdin.write(key);
    await pressed;
    close();
    expect(modes).toEqual([true, false]);
    expect(stdin.listenerCount("data")).toBe(0);
  });

  test("ends it by a signal where there is no keyboard, also by one that came before", async () => {
    const abort = new AbortController();
    const first = enough(new PassThrough(), abort.signal);
    abort.abort();
    await first.pressed;
    await enough(new PassThrough(), abort.signal).pressed;
    first.close();
  });
});
