/**
 * Runs as earlier releases left them in Redis load for ever, explain themselves, and go on to their end; and the present format
 * does not change unseen: what is written today has the shape of what is kept (`npm run golden` before a release, a new format
 * after it).
 */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withArtifacts } from "../../src/artifacts/index.ts";
import { foldLog, machinesOf, type RunRecord, type RunRef, type Store } from "../../src/core/index.ts";
import { fileArtifacts } from "../../src/index.ts";
import { withStoreAt } from "../support/agreed.ts";
import { leaveEvidence } from "../support/evidence.ts";
import {
  corpusOf,
  folderOf,
  keptFormats,
  makeCorpus,
  namespace,
  partOf,
  playersAt,
  putBack,
} from "../support/golden.ts";
import { runsIn, shapesOf, withoutActors, writtenAgain } from "../support/golden-texts.ts";
import { owned } from "../support/processes.ts";
import { startRedisServer } from "../support/redis-server.ts";

const { own, release } = owned();
const formats = keptFormats();
const newest = formats.at(-1) ?? 0;
let scratch: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "reprise-golden-"));
});
afterAll(async () => {
  await release();
  await rm(scratch, { recursive: true, force: true });
});

/** A Redis and a directory of artifacts in which the runs of a format lie as they were left. */
async function stage(format: number) {
  const [redis, part] = await Promise.all([startRedisServer(), partOf(format)]);
  own(redis);
  const artifacts = join(scratch, `artifacts-${format}`);
  await cp(`${folderOf(format)}artifacts`, artifacts, { recursive: true });
  const corpus = corpusOf(format);
  await putBack(redis.url, corpus);
  return { redis: redis.url, artifacts, part, corpus };
}

type Stage = Awaited<ReturnType<typeof stage>>;

describe.each(formats)("runs of format %i", (format) => {
  let staged: Stage;
  beforeAll(async () => {
    staged = await stage(format);
  });

  test("R068 load, explain themselves by their log, and go on to their end; nothing they had done is done again", async () => {
    const { redis, artifacts, part, corpus } = staged;
    const runs = runsIn(corpus);
    const before = new Set<string>();
    for (const { run } of runs) {
      const { record, operations } = await look(staged, run);
      expect(record.format).toBe(format);
      for (const operation of operations) before.add(operation);
    }
    const earlier = part.called.length;
    const { client, stop } = await playersAt(redis, artifacts, part.sagas);
    own({ stop });
    own(client);
    expect(await part.finish(client)).toEqual(part.expected);
    await stop();
    for (const { run } of runs) await look(staged, run);
    const calls = part.called.slice(earlier);
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.filter((operation) => before.has(operation))).toEqual([]);
    expect(new Set(calls).size).toBe(calls.length);
    const count = runs.length;
    const checks = [
      `${count} runs of format ${format} loaded, folded and ended as they were to; ${calls.length} new calls`,
    ];
    leaveEvidence("R068", { suite: { name: `format ${format}`, count }, effects: calls.length, checks });
  });

  test("are read and written again as they were, byte for byte", () => {
    for (const kept of runsIn(staged.corpus)) {
      expect(writtenAgain(kept)).toEqual({ ...kept.texts, log: withoutActors(kept.texts.log) });
    }
  });
});

test("what is written today has the shape of what is kept of the newest format", async () => {
  const redis = own(await startRedisServer());
  const part = await partOf(newest);
  const fresh = await makeCorpus(redis.url, join(scratch, "fresh"), part);
  const kept = shapesOf(corpusOf(newest));
  // What is new here is lost on a worker of the last release: before the release `npm run golden`, after it a new format.
  expect([...shapesOf(fresh)].filter((shape) => !kept.has(shape)).sort()).toEqual([]);
});

// ---- one run

/** Reads the run as an engine would, and holds it to its log. */
async function look({ redis, artifacts, part }: Stage, run: RunRef) {
  return await withStoreAt({ redis, shards: 1 }, namespace, async (bare) => {
    const store = withArtifacts(bare, {
      artifacts: fileArtifacts({ dir: artifacts }),
      namespace,
      thresholdBytes: 1_000,
    });
    const record = await recordOf(store, run);
    const [rows, log] = await Promise.all([store.ledger(run), store.log(run)]);
    const machine = machinesOf(part.sagas)(record);
    if (machine === null) throw new Error(`${run.id}: no saga has the structure that it is pinned to`);
    const steps = foldLog(machine, { record, rows }, log);
    expect(steps.filter(({ problem }) => problem !== null)).toEqual([]);
    if (record.snapshot?.status === "active") expect(steps.at(-1)?.snapshot).toEqual(record.snapshot);
    const done = rows.filter(({ call }) => call.state === "succeeded");
    const operations = done.map(({ step, occurrence }) => [namespace, run.tenant, run.id, step, occurrence].join("/"));
    return { record, operations };
  });
}

async function recordOf(store: Store, run: RunRef): Promise<RunRecord> {
  const record = await store.read(run);
  if (record === null) throw new Error(`${run.id} is gone`);
  return record;
}
