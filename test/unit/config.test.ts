import { describe, expect, test } from "vitest";
import { defaultSettings, queuesIn, readConfig, variables, withSettings } from "../../src/config.ts";
import { RepriseError } from "../../src/errors.ts";

function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(RepriseError);
    expect((error as RepriseError).code).toBe("CONFIG_INVALID");
    return (error as RepriseError).details["problems"] as readonly string[];
  }
  return [];
}

describe("the environment", () => {
  test("gives the defaults of the design when it says nothing", () => {
    const { settings, ...process } = readConfig({});
    expect(settings).toEqual(defaultSettings);
    expect(settings).toMatchObject({ leaseMs: 10_000, renewMs: 1_000, marginMs: 2_000, commandTimeoutMs: 1_000 });
    expect(settings).toMatchObject({ sweepMs: 500, inlineWaitMs: 2_000, startWithinMs: 2_000, barrierMs: 1_500 });
    expect(settings).toMatchObject({ abortGraceMs: 1_000, quiesceMs: 5_000 });
    expect(process).toMatchObject({ redisUrl: null, namespace: "default", shards: 1, lanes: 1, concurrency: 50 });
    expect(process).toMatchObject({ pools: ["default"], queues: [], allowForgetfulStore: false });
    expect(process.artifacts).toBeNull();
    expect(settings).toMatchObject({ maxRunBytes: 64_000_000, artifactThresholdBytes: 32_000 });
  });

  test("reads durations with and without a unit, lists, queues and flags", () => {
    const config = readConfig({
      REPRISE_LEASE: "1m",
      REPRISE_RENEW: "2500",
      REPRISE_MARGIN: "5s",
      REPRISE_POOLS: "default,slow",
      REPRISE_QUEUES: "gpu=4,mail=20",
      REPRISE_ALLOW_FORGETFUL_STORE: "1",
      REPRISE_ARTIFACTS: "file:///var/values",
      REPRISE_MAX_RUN_BYTES: "1000",
      REDIS_URL: "redis://h:1",
    });
    expect(config.settings).toMatchObject({ leaseMs: 60_000, renewMs: 2_500, marginMs: 5_000 });
    expect(config.pools).toEqual(["default", "slow"]);
    expect(config.queues).toEqual([
      { name: "gpu", concurrency: 4 },
      { name: "mail", concurrency: 20 },
    ]);
    expect(config).toMatchObject({ allowForgetfulStore: true, redisUrl: "redis://h:1" });
    expect(config).toMatchObject({ artifacts: "file:///var/values", settings: { maxRunBytes: 1_000 } });
  });

  test("reads how much of a step queue is taken: how many at once, and how often", () => {
    expect(queuesIn("mail=5:100/1s,gpu=1,sms=2:3/250ms")).toEqual([
      { name: "mail", concurrency: 5, limit: { max: 100, durationMs: 1_000 } },
      { name: "gpu", concurrency: 1 },
      { name: "sms", concurrency: 2, limit: { max: 3, durationMs: 250 } },
    ]);
    expect(queuesIn("")).toEqual([]);
  });

  test.each([
    "mail",
    "mail=",
    "mail=0",
    "=5",
    "mail=5:100",
    "mail=5:0/1s",
    "mail=5:100/",
    "mail=5:1/soon",
    "a b=1",
    "mail=5;gpu=1",
  ])("refuses the step queue %j, and says how one is written", (text) => {
    expect(problemsOf(() => queuesIn(`ok=1,${text}`))).toEqual([
      expect.stringContaining("is not <queue>=<concurrency>, or <queue>=<concurrency>:<calls>/<duration>"),
    ]);
  });

  test("is refused with all its problems at once, each naming its variable", () => {
    const problems = problemsOf(() =>
      readConfig({
        REPRISE_LEASE: "soon",
        REPRISE_SHARDS: "0",
        REPRISE_QUEUES: "gpu",
        REPRISE_NAMESPACE: "a}b",
        REPRISE_ARTIFACTS: "ftp://me:hunter2@somewhere",
      }),
    );
    expect(problems).toHaveLength(5);
    expect(problems.join()).toContain("ftp://[redacted]@somewhere");
    for (const name of [
      "REPRISE_LEASE",
      "REPRISE_SHARDS",
      "REPRISE_QUEUES",
      "REPRISE_NAMESPACE",
      "REPRISE_ARTIFACTS",
    ]) {
      expect(problems.filter((problem) => problem.startsWith(name))).toHaveLength(1);
    }
  });

  test("describes every variable once", () => {
    const names = variables.map((variable) => variable.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("REPRISE_LEASE");
  });
});

describe("settings that do not hold together are refused", () => {
  test("a margin that a slow command and half a renewal can use up", () => {
    expect(problemsOf(() => withSettings(defaultSettings, { marginMs: 1_500 }))).toHaveLength(1);
    expect(problemsOf(() => withSettings(defaultSettings, { marginMs: 1_501 }))).toEqual([]);
    expect(problemsOf(() => readConfig({ REPRISE_COMMAND_TIMEOUT: "1500ms" }))).toHaveLength(1);
  });

  test("a barrier that does not end before the call must begin", () => {
    expect(problemsOf(() => withSettings(defaultSettings, { barrierMs: 2_000 }))).toHaveLength(1);
    expect(problemsOf(() => withSettings(defaultSettings, { barrierMs: 1_999 }))).toEqual([]);
  });

  test("a lease that leaves no time to be trusted", () => {
    expect(problemsOf(() => withSettings(defaultSettings, { leaseMs: 3_000 }))).toHaveLength(1);
  });

  test("what is not a whole number of ms", () => {
    expect(problemsOf(() => withSettings(defaultSettings, { leaseMs: Number.NaN, sweepMs: 0.5 }))).toHaveLength(2);
  });
});
