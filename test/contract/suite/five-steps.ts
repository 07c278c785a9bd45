/** A run of five steps as core writes it, with ids as long as the real ones: for what it weighs in Redis. */
import type { Commit, CreateCommand, LeaseRef, RunRecord, Store } from "../../../src/core/index.ts";
import { aCommit, aCreate, aRow } from "../../support/records.ts";
import { leaseMs } from "./harness.ts";

const owner = "w-0123456789abcdef";
const steps = ["reserveStock", "chargeCard", "bookCarrier", "printLabel", "sendMail"] as const;
const digest = "WmeVYQhWUv_dvhSrXeKlgg";
/** 200 bytes as JSON. */
const result = { id: "res-0123456789", text: "x".repeat(165) };

/** Runs it to its end and answers the record. */
export async function completed(store: Store, id: string): Promise<RunRecord> {
  const { lease, create } = await begun(store, id);
  let record = create.record;
  for (let n = 0; n <= steps.length; n += 1) record = await write(store, lease, stepCommit(record, n));
  return record;
}

/** Lets it wait for a timer after its first step. */
export async function waiting(store: Store, id: string): Promise<RunRecord> {
  const { lease, create } = await begun(store, id);
  const sent = await write(store, lease, stepCommit(create.record, 0));
  const at = create.record.createdAt + 86_400_000;
  const settled = stepCommit(sent, 1);
  const timers = [{ id: "order.shipping", at, event: { type: "xstate.after.86400000.order.shipping" } }];
  const wait = { ...settled.record, status: "waiting", waitingFor: "timer", timers, open: [], rows: 1 } as const;
  const { rows } = settled;
  return await write(
    store,
    lease,
    aCommit(sent, {
      record: wait,
      rows: rows.slice(0, 1),
      taken: settled.log.taken,
      due: at,
      release: true,
      ...ids(9),
    }),
  );
}

async function begun(store: Store, id: string): Promise<{ lease: LeaseRef; create: CreateCommand }> {
  const createdAt = await store.now();
  const input = { id, sku: "SKU-1234", cents: 4_200 };
  const identity = { id, input, inputHash: digest, hash: digest, logDigest: digest, createdAt };
  const create = aCreate(identity, "01J9ZK3V7T8N4Q2R5W6X7Y8Z9A");
  await store.create(create);
  const token = "Tk3V7T8N4Q2R5W6X7Y8Z";
  const answer = await store.acquire({ run: create.record, owner, token, leaseMs });
  if (answer.answer !== "OK") throw new Error(answer.answer);
  return { create, lease: { run: create.record, owner, token, fence: answer.fence } };
}

async function write(store: Store, lease: LeaseRef, commit: Commit): Promise<RunRecord> {
  const { answer } = await store.commit({ lease, commit, leaseMs });
  if (answer !== "OK") throw new Error(answer);
  return commit.record;
}

/** Step n has succeeded and step n + 1 is sent; with the last one the run is completed. */
function stepCommit(before: RunRecord, n: number): Commit {
  const isLast = n === steps.length;
  const rows = [...(n > 0 ? [rowOf(n, before, true)] : []), ...(isLast ? [] : [rowOf(n + 1, before, false)])];
  const outcome = { what: "outcome", seq: n, send: 1, outcome: "succeeded", proof: "answer" } as const;
  const told = { what: "told", seq: n, failure: null } as const;
  const next = { what: "sent", seq: n + 1 } as const;
  const output = Object.fromEntries(
    steps.map((step) => [step, { ...result, id: `${result.id}-${step}`.slice(0, 14) }]),
  );
  const end = { status: "completed", output, endedAt: before.createdAt + 50, open: [] } as const;
  const state = isLast ? { value: "done", context: null, status: "done" as const, output } : stateOf(n);
  return aCommit(before, {
    record: {
      snapshot: state,
      rows: Math.min(n + 1, steps.length),
      open: [n + 1],
      logDigest: digest,
      ...(isLast ? end : {}),
    },
    rows,
    taken: [
      ...(n > 0 ? [outcome] : [{ what: "begun" } as const]),
      ...(n > 0 ? [told] : []),
      isLast ? ({ what: "ended", note: "completed" } as const) : next,
    ],
    release: isLast,
    mustSee: isLast,
    ...ids(n),
  });
}

function ids(n: number) {
  return {
    commitId: `01J9ZK3V7T8N4Q2R5W6X7Y8Z${n}`,
    log: { actor: owner, digest, at: 1_767_225_600_000 + n, fence: 1 },
  };
}

function stateOf(n: number) {
  return { value: steps[n] ?? "", context: null, status: "active" } as const;
}

function rowOf(seq: number, { createdAt, id }: RunRecord, isSettled: boolean) {
  const step = steps[seq - 1] ?? "";
  const times = { firstSentAt: createdAt + seq, firstSentRevision: seq + 1, sentAt: createdAt + seq };
  const sent = { state: "sent", attempt: 1, send: 1, ...times, deadline: createdAt + 93_000 + seq, fence: 1 } as const;
  const settled = { ...sent, state: "succeeded", deadline: null, fence: null, proof: "answer" } as const;
  const said = { step, invoke: `0.order.${step}`, input: { orderId: id, sku: "SKU-1234" } };
  const output = { ...result, id: `${result.id}-${step}`.slice(0, 14) };
  return isSettled ? aRow(seq, settled, { ...said, told: "outcome", output }) : aRow(seq, sent, said);
}
