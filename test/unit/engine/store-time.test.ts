import { expect, test } from "vitest";
import { StoreTime } from "../../../src/engine/store-time.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

test("an answer about something else moves the time on where it is later, and never back", async () => {
  const clock = new VirtualClock();
  const time = new StoreTime(clock, 1_000);
  await clock.advance(100);
  expect(time.now()).toBe(1_100);
  // As of a worker that stood still between an answer and what it heard of a line of turns.
  time.heardBeside(5_000);
  expect(time.now()).toBe(5_000);
  time.heardBeside(4_000);
  await clock.advance(50);
  expect(time.now()).toBe(5_050);
});
