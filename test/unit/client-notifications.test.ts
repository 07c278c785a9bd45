/** Reading what a hook is to be told: in order, each until the next one is asked for, one reader at a time. */
import { expect, test } from "vitest";
import { connectedClient } from "../../src/client/index.ts";
import { noticeIn } from "../../src/core/index.ts";
import { aCommit, aCreate, aLease, fresh } from "../support/records.ts";
import { benchTop } from "./engine/bench-top.ts";

const textOf = (run: string, revision: number) =>
  `${String(revision).padStart(10, "0")} ${JSON.stringify({ tenant: "default", run, revision })}`;

function setup() {
  const { ports, store, clock } = benchTop([]);
  const client = connectedClient(ports, { namespace: "ns", sagas: [], maxPayloadBytes: 1_000, maxReplays: 1 });
  /** A commit of a run that owes these. */
  const owe = async (...texts: readonly string[]): Promise<void> => {
    const { record, ...rest } = aCreate({ id: noticeIn(texts[0] ?? "").run });
    await store.create({ record, ...rest });
    const token = fresh("token");
    const answer = await store.acquire({ run: record, owner: "w", token, leaseMs: 10_000 });
    if (answer.answer !== "OK") throw new Error(answer.answer);
    const lease = aLease(record, answer.fence, token, "w");
    const notices = texts.map((text) => ({ hook: "desk", text }));
    await store.commit({ lease, commit: aCommit(answer.record), leaseMs: 10_000, notices });
  };
  const owed = async () => (await client.notifications.owed({ hook: "desk" })).runs.map(({ id, owed: n }) => [id, n]);
  return { client, clock, owe, owed };
}

test("they come in the order of each run, and each is owed until the next one is asked for", async () => {
  const { client, owe, owed } = setup();
  await owe(textOf("a", 2), textOf("a", 3));
  await owe(textOf("b", 2));
  const read = client.notifications.read("desk");
  expect((await read.next()).value).toMatchObject({ hook: "desk", id: "ns/default/a/2", run: "a", revision: 2 });
  expect(await owed()).toEqual(expect.arrayContaining([["ns/default/a/2", 2]]));
  expect((await read.next()).value).toMatchObject({ id: "ns/default/a/3" });
  expect((await read.next()).value).toMatchObject({ id: "ns/default/b/2" });
  // The loop is left while it is at work on this one.
  await read.return?.();
  expect(await owed()).toEqual([["ns/default/b/2", 1]]);
  const again = client.notifications.read("desk");
  expect((await again.next()).value).toMatchObject({ id: "ns/default/b/2" });
  await again.return?.();
});

test("one reads at a time, the other when it has left or is gone for half a minute; a signal ends the wait", async () => {
  const { client, clock, owe } = setup();
  await owe(textOf("a", 2));
  const first = client.notifications.read("desk");
  await first.next();
  const abort = new AbortController();
  const second = client.notifications.read("desk", { signal: abort.signal });
  let came: unknown = "nothing";
  const waiting = second.next().then(({ value, done }) => {
    came = done === true ? "the end" : value;
  });
  await clock.advance(20_000);
  expect(came).toBe("nothing");
  await clock.advance(15_000);
  expect(came).toMatchObject({ id: "ns/default/a/2" });
  await waiting;
  const last = second.next().then(({ done }) => done);
  await clock.advance(1_000);
  abort.abort();
  expect(await last).toBe(true);
});
