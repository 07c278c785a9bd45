/**
 * One tenant's crowd delays another tenant's single run by less than a second: a crowd of starts, and one of starts that were
 * put off to the same moment.
 */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Saga, saga, step } from "../../src/index.ts";
import { type Top, top, until } from "./top.ts";

const crowd = process.env["REPRISE_SIZE"] === "full" ? 100_000 : 5_000;
const atOnce = 5_000;
/** Long enough to make them all before. */
const delayedByMs = crowd;
const timeout = 180_000;
/** Their median is taken: other tests share the machine. */
const singleRuns = 5;

const Input = z.object({ n: z.number() });
const one = saga("one", { version: 1, input: Input })
  .step(step("look", { input: Input, effect: "none", action: () => null }), ({ input }) => input)
  .build();

interface When {
  readonly startAt?: Date;
}

async function startCrowd({ client }: Top, of: Saga, when: When): Promise<void> {
  for (let from = 0; from < crowd; from += atOnce) {
    const starts = Array.from({ length: atOnce }, (_, at) => ({
      id: `c-${from + at}`,
      tenant: "crowd",
      input: { n: at },
      ...when,
    }));
    await client.startMany(of, starts);
  }
}

/** Ms from the start of a single run to its end, of each of some, one after the other. */
async function singles({ client }: Top): Promise<readonly number[]> {
  const tookMs: number[] = [];
  for (let n = 0; n < singleRuns; n += 1) {
    const began = performance.now();
    const run = await client.start(one, { n }, { id: `s-${n}`, tenant: "single" });
    await run.result();
    tookMs.push(performance.now() - began);
  }
  return tookMs;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Of the crowd, as its workers tell. */
function ended({ facts }: Top): number {
  return facts.filter(
    (fact) => fact.fact === "committed" && fact.run.tenant === "crowd" && fact.record.endedAt !== null,
  ).length;
}

describe("a crowd of one tenant", () => {
  test(`that starts ${crowd} runs delays the single run of another by less than a second`, { timeout }, async () => {
    const stage = top([one]);
    await startCrowd(stage, one, {});
    await stage.worker();
    await until(() => ended(stage) >= 100, 2 * crowd + 30_000);
    const tookMs = await singles(stage);
    expect(ended(stage)).toBeLessThan(crowd); // it was still under way
    expect(medianOf(tookMs), tookMs.join()).toBeLessThan(1_000);
  });

  test(`whose ${crowd} starts fall due at one moment does not either`, { timeout }, async () => {
    const stage = top([one]);
    const dueAt = Date.now() + delayedByMs;
    await startCrowd(stage, one, { startAt: new Date(dueAt) });
    await stage.worker();
    await until(() => ended(stage) >= 100, 2 * crowd + 30_000);
    const tookMs = await singles(stage);
    expect(ended(stage)).toBeLessThan(crowd);
    expect(medianOf(tookMs), tookMs.join()).toBeLessThan(1_000);
  });
});
