/**
 * A small round of chaos (test/chaos): real processes are killed, paused and cut off, Redis is killed, frozen and squeezed, people
 * race each other, versions roll; then all witnesses must agree. `npm run chaos` plays large ones.
 */
import { expect, test } from "vitest";
import { summaryOf, tellRound } from "../chaos/report.ts";
import { playRound } from "../chaos/round.ts";
import { leaveEvidence } from "../support/evidence.ts";

/** Fail-over and lost power under everysec keep their distance from every death: a round with them takes longer. */
const asked = { seed: 5, runs: 120, kills: 8, fsync: "always", together: false, without: ["fail-over"] } as const;

test("I1 I3 I4 I5 I7 I8 I9 I11 I12 a round of chaos breaks nothing, and was one: workers died where planned, runs ended in every way", async () => {
  const round = await playRound(asked);
  const told = tellRound(round).join("\n");
  const { violations, verdict, kills, completed, crashPointHits, recoveryP99Ms } = summaryOf(round);
  expect({ violations, verdict }, told).toEqual({ violations: 0, verdict: "PASS" });
  expect(kills).toBeGreaterThanOrEqual(asked.kills);
  expect(crashPointHits).toBeGreaterThanOrEqual(asked.kills / 2);
  expect(completed, told).toBeGreaterThan(asked.runs / 2);
  expect(recoveryP99Ms, told).not.toBeNull();
  for (const what of ["pause", "redis killed", "power loss", "redis frozen", "cut", "half-open", "deployed"])
    expect(round.mishaps[what], `${what}\n${told}`).toBeGreaterThan(0);
  const { arrivals, effects } = round;
  leaveEvidence(["I1", "I3", "I4", "I5", "I7", "I8", "I9", "I11", "I12"], {
    arrivals,
    effects,
    checks: [`${kills} kills among ${asked.runs} runs`, ...round.checks],
  });
}, 400_000);
