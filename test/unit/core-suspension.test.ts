/** How a batch stands after the words of those who suspend and resume it, and what is refused meanwhile. */
import { expect, test } from "vitest";
import { objectionToBatch, suspensionAfter } from "../../src/core/index.ts";

const ann = { by: "ann", reason: "the bank is down", at: 1 };
const bob = { by: "bob", reason: "me too", at: 2 };

test("of two who suspend a batch the first counts, until it is resumed", () => {
  expect(suspensionAfter(null, ann)).toEqual(ann);
  expect(suspensionAfter(ann, bob)).toEqual(ann);
  expect(suspensionAfter(suspensionAfter(ann, null), bob)).toEqual(bob);
  expect(suspensionAfter(null, null)).toBeNull();
});

test("nothing of a suspended batch is begun, and it is said who does not want it and why", () => {
  expect(objectionToBatch(ann)).toBe("suspended by ann: the bank is down");
  expect(objectionToBatch(null)).toBeNull();
});
