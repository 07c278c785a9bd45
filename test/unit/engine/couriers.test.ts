/** Telling a hook: nothing is struck off before it was taken, and one that tells dies, hangs or fails at no other's cost. */
import { beforeEach, expect, test } from "vitest";
import { type NoticeFate, type NoticeHook, noticeIn, type Store } from "../../../src/core/index.ts";
import { Courier, type TellHook } from "../../../src/engine/couriers.ts";
import { memoryStore } from "../../../src/store/index.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { aCommit, aCreate, aLease, fresh } from "../../support/records.ts";

const hook = { name: "shop", on: ["end"], sagas: null, tenants: null } as const;
const leaseMs = 10_000;
let clock: VirtualClock;
let store: Store;

beforeEach(async () => {
  clock = new VirtualClock();
  store = memoryStore({ clock });
  await store.open();
});

const textOf = (run: string, revision: number) =>
  `${String(revision).padStart(10, "0")} ${JSON.stringify({ tenant: "default", run, revision })}`;

/** Commits that owe these: one for each run. */
async function owe(...texts: readonly string[]): Promise<void> {
  for (const run of new Set(texts.map((text) => noticeIn(text).run))) {
    await oweOf(
      run,
      texts.filter((text) => noticeIn(text).run === run),
    );
  }
}

async function oweOf(id: string, texts: readonly string[]): Promise<void> {
  const { record, ...rest } = aCreate({ id });
  await store.create({ record, ...rest });
  const token = fresh("token");
  const answer = await store.acquire({ run: record, owner: "w", token, leaseMs });
  if (answer.answer !== "OK") throw new Error(answer.answer);
  const notices = texts.map((text) => ({ hook: "shop", text }));
  const lease = aLease(record, answer.fence, token, "w");
  await store.commit({ lease, commit: aCommit(answer.record), leaseMs, notices });
}

function courier(owner: string, tell: TellHook, over: Partial<Store> = {}, own: NoticeHook = hook) {
  const troubles: string[] = [];
  const made = new Courier(
    {
      ...{ clock, owner, namespace: "ns", ids: { next: () => fresh("id"), random: () => 0 } },
      store: {
        shards: store.shards,
        takeNotices: (command) => store.takeNotices(command),
        strikeNotice: (...given) => store.strikeNotice(...given),
        putOffNotice: (command) => store.putOffNotice(command),
        ...over,
      },
      facts: { emit: (fact) => fact.fact === "trouble" && troubles.push(fact.message) },
      background: (work) => void work.catch((error: unknown) => troubles.push(String(error))),
    },
    own,
    tell,
  );
  made.start();
  return { courier: made, troubles };
}

/** Remembers what it was told, and answers so. */
function ear(answers: (id: string) => NoticeFate = () => "taken") {
  const heard: string[] = [];
  const tell: TellHook = async (_, id) => {
    heard.push(id);
    return { fate: answers(id), why: "no" };
  };
  return { heard, tell };
}

const owed = async () => (await store.noticesOwed()).hooks[0]?.owed;

test("what is owed is told once it is taken, and struck off then", async () => {
  const { heard, tell } = ear();
  courier("a", tell);
  await owe(textOf("r1", 2), textOf("r1", 3), textOf("r2", 2));
  await clock.advance(2_000);
  expect(heard).toEqual(expect.arrayContaining(["ns/default/r1/2", "ns/default/r1/3", "ns/default/r2/2"]));
  expect(heard.indexOf("ns/default/r1/2")).toBeLessThan(heard.indexOf("ns/default/r1/3"));
  expect([heard.length, await owed()]).toEqual([3, 0]);
});

test("what is not taken stays owed and is told again under the same id; a refusal for good is the end of it", async () => {
  const answers = ["failed", "failed", "taken"] as const;
  let asked = 0;
  const { heard, tell } = ear((id) => {
    if (id.includes("r2")) return "refused";
    asked += 1;
    return answers[asked - 1] ?? "taken";
  });
  const { troubles } = courier("a", tell);
  await owe(textOf("r1", 2), textOf("r1", 3), textOf("r2", 2));
  await clock.advance(600);
  expect(await owed()).toBe(2);
  await clock.advance(10_000);
  expect(heard.filter((id) => id.includes("r1"))).toEqual([
    ...["ns/default/r1/2", "ns/default/r1/2", "ns/default/r1/2", "ns/default/r1/3"],
  ]);
  expect(heard.filter((id) => id.includes("r2"))).toHaveLength(1);
  expect(await owed()).toBe(0);
  expect(troubles.join()).toContain("did not take ns/default/r1/2: no");
});

test("one that dies after it was heard and before it struck that off leaves it to another, with the same id", async () => {
  const first = ear();
  let isDead = false;
  const never = new Promise<never>(() => undefined);
  courier("a", first.tell, {
    strikeNotice: () => {
      isDead = true;
      return never;
    },
    takeNotices: (command) => (isDead ? never : store.takeNotices(command)),
  });
  await owe(textOf("r1", 2));
  await clock.advance(1_000);
  const second = ear();
  courier("b", second.tell);
  await clock.advance(8_000);
  expect([first.heard, second.heard]).toEqual([["ns/default/r1/2"], []]);
  await clock.advance(8_000);
  expect([second.heard, await owed()]).toEqual([["ns/default/r1/2"], 0]);
});

