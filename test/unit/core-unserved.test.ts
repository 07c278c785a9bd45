import { expect, test } from "vitest";
import { isDriven, structureName, unservedBy } from "../../src/core/index.ts";

const order = structureName({ saga: "order", version: 1, hash: "h" });
const trip = structureName({ saga: "trip", version: 2, hash: "h" });
const serving = {
  open: [order, trip],
  owners: [
    { owner: "w-1", serves: [order] },
    { owner: "w-2", serves: [order, trip] },
  ],
};

test("a structure that an owner serves is served, as long as one of them is not lost", () => {
  expect(unservedBy(serving, new Set())).toEqual([]);
  expect(unservedBy(serving, new Set(["w-1"]))).toEqual([]);
  expect(unservedBy(serving, new Set(["w-2"]))).toEqual([trip]);
  expect(unservedBy(serving, new Set(["w-1", "w-2"]))).toEqual([order, trip]);
});

test("another version of a saga, or another structure of it, serves nobody else's runs", () => {
  const older = structureName({ saga: "trip", version: 1, hash: "h" });
  const changed = structureName({ saga: "trip", version: 2, hash: "i" });
  expect(unservedBy({ open: [trip], owners: [{ owner: "w", serves: [older, changed] }] }, new Set())).toEqual([trip]);
});

test("a run is driven while its holder is one that serves it, lost or not", () => {
  expect(isDriven(serving, trip, "w-2")).toBe(true);
  expect(isDriven(serving, trip, "w-1")).toBe(false);
  expect(isDriven(serving, trip, "gone")).toBe(false);
  expect(isDriven(serving, trip, null)).toBe(false);
});
