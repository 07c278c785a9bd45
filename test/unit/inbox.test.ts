/** The inbox over an engine in memory: what it shows, and of which runs it must not say that nobody serves them. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { connectedClient, type InboxPage, type InboxQuery } from "../../src/client/index.ts";
import { saga, step } from "../../src/saga/index.ts";
import { benchTop } from "./engine/bench-top.ts";

const input = z.object({ n: z.number() });
const send = step("send", {
  input,
  effect: "once",
  action: ({ input }) => (input.n === 0 ? Promise.reject(new Error("the line broke")) : null),
  noCompensation: "what is sent is sent",
  timeout: "1s",
  lateness: "1s",
});
const mail = saga("mail", { version: 1, input })
  .step(send, ({ input }) => input)
  .build();
const newer = saga("mail", { version: 2, input, events: { GO: z.object({}) } })
  .waitFor("GO")
  .step(send, ({ input }) => input)
  .build();

function setup() {
  const top = benchTop([mail, newer]);
  const options = { namespace: "test", sagas: [mail, newer], maxPayloadBytes: 1_000, maxReplays: 10 };
  const client = connectedClient(top.ports, options);
  /** The inbox, with the time it takes to look twice. */
  const inbox = async (query: InboxQuery = {}): Promise<InboxPage> => {
    const page = client.inbox(query);
    await top.clock.advance(1_000);
    return await page;
  };
  const idsIn = async (query: InboxQuery = {}) => (await inbox(query)).items.map(({ id, kind }) => `${kind} ${id}`);
  return { ...top, client, inbox, idsIn };
}

describe("a parked run", () => {
  test("of any tenant is shown with what is needed to answer it, and is gone when it was answered", async () => {
    const { client, clock, store, worker, inbox, idsIn } = setup();
    await worker().start();
    const run = await client.start(mail, { n: 0 }, { id: "r1", tenant: "acme" });
    await client.start(mail, { n: 1 }, { id: "fine" });
    await clock.advance(10_000);
    const askedAt = await store.now();
    const { items, cursor, unreadable } = await inbox();
    expect({ cursor, unreadable }).toEqual({ cursor: null, unreadable: [] });
    expect(items).toEqual([
      {
        kind: "review",
        tenant: "acme",
        id: "r1",
        saga: "mail",
        version: 1,
        reason: "unknown_outcome",
        message: expect.stringContaining("send was sent and may have happened"),
        evidence: null,
        verbs: expect.arrayContaining(["resolve", "close"]),
        review: 1,
        approval: null,
        step: "send",
        parent: null,
        since: expect.any(Number),
        ageMs: expect.any(Number),
      },
    ]);
    expect(items.map(({ since, ageMs }) => since + ageMs)).toEqual([askedAt]);
    expect(await idsIn({ tenant: "acme" })).toEqual(["review r1"]);
    expect(await idsIn({ tenant: "other" })).toEqual([]);
    await run.operator.close({ by: "ann", reason: "enough", review: 1 });
    await clock.advance(1_000);
    expect(await idsIn()).toEqual([]);
  });

  test("is shown as its review, also when nobody serves its saga any more", async () => {
    const { client, clock, worker, idsIn } = setup();
    const only = worker();
    await only.start();
    await client.start(mail, { n: 0 }, { id: "r1" });
    await clock.advance(10_000);
    const stopped = only.stop();
    await clock.advance(20_000);
    await stopped;
    expect(await idsIn()).toEqual(["review r1"]);
  });
});

