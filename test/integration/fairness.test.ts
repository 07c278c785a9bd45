/**
 * One tenant's crowd holds up another tenant's single run for no more than a few of its runs: a crowd of starts, and one of starts that
 * were put off to the same moment. Counted in runs, so that it holds on any machine; `npm run bench -- fairness` has the seconds.
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
/** 150 wake-ups that may stand in the queue and 50 runs under way, and again as many until the client has heard of the end. */
const mostBefore = 400;

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

/** How many runs of the crowd end from the start of a single run to its end, of each of some, one after the other. */
async function singles(stage: Top): Promise<readonly number[]> {
  const before: number[] = [];
  for (let n = 0; n < singleRuns; n += 1) {
    const began = ended(stage);
    const run = await stage.client.start(one, { n }, { id: `s-${n}`, tenant: "single" });
    await run.result();
    before.push(ended(stage) - began);
  }
  return before;
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
  test(`that starts ${crowd} runs does not hold up the single run of another`, { timeout }, async () => {
    const stage = top([one]);
    await startCrowd(stage, one, {});
    await stage.worker();
    await until(() => ended(stage) >= 100, 2 * crowd + 30_000);
    const before = await singles(stage);
    expect(ended(stage)).toBeLessThan(crowd); // it was still under way
    expect(medianOf(before), before.join()).toBeLessThan(mostBefore);
  });

  test(`whose ${crowd} starts fall due at one moment does not either`, { timeout }, async () => {
    const stage = top([one]);
    const dueAt = Date.now() + delayedByMs;
    await startCrowd(stage, one, { startAt: new Date(dueAt) });
    await stage.worker();
    await until(() => ended(stage) >= 100, 2 * crowd + 30_000);
    const before = await singles(stage);
    expect(ended(stage)).toBeLessThan(crowd);
    expect(medianOf(before), before.join()).toBeLessThan(mostBefore);
  });
});
