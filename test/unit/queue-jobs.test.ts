import { describe, expect, test } from "vitest";
import { letterJobId, parseLetterJob, parseStepJob, parseWakeJob, stepJobId, wakeJobId } from "../../src/queue/jobs.ts";

const runs = [
  { tenant: "default", id: "order-1" },
  { tenant: "a.b_c-1", id: "x.1.2-3_4.5" },
  { tenant: "1", id: "2" },
  { tenant: "__proto__", id: "constructor" },
];

describe("a job's id", () => {
  test.each(runs)("says the run and comes back as it was: $tenant $id", (run) => {
    const id = wakeJobId({ run, wake: 12 });
    expect(id).not.toContain(":");
    expect(parseWakeJob(id)).toEqual(run);
    const letter = { run, review: 3 };
    expect(letterJobId(letter)).not.toContain(":");
    expect(parseLetterJob(letterJobId(letter))).toEqual(letter);
    for (const side of ["action", "undo"] as const) {
      const job = { run, seq: 3, send: 14, side, queue: "gpu", priority: 5 };
      expect(parseStepJob(stepJobId(job), "gpu", 5)).toEqual(job);
    }
  });

  test("is another one for the next wake number, the next send and the compensation", () => {
    const run = { tenant: "t", id: "r" };
    const job = { run, seq: 1, send: 1, side: "action" } as const;
    const ids = [
      wakeJobId({ run, wake: 1 }),
      wakeJobId({ run, wake: 2 }),
      stepJobId(job),
      stepJobId({ ...job, send: 2 }),
      stepJobId({ ...job, seq: 2 }),
      stepJobId({ ...job, side: "undo" }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each([undefined, "", "12", "a~b", "a~b.", "a~b.x", "a b~c.1", "a~b~c.1", "a:b~c.1", `${"x".repeat(65)}~b.1`])(
    "that is not ours is not taken for a run: %s",
    (id) => {
      expect(parseWakeJob(id)).toBeNull();
      expect(parseStepJob(id, "gpu", 0)).toBeNull();
      expect(parseLetterJob(id)).toBeNull();
    },
  );
});
