/** What the contract suite needs of an adapter, and what its parts share. */
import { expect } from "vitest";
import type { AcquireAnswer, CreateAnswer, LeaseRef, OwnerRef, Store, WakeUp } from "../../../src/core/ports.ts";
import type { RunRecord, RunRef } from "../../../src/core/run/index.ts";
import { aCommit, aCreate, aLease, type CommitPatch, fresh, refOf } from "../../support/records.ts";

/** Store time at which every contract test begins: time stands still there until a test moves it. */
export const epochMs = 4_102_444_800_000;
export const leaseMs = 10_000;

/** An empty store whose time the test moves. */
export interface Bench {
  readonly store: Store;
  advance(ms: number): Promise<void>;
  /** Turns the machine's clock back. */
  turnBack(ms: number): Promise<void>;
  /** Kills the process behind a pulse, or opens one. */
  readonly pulses: { open(): Promise<{ serverId: string; pulse: string }>; kill(pulse: string): Promise<void> };
  /** What another process would be told of lost owners. */
  lostByAnother(): Promise<readonly OwnerRef[]>;
  close(): Promise<void>;
}

export type OpenBench = (options: { readonly shards: number; readonly lanes: number }) => Promise<Bench>;

/** The bench of the running test. */
export interface Current {
  readonly bench: Bench;
  readonly store: Store;
}

export type Acquired = Extract<AcquireAnswer, { readonly answer: "OK" }>;

/** A run of its own, created and answered OK. */
export async function created(store: Store, patch: Partial<RunRecord> = {}): Promise<RunRecord> {
  const command = aCreate({ createdAt: epochMs, ...patch });
  const answer: CreateAnswer = await store.create(command);
  expect(answer.answer).toBe("OK");
  return command.record;
}

/** Acquired by a token of its own. */
export async function acquired(
  store: Store,
  run: RunRef,
  owner = "worker-1",
): Promise<{ readonly lease: LeaseRef; readonly record: RunRecord; readonly answer: Acquired }> {
  const token = fresh("token");
  const answer = await store.acquire({ run: refOf(run), owner, token, leaseMs });
  if (answer.answer !== "OK") throw new Error(`acquire answered ${answer.answer}`);
  return { lease: aLease(run, answer.fence, token, owner), record: answer.record, answer };
}

/** A run of its own, held. */
export async function held(store: Store, patch: Partial<RunRecord> = {}, owner = "worker-1") {
  return await acquired(store, await created(store, patch), owner);
}

/** Commits on `record` and answers the record after it. */
export async function committed(
  store: Store,
  lease: LeaseRef,
  record: RunRecord,
  patch: CommitPatch = {},
): Promise<RunRecord> {
  const commit = aCommit(record, patch);
  const answer = await store.commit({ lease, commit, leaseMs });
  expect(answer.answer).toBe("OK");
  return commit.record;
}

/** A run that has completed and rests. */
export async function ended(store: Store, patch: Partial<RunRecord> = {}): Promise<RunRecord> {
  const { lease, record } = await held(store, patch);
  return await committed(store, lease, record, { record: { status: "completed", endedAt: epochMs }, release: true });
}

/** One sweep of every shard. */
export async function sweep(store: Store, limit = 100): Promise<readonly WakeUp[]> {
  const shards = Array.from({ length: store.shards }, (_, shard) => store.due(shard, limit));
  return (await Promise.all(shards)).flatMap(({ wakeUps }) => wakeUps);
}

export function idsOf(wakeUps: readonly WakeUp[]): readonly string[] {
  return wakeUps.map(({ run }) => run.id);
}
