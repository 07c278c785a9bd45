/**
 * Pictures of sagas: the committed ones are what the program draws (`npx vitest run --project unit test/unit/diagram.test.ts -u`), and
 * in none of them does anything stand or run over a box.
 */
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { setup } from "xstate";
import { z } from "zod";
import { sagas } from "../../sagas/index.ts";
import { layoutOf } from "../../src/cli/diagram/layout.ts";
import { mermaidOf } from "../../src/cli/diagram/mermaid.ts";
import type { Point } from "../../src/cli/diagram/parts.ts";
import { svgOf } from "../../src/cli/diagram/svg.ts";
import { approval, type Saga, saga, step } from "../../src/index.ts";
import { sagaGraph } from "../../src/saga/index.ts";
import { cli } from "../support/cli.ts";
import { shapeOf } from "../support/shape.ts";

const root = resolve(import.meta.dirname, "../..");
const input = z.object({});
const keyed = { input, effect: "keyed", action: () => undefined, compensate: () => undefined } as const;
const [book, pay, pack] = [step("book", keyed), step("pay", keyed), step("pack", keyed)];
const mail = step("mail", { input, effect: "once", action: () => undefined, noCompensation: "a mail stays" });
const boss = approval("boss", { input, question: "May it be?" });

/** Everything a line can say. */
const line = saga("line", { version: 2, input, events: { PAID: z.object({}) } })
  .step(book, () => ({}))
  .when(
    () => true,
    (branch) => branch.step(mail, () => ({})),
  )
  .waitFor("PAID")
  .wait("24h")
  .step(boss, () => ({}))
  .parallel({ left: (branch) => branch.step(pay, () => ({})), right: (branch) => branch.step(pack, () => ({})) })
  .build();

/** What else a machine can: guards, failures, ways back, groups, a transition from wherever it is, an end that undoes. */
const maze = saga("maze", { version: 1, input, events: { STOP: input, AGAIN: input, NEXT: input } }).machine(
  setup({
    types: {} as { events: { type: "STOP" } | { type: "AGAIN" } | { type: "NEXT" }; input: Record<string, never> },
    actors: { book, pay, mail },
    guards: { big: () => true, small: () => false },
  }).createMachine({
    id: "maze",
    initial: "start",
    on: { STOP: ".stopped" },
    states: {
      start: {
        invoke: {
          src: "book",
          input: () => ({}),
          onDone: [{ guard: "big", target: "deal" }, { guard: "small", target: "quick" }, { target: "stopped" }],
          onError: "quick",
        },
      },
      quick: { invoke: { src: "mail", input: () => ({}), onDone: "waiting" } },
      deal: {
        initial: "one",
        onDone: "waiting",
        states: {
          one: { invoke: { src: "pay", input: () => ({}), onDone: "two", onError: "two" } },
          two: { on: { NEXT: "end" }, after: { 60000: "end" } },
          end: { type: "final" },
        },
      },
      waiting: { on: { AGAIN: "start", NEXT: "done" }, after: { 3600000: "stopped" } },
      done: { type: "final" },
      stopped: { type: "final", tags: "unwind" },
    },
  }),
);

const drawn: readonly (readonly [string, Saga])[] = [...sagas, line, maze].map((each) => [each.name, each as Saga]);

describe.each(drawn)("%s", (name, of) => {
  const graph = sagaGraph(of);

  test("is drawn as it is committed", async () => {
    const folder = sagas.some((each) => each.name === name) ? "docs/diagrams" : "test/fixtures/diagrams";
    await expect(`${svgOf(graph).join("\n")}\n`).toMatchFileSnapshot(resolve(root, folder, `${name}.svg`));
    await expect(`${mermaidOf(graph).join("\n")}\n`).toMatchFileSnapshot(
      resolve(root, "test/fixtures/diagrams", `${name}.mmd`),
    );
  });

  test("nothing stands or runs over a box", () => {
    const { nodes, undos, edges, back } = layoutOf(graph);
    const solid = [...nodes.filter(({ node }) => node.kind !== "group" && node.kind !== "parallel"), ...undos];
    for (const [at, one] of solid.entries()) {
      for (const other of solid.slice(at + 1)) expect(isApart(one, other), `${at}`).toBe(true);
      for (const points of [...edges.map((edge) => edge.points), ...back]) {
        for (const [from, to] of pairs(points))
          expect(isApart(inner(one), boxAround(from, to)), JSON.stringify([one, from, to])).toBe(true);
      }
    }
  });
});

interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

function isApart(a: Box, b: Box): boolean {
  return a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
}

/** A line may touch the rim. */
function inner({ x, y, width, height }: Box): Box {
  return { x: x + 1, y: y + 1, width: width - 2, height: height - 2 };
}

function boxAround(a: Point, b: Point): Box {
  return { x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), width: Math.abs(a.x - b.x), height: Math.abs(a.y - b.y) };
}

function pairs(points: readonly Point[]): readonly (readonly [Point, Point])[] {
  return points.slice(1).map((to, at) => [points[at] ?? to, to]);
}

test("the graph is told by XState's own ids, with what each state is and what leads where", () => {
  const { nodes, edges } = sagaGraph(maze as Saga);
  expect(nodes.map(({ id, kind }) => `${id} ${kind}`)).toEqual([
    "maze.start step",
    "maze.quick step",
    "maze.deal group",
    "maze.deal.one step",
    "maze.deal.two event",
    "maze.deal.end final",
    "maze.waiting event",
    "maze.done final",
    "maze.stopped unwind",
  ]);
  expect(edges.find(({ source }) => source === null)).toMatchObject({ on: "STOP", target: "maze.stopped" });
  const ofStart = edges.filter(({ source }) => source === "maze.start");
  expect(ofStart.map(({ kind, guard, isElse, target }) => [kind, guard, isElse, target])).toEqual([
    ["done", "big", false, "maze.deal"],
    ["done", "small", false, "maze.quick"],
    ["done", null, true, "maze.stopped"],
    ["error", null, false, "maze.quick"],
  ]);
  expect(new Set(edges.map(({ id }) => id)).size).toBe(edges.length);
});

test("reprise diagram prints each of its formats", async () => {
  const [svg, mermaid, json, none] = await Promise.all(
    [["order", "--format", "svg"], ["order"], ["order", "--json"], ["order", "--format", "png"]].map((argv) =>
      cli(["diagram", ...argv], { cwd: root }),
    ),
  );
  expect(svg?.stdout).toBe(`${svgOf(sagaGraph(sagas[0])).join("\n")}\n`);
  expect(mermaid?.stdout).toContain('n0["reserveStock<br/>idempotent"]');
  expect(JSON.parse(json?.stdout ?? "")).toMatchObject({
    apiVersion: "v1",
    kind: "SagaDiagram",
    data: { saga: "order", version: 1 },
  });
  expect(shapeOf(JSON.parse(json?.stdout ?? ""))).toMatchSnapshot("SagaDiagram");
  expect([none?.code, none?.stderr]).toEqual([2, expect.stringContaining("mermaid, svg, json")]);
});