test("of two one tells; when it stops the other goes on at once, and what was cut off is told again", async () => {
  const never: TellHook = (_, __, ___, signal) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve({ fate: "failed", why: "cut off" })));
  const { courier: first } = courier("a", never);
  await owe(textOf("r1", 2));
  await clock.advance(1_000);
  const second = ear();
  courier("b", second.tell);
  await clock.advance(5_000);
  expect(second.heard).toEqual([]);
  first.stop();
  await clock.advance(6_000);
  expect(second.heard).toEqual(["ns/default/r1/2"]);
});

test("a striking off that fails, and a store that is away, are told as troubles and tried again", async () => {
  let failures = 2;
  const { heard, tell } = ear();
  const { troubles } = courier("a", tell, {
    strikeNotice: async (...given) => {
      failures -= 1;
      if (failures >= 0) throw new Error("away");
      return await store.strikeNotice(...given);
    },
  });
  await owe(textOf("r1", 2));
  await clock.advance(5_000);
  expect(new Set(heard)).toEqual(new Set(["ns/default/r1/2"]));
  expect([await owed(), troubles.includes("away")]).toEqual([0, true]);
  expect(noticeIn(textOf("r1", 2))).toMatchObject({ run: "r1" });
});

test("what lay in the store before a notice was struck off or put off, and is heard of after, has it told no sooner again", async () => {
  const pause = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  const heard: string[] = [];
  const tell: TellHook = async (_, id) => {
    heard.push(`${id} at ${clock.monotonicMs() - begun}`);
    await pause(600);
    return { fate: id.includes("bad") ? "failed" : "taken", why: "no" };
  };
  let takes = 0;
  await owe(textOf("r1", 2), textOf("bad", 2));
  const begun = clock.monotonicMs();
  // The second one is asked while both are being told, and its answer is on its way until both have been.
  courier("a", tell, {
    takeNotices: async (command) => {
      takes += 1;
      const isLate = takes === 2;
      const taken = await store.takeNotices(command);
      if (isLate) await pause(150);
      return taken;
    },
  });
  await clock.advance(840);
  expect(heard).toHaveLength(2);
  await clock.advance(3_000);
  expect(heard.filter((line) => line.includes("r1"))).toEqual(["ns/default/r1/2 at 0"]);
  expect(await owed()).toBe(1);
});

test("runs whose notices are never taken, more than are taken at once, hold up none behind them, and keep their own order", async () => {
  let refusals = 1;
  const isGood = (id: string) => !id.includes("bad");
  const { heard, tell } = ear((id) => {
    if (id.includes("slow") && refusals > 0) {
      refusals -= 1;
      return "failed";
    }
    return isGood(id) ? "taken" : "failed";
  });
  const bad = Array.from({ length: 300 }, (_, n) => [textOf(`bad-${n}`, 2), textOf(`bad-${n}`, 3)]).flat();
  await owe(...bad, textOf("good-1", 2), textOf("good-1", 3));
  courier("a", tell);
  await clock.advance(1_000);
  expect(heard.filter(isGood)).toEqual(["ns/default/good-1/2", "ns/default/good-1/3"]);
  // So it is for one that comes later, and for one that was not taken at first.
  await clock.advance(60_000);
  await owe(textOf("good-2", 2), textOf("slow", 2));
  await clock.advance(2_000);
  expect(heard.filter(isGood).slice(2)).toEqual(["ns/default/good-2/2", "ns/default/slow/2", "ns/default/slow/2"]);
  expect(heard.filter((id) => id.includes("bad") && id.endsWith("/3"))).toEqual([]);
  expect(await owed()).toBe(600);
});

test("what a receiver said when it did not take a notice is kept with the run, without what is a secret", async () => {
  const tell: TellHook = async () => ({ fate: "failed", why: `token=abcdef12345 ${"x".repeat(300)}` });
  courier("a", tell);
  await owe(textOf("r1", 2));
  await clock.advance(700);
  const [shown] = await store.owedRuns("shop", 10);
  expect(shown).toMatchObject({ run: "default:r1", owed: 1, failure: { tries: 1 } });
  expect(shown?.failure?.why).toMatch(/^token=\[redacted\] x+$/);
  expect(shown?.failure?.why.length).toBeLessThanOrEqual(200);
});

test("a hook that reads is told nothing, and is kept within the bound though nobody reads", async () => {
  const { heard, tell } = ear();
  const most: number[] = [];
  const takeNotices: Store["takeNotices"] = (command) => {
    most.push(command.most);
    return store.takeNotices({ ...command, most: 1 });
  };
  const { courier: reader, troubles } = courier("a", tell, { takeNotices }, { ...hook, isRead: true });
  await owe(textOf("r1", 2), textOf("r1", 3), textOf("r2", 2));
  await clock.advance(25_000);
  expect([heard, await owed()]).toEqual([[], 1]);
  expect(new Set(most)).toEqual(new Set([100_000]));
  expect(troubles.join()).toContain("2 notices to shop are lost");
  // Whoever reads is not kept from it.
  expect(await store.takeNotices({ shard: 0, hook: "shop", owner: "b", leaseMs: 1, limit: 1, most: 10 })).toMatchObject(
    {
      answer: "OK",
    },
  );
  reader.stop();
});
