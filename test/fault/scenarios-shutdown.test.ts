/** SIGTERM at the worst moments: between two jobs, in the middle of failing calls, in the middle of short back-offs. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitFor } from "../support/processes.ts";
import type { Play } from "./scenarios-play.ts";
import { isFull, Scene, type SceneWorker } from "./scenarios-scene.ts";

/** Far less than the 5 s after which a run that was handed out and not taken is looked at again. */
const handOverMs = 2_000;
const graceMs = 10_000;
const rounds = isFull ? 20 : 4;
const atOnce = 2;
let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

describe("a worker process that is told to go", () => {
  test("R013 exactly between two jobs leaves the one it has fetched to another, which has it at once", async () => {
    const waits: number[] = [];
    for (let from = 0; from < rounds; from += atOnce) {
      const batch = Array.from({ length: Math.min(atOnce, rounds - from) }, (_, at) => from + at);
      waits.push(...(await Promise.all(batch.map(oneRound))));
    }
    expect(waits).toHaveLength(rounds);
    for (const waitedMs of waits) expect(waitedMs).toBeLessThan(handOverMs);
  }, 600_000);

  test("R050 while ten calls fail ends with 0 in time, and each failure is recorded or its call taken again", async () => {
    const [play, leaver] = await Promise.all([scene.play("r050"), scene.worker()]);
    await leaver.serve(play.namespace);
    scene.world.fault({ service: "parcel", kind: "hang-before-apply", times: 10 });
    const ids = await play.startMany("parcel", 10);
    const held = () => scene.world.held().filter(({ service }) => service === "parcel");
    await waitFor(() => held().length === 10, { what: "ten calls to be withheld", timeoutMs: 30_000 });
    const ended = endsInGrace(leaver);
    for (const call of held()) call.drop();
    await ended;
    const owner = await (await scene.stayer()).serve(play.namespace);
    const records = await play.restAll(ids);
    expect(records.map(({ status }) => status)).toEqual(ids.map(() => "completed"));
    expect(await play.counts("parcel")).toEqual({ arrivals: 20, effects: 10, queries: 0 });
    const fates = await Promise.all(ids.map((id) => fateOf(play, id, owner)));
    expect(fates).not.toContain(undefined);
    await play.prove("R050", { checks: [`exit 0 in time; ten failures: ${fates.join(", ")}; ten runs completed`] });
  });

  test("R051 while twenty runs wait out a short back-off ends with 0 in time, and they go on elsewhere", async () => {
    const [play, leaver] = await Promise.all([scene.play("r051"), scene.worker()]);
    await leaver.serve(play.namespace);
    const refusing = scene.world.fault({ service: "poll", kind: "reset-before-apply", times: "always" });
    const ids = await play.startMany("poller", 20);
    const everyoneTwice = async () => (await play.counts("poll")).arrivals >= 40;
    await waitFor(everyoneTwice, { what: "every run to be in its back-off", everyMs: 50, timeoutMs: 30_000 });
    const tookMs = await endsInGrace(leaver);
    refusing.remove();
    await (await scene.stayer()).serve(play.namespace);
    const records = await play.restAll(ids);
    expect(records.map(({ status }) => status)).toEqual(ids.map(() => "completed"));
    expect((await play.counts("poll")).effects).toBe(20);
    await play.prove("R051", {
      checks: [`exit 0 after ${Math.round(tookMs)} ms`, "twenty runs in back-off completed"],
    });
  });
});

/** SIGTERM at P12 of some wake-up; resolves with how long the run fetched with it stood still while another served. */
async function oneRound(round: number): Promise<number> {
  const [play, leaver] = await Promise.all([scene.play(`r013-${round}`), scene.worker()]);
  const ids = await play.startMany("errand", 5);
  await leaver.serve(play.namespace, { concurrency: 1, sigtermAtWake: 1 + Math.floor(Math.random() * 3) });
  const p12 = await leaver.hears("p12");
  const owner = await (await scene.stayer()).serve(play.namespace);
  const servedAt = await play.store.now();
  const exit = await leaver.child.exit;
  expect(exit).toEqual({ code: 0, signal: null });
  const [fetched, ...others] = leaver.said("prefetched");
  expect([fetched?.run, others]).toEqual([expect.any(String), []]);
  const records = await play.restAll(ids);
  expect(records.map(({ status }) => status)).toEqual(ids.map(() => "completed"));
  for (const id of ids) expect((await play.rows(id))[0]?.call.attempt).toBe(1);
  expect((await play.counts("errand")).effects).toBe(ids.length);
  expect((await play.client.reviews({ tenant: "t" })).runs).toEqual([]);
  const begun = (await play.log(fetched?.run ?? "")).find(({ actor }) => actor === owner);
  await play.prove("R013", {
    killed: [{ pid: leaver.pid, signal: "SIGTERM" }],
    checks: [
      `told to go at P12 of wake-up ${p12.wake}; ${fetched?.run} was fetched with it and ran elsewhere, attempt 1`,
    ],
  });
  return (begun?.at ?? Number.POSITIVE_INFINITY) - servedAt;
}

/** SIGTERM; it ends by itself with 0, in time. */
async function endsInGrace(worker: SceneWorker): Promise<number> {
  const began = performance.now();
  const exit = await worker.terminate();
  const tookMs = performance.now() - began;
  expect(exit).toEqual({ code: 0, signal: null });
  expect(tookMs).toBeLessThan(graceMs);
  return tookMs;
}

/** What became of a call that failed while its worker was told to go. */
async function fateOf(play: Play, id: string, stayer: string): Promise<"recorded" | "taken again" | undefined> {
  const log = await play.log(id);
  const taken = log.filter(({ actor }) => actor !== stayer).flatMap((entry) => entry.taken);
  if (taken.some((each) => each.what === "outcome" && each.outcome === "unknown")) return "recorded";
  const again = log.flatMap((entry) => entry.taken).some((each) => each.what === "interrupted");
  return again ? "taken again" : undefined;
}
