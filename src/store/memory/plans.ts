/** Plans in memory: the counterpart of the scripts `*_plan`, `note_result` and `*_suspension`. */
import {
  type KeptPlan,
  type ListedBatch,
  type PutPlanCommand,
  type SetSuspensionCommand,
  type Suspension,
  suspensionAfter,
  type TakePlanCommand,
  type Taker,
} from "../../core/index.ts";
import type { Json } from "../../saga/index.ts";
import { lastToExpireFirst } from "../cursor.ts";

interface Plan {
  /** As text: what is handed out may be changed by whoever gets it. */
  readonly body: string;
  readonly expiresAt: number;
  /** Of a batch. */
  readonly batchId: string | null;
  taken: Taker | null;
  readonly results: Map<string, string>;
  suspended: Suspension | null;
}

/** By the name of their place. */
export type Plans = Map<string, Plan>;

export function putPlan(
  plans: Plans,
  member: string,
  { id, body, expiresAt, isBatch = false }: PutPlanCommand,
  now: number,
) {
  if (keptOf(plans, member, now) !== null) return { answer: "EXISTS" } as const;
  plans.set(member, {
    body: JSON.stringify(body),
    expiresAt,
    batchId: isBatch ? id : null,
    taken: null,
    results: new Map(),
    suspended: null,
  });
  return { answer: "OK" } as const;
}

export function listBatches(
  shards: readonly { readonly plans: Plans }[],
  limit: number,
  now: number,
): readonly ListedBatch[] {
  const all = shards.flatMap(({ plans }) => [...plans.values()]).filter(({ expiresAt }) => expiresAt > now);
  const batches = all.flatMap(({ batchId, expiresAt }) => (batchId === null ? [] : [{ id: batchId, expiresAt }]));
  return batches.sort(lastToExpireFirst).slice(0, limit);
}

export function getPlan(
  plans: Plans,
  member: string,
  now: number,
): ({ readonly answer: "OK" } & KeptPlan) | { readonly answer: "ABSENT" } {
  const plan = keptOf(plans, member, now);
  if (plan === null) return { answer: "ABSENT" };
  const results = [...plan.results].map(([item, text]) => [item, JSON.parse(text) as Json] as const);
  const { expiresAt, taken, suspended } = plan;
  // `putPlan` wrote it.
  const body = JSON.parse(plan.body) as Json;
  return { answer: "OK", body, expiresAt, taken, results: Object.fromEntries(results), suspended };
}

export function takePlan(plans: Plans, member: string, { by, commandId }: TakePlanCommand, now: number) {
  const plan = keptOf(plans, member, now);
  if (plan === null) return { answer: "ABSENT" } as const;
  if (plan.taken?.commandId === commandId) return { answer: "DUP" } as const;
  if (plan.taken !== null) return { answer: "TAKEN", ...plan.taken } as const;
  plan.taken = { by, commandId };
  return { answer: "OK" } as const;
}

export function noteResult(
  plans: Plans,
  member: string,
  { item, result }: { readonly item: number; readonly result: Json },
  now: number,
) {
  const plan = keptOf(plans, member, now);
  if (plan === null) return { answer: "ABSENT" } as const;
  if (plan.results.has(String(item))) return { answer: "KNOWN" } as const;
  plan.results.set(String(item), JSON.stringify(result));
  return { answer: "OK" } as const;
}

export function setSuspension(plans: Plans, member: string, { suspended }: SetSuspensionCommand, now: number) {
  const plan = keptOf(plans, member, now);
  if (plan === null) return { answer: "ABSENT" } as const;
  const was = plan.suspended;
  plan.suspended = suspensionAfter(was, suspended === null ? null : { ...suspended, at: now });
  return { answer: "OK", was, suspended: plan.suspended } as const;
}

export function getSuspension(plans: Plans, member: string, now: number) {
  const plan = keptOf(plans, member, now);
  if (plan === null) return { answer: "ABSENT" } as const;
  return { answer: "OK", suspended: plan.suspended } as const;
}

function keptOf(plans: Plans, member: string, now: number): Plan | null {
  const plan = plans.get(member);
  return plan === undefined || plan.expiresAt <= now ? null : plan;
}
