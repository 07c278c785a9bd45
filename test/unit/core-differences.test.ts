/** What differs between two values is told by path, named things by their name, and never at length. */
import { expect, test } from "vitest";
import { differencesOf } from "../../src/core/index.ts";

test("values that are the same differ nowhere", () => {
  expect(differencesOf({ a: [1, { id: "x" }] }, { a: [1, { id: "x" }] })).toEqual([]);
});

test("what was changed, added and taken away is told by path, wherever it stands now", () => {
  const before = {
    states: [{ id: "a", entry: 1 }, { id: "b" }, { id: "c", on: { x: 1 } }],
    steps: { x: "once", z: 1 },
  };
  const after = {
    states: [{ id: "new" }, { id: "a", entry: 2 }, { id: "c", on: { x: 2 } }],
    steps: { x: "once", y: "none" },
  };
  expect(differencesOf(before, after).toSorted()).toEqual([
    "states[a].entry: 1 -> 2",
    'states[b]: {"id":"b"} -> nothing',
    "states[c].on.x: 1 -> 2",
    'states[new]: nothing -> {"id":"new"}',
    'steps.y: nothing -> "none"',
    "steps.z: 1 -> nothing",
  ]);
});

test("transitions go by their event, and what has no name by its place", () => {
  const before = { transitions: [{ event: "GO", targets: ["a"] }, { event: "STOP" }], tags: ["x", 1] };
  const after = { transitions: [{ event: "NEW" }, { event: "GO", targets: ["b"] }, { event: "STOP" }], tags: ["x", 2] };
  expect(differencesOf(before, after).toSorted()).toEqual([
    "tags[1]: 1 -> nothing",
    "tags[1]: nothing -> 2",
    'transitions[GO].targets[0]: "a" -> nothing',
    'transitions[GO].targets[0]: nothing -> "b"',
    'transitions[NEW]: nothing -> {"event":"NEW"}',
  ]);
});

test("things without a name that stay as they are do not differ, whatever changes around them", () => {
  const before = { lines: [{ sku: "a" }, { sku: "b" }], total: 1 };
  const after = { lines: [{ sku: "a" }, { sku: "b" }, { sku: "c" }], total: 1 };
  expect(differencesOf(before, after)).toEqual(['lines[2]: nothing -> {"sku":"c"}']);
});

test("a state of another kind is told whole, and long values are cut", () => {
  expect(differencesOf("waiting", { work: "a" })).toEqual(['all of it: "waiting" -> {"work":"a"}']);
  const [long] = differencesOf({ text: "" }, { text: "x".repeat(200) });
  expect(long).toBe(`text: "" -> "${"x".repeat(76)}...`);
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`k${at}`, at]));
  expect(differencesOf({}, many)).toHaveLength(11);
  expect(differencesOf({}, many).at(-1)).toBe("and 20 more");
});