describe("a run that nobody serves", () => {
  test("is shown until a worker of its version is there, and says which versions are served", async () => {
    const { client, clock, worker, inbox, idsIn } = setup();
    await worker({ serve: [mail] }).start();
    await client.start(newer, { n: 1 }, { id: "r2" });
    await client.start(mail, { n: 1 }, { id: "r1" });
    await clock.advance(5_000);
    const { items } = await inbox();
    expect(items).toMatchObject([
      { kind: "unserved", id: "r2", version: 2, reason: "unserved", verbs: [], review: null },
    ]);
    expect(items[0]?.message).toContain("no living worker serves mail version 2");
    expect(items[0]?.evidence).toMatchObject({ served: [expect.stringMatching(/^mail@1#/)], status: "running" });
    expect(items[0]?.ageMs).toBeGreaterThanOrEqual(5_000);
    await worker().start();
    expect(await idsIn()).toEqual([]);
  });

  test("is also one whose workers serve other pools", async () => {
    const { client, worker, idsIn } = setup();
    await worker({ pools: ["elsewhere"] }).start();
    await client.start(mail, { n: 1 }, { id: "r1" });
    expect(await idsIn()).toEqual(["unserved r1"]);
  });

  test("is one whose only worker has died", async () => {
    const { client, clock, mortal, idsIn } = setup();
    const { kill } = await mortal();
    await client.start(newer, { n: 1 }, { id: "r2" });
    await clock.advance(1_000);
    expect(await idsIn()).toEqual([]);
    kill();
    await clock.advance(20_000);
    expect(await idsIn()).toEqual(["unserved r2"]);
  });
});

describe("a run that is served is not called unserved", () => {
  test("by one look at a pulse that is back at the next", async () => {
    const { client, clock, store, ports, worker } = setup();
    await worker().start();
    await client.start(newer, { n: 1 }, { id: "r2" });
    await clock.advance(1_000);
    const { owners } = await store.serving();
    let looks = 0;
    const blinking = new Proxy(store, {
      get: (target, name) => {
        if (name === "lostOwners") {
          looks += 1;
          const lost = looks === 1 ? owners.map(({ owner }) => ({ owner, serverId: "s", pulse: "p" })) : [];
          return () => Promise.resolve(lost);
        }
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const options = { namespace: "test", sagas: [mail, newer], maxPayloadBytes: 1_000, maxReplays: 10 };
    const page = connectedClient({ ...ports, store: blinking }, options).inbox();
    await clock.advance(1_000);
    expect((await page).items).toEqual([]);
    expect(looks).toBe(2);
  });

  test("while its worker has its lease, whatever the pulse says", async () => {
    const { client, clock, store, ports, worker } = setup();
    let release: () => void = () => undefined;
    const held = new Promise<null>((resolve) => {
      release = () => resolve(null);
    });
    const slow = step("slow", { input, effect: "none", action: () => held, timeout: "1m" });
    const busy = saga("busy", { version: 1, input })
      .step(slow, ({ input }) => input)
      .build();
    await worker({ serve: [busy] }).start();
    const options = { namespace: "test", sagas: [busy], maxPayloadBytes: 1_000, maxReplays: 10 };
    const starter = connectedClient(ports, options);
    await starter.start(busy, { n: 1 }, { id: "r3" });
    await clock.advance(1_000);
    const { owners } = await store.serving();
    const lost = owners.map(({ owner }) => ({ owner, serverId: "s", pulse: "p" }));
    const deaf = new Proxy(store, {
      get: (target, name) => {
        if (name === "lostOwners") return () => Promise.resolve(lost);
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const look = async () => {
      const page = connectedClient({ ...ports, store: deaf }, options).inbox();
      await clock.advance(1_000);
      return (await page).items.map(({ id }) => id);
    };
    expect(await look()).toEqual([]);
    await client.start(newer, { n: 1 }, { id: "nobody" });
    expect(await look()).toEqual(["nobody"]);
    release();
  });
});

test("pages of both kinds are one list, newest first, and each run is on one of them", async () => {
  const { client, clock, worker, inbox } = setup();
  await worker({ serve: [mail] }).start();
  for (let n = 0; n < 3; n += 1) {
    await client.start(mail, { n: 0 }, { id: `parked-${n}` });
    await client.start(newer, { n: 0 }, { id: `unserved-${n}` });
    await clock.advance(1_000);
  }
  await clock.advance(10_000);
  const shown: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await inbox(cursor === undefined ? { limit: 2 } : { limit: 2, cursor });
    shown.push(...page.items.map(({ id }) => id));
    cursor = page.cursor;
  }
  expect(shown).toEqual(["unserved-2", "parked-2", "unserved-1", "parked-1", "unserved-0", "parked-0"]);
});

test("what makes no sense is refused", async () => {
  const { client } = setup();
  await expect(client.inbox({ limit: 0 })).rejects.toMatchObject({ code: "INPUT_INVALID" });
  await expect(client.inbox({ tenant: "a b" })).rejects.toMatchObject({ code: "ID_INVALID" });
  await expect(client.inbox({ cursor: "garbage" })).rejects.toMatchObject({ code: "CURSOR_INVALID" });
});
