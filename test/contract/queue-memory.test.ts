import { describe } from "vitest";
import { memoryQueue } from "../../src/testing/memory-queue.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { queueSuite } from "./queue.suite.ts";

describe("the queue in memory", () => {
  queueSuite(async () => {
    const clock = new VirtualClock();
    const queue = memoryQueue({ clock });
    // Whoever stops a consumer waits by the same clock.
    const ticking = setInterval(() => void clock.advance(1), 1);
    ticking.unref();
    return {
      ...queue,
      until: async (done) => {
        for (let ms = 0; !done(); ms += 1) {
          if (ms > 1_000) throw new Error("it did not happen");
          await clock.advance(1);
        }
      },
      quiet: () => clock.advance(50),
    };
  });
});
