/** A supervisor that goes on, whatever its ports do; and what its admin port says of it. */
import { beforeEach, expect, test } from "vitest";
import { supervisorAnswers } from "../../src/admin/index.ts";
import { type Alert, defaultThresholds, type Seen } from "../../src/core/index.ts";
import { type SupervisorPorts, Watchman } from "../../src/supervisor/supervisor.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { aHeartbeat } from "../support/records.ts";

const well: Seen = { workers: [], unserved: [], parked: 0, unknownMs: null, approvalMs: null, servers: [] };
const never = () => new Promise<never>(() => undefined);
let clock: VirtualClock;
beforeEach(() => {
  clock = new VirtualClock();
});

function watchman(ports: Partial<SupervisorPorts>) {
  const told: Alert[] = [];
  const troubles: string[] = [];
  const made = new Watchman(
    {
      clock,
      look: async () => well,
      beat: async () => ({ tells: true }),
      tell: (alert) => void told.push(alert),
      trouble: (where, error) => void troubles.push(`${where}: ${(error as Error).message}`),
      ...ports,
    },
    { id: "s", name: "s", host: "h", pid: 1, version: "", everyMs: 5_000, thresholds: defaultThresholds },
  );
  made.start();
  return { made, told, troubles, answers: supervisorAnswers("shop", () => made.health()) };
}

test("whoever is told an alert and throws does not end the looking, and is told the next one", async () => {
  const heard: string[] = [];
  const old: Seen = { ...well, unknownMs: 400_000, approvalMs: 90_000_000 };
  const { made, troubles } = watchman({
    look: async () => old,
    tell: ({ key }) => {
      heard.push(key);
      throw new Error("full disk");
    },
  });
  await clock.advance(60_000);
  expect(heard).toEqual(["unknown_old", "approval_old"]);
  expect(troubles).toEqual(["alert: full disk", "alert: full disk"]);
  expect(made.health()).toMatchObject({ state: "ready", lookedMs: expect.closeTo(0, -4) });
});

test("a look that nobody answers is a store that does not answer, and is told of like one", async () => {
  let isHung = false;
  const { made, told, answers } = watchman({ look: () => (isHung ? never() : Promise.resolve(well)) });
  await clock.advance(10_000);
  expect(await answers.absence()).toBeNull();
  isHung = true;
  await clock.advance(120_000);
  expect(told.map(({ key, state }) => `${state} ${key}`)).toEqual(["firing store_away"]);
  expect([answers.death(), await answers.absence()]).toEqual([null, expect.stringContaining("it has seen nothing")]);
  isHung = false;
  await clock.advance(60_000);
  expect(told.map(({ key, state }) => `${state} ${key}`)).toEqual(["firing store_away", "resolved store_away"]);
  expect(await answers.absence()).toBeNull();
  expect(made.health().seen).toEqual(well);
});

test("a heartbeat that nobody answers holds up no look", async () => {
  const { told } = watchman({ beat: never, look: () => Promise.reject(new Error("away")) });
  await clock.advance(120_000);
  expect(told.map(({ key }) => key)).toEqual(["store_away"]);
});

test("its admin port says that it is to be replaced when it comes to no end, and not because the store is away", async () => {
  const side = { isStandby: false, recovery: { waitingMs: 0, lastMs: null }, seen: null, firing: [] } as const;
  const deathOf = (state: "ready" | "stopped", lookedMs: number, triedMs: number) =>
    supervisorAnswers("shop", () => ({ ...side, state, lookedMs, triedMs })).death();
  expect(deathOf("ready", 3_600_000, 20_000)).toBeNull();
  expect(deathOf("ready", 3_600_000, 91_000)).toContain("91 s");
  expect(deathOf("stopped", 3_600_000, 91_000)).toBeNull();
});

test("of no worker in a state there are nought, which can be asked about", async () => {
  const heartbeat = { ...aHeartbeat({ id: "w" }), at: 0 };
  const lost = { id: "w", state: "lost", heartbeat, ageMs: 0, serves: [], drain: null } as const;
  const { answers } = watchman({ look: async () => ({ ...well, workers: [lost] }) });
  await clock.advance(1_000);
  const { text } = await answers.metrics();
  for (const line of ['state="ready"} 0', 'state="lost"} 1', 'state="wedged"} 0']) {
    expect(text).toContain(`reprise_workers{reprise_ns="shop",${line}\n`);
  }
});
