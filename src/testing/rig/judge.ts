/**
 * What is asked of a run when the faults are over: does the ledger say what the world saw, and was it undone as it should be? Owns
 * the rules, and which declaration of a step is to blame where one is broken. It sees the world's own record and knows nothing of
 * how the run was driven.
 */
import { hasEnded, operationId, type Row, type RunRecord } from "../../core/index.ts";
import type { SagaSpec, StepSpec } from "../../saga/index.ts";
import type { FakeWorld, WorldEntry } from "../fake-world.ts";
import type { Seen } from "./rest.ts";
import type { Doer, Said } from "./watched.ts";

export interface Evidence {
  readonly namespace: string;
  readonly runs: readonly Seen[];
  readonly sagas: readonly SagaSpec[];
  readonly world: FakeWorld;
  readonly probed: readonly Said[];
  /** By call (`usualKey`): effects in a run that nothing befell, where they are more than one. */
  readonly usual?: ReadonlyMap<string, number>;
}

export interface Problem {
  /** What is wrong, in plain words. */
  readonly message: string;
  /** The declaration that does not hold, and what to do; `null`: it is Reprise that does not. */
  readonly blame: string | null;
}

/** A call with everything that the world saw of it. */
interface Witnessed {
  readonly row: Row;
  readonly side: "action" | "undo";
  readonly step: StepSpec;
  readonly ids: readonly string[];
  readonly arrivals: readonly WorldEntry[];
  readonly effects: readonly WorldEntry[];
}

export function judge(evidence: Evidence): readonly Problem[] {
  const lines = attributed(evidence.world.entries());
  return withSagas(evidence).flatMap(([seen, saga]) => {
    const calls = callsOf(evidence, seen, saga, lines);
    return [
      ...openProblems(seen),
      ...calls.flatMap((call) => [...doubleProblems(call, evidence), ...ledgerProblems(call, evidence)]),
      ...undoProblems(seen, calls),
      ...orderProblems(calls),
    ];
  });
}

/** How often each call happened, where nothing befell it. */
export function usualEffects(evidence: Evidence): ReadonlyMap<string, number> {
  const lines = attributed(evidence.world.entries());
  const usual = new Map<string, number>();
  for (const [seen, saga] of withSagas(evidence)) {
    for (const call of callsOf(evidence, seen, saga, lines)) {
      usual.set(usualKey(call), Math.max(call.effects.length, usual.get(usualKey(call)) ?? 0));
    }
  }
  return usual;
}

function usualKey({ row, side }: Pick<Witnessed, "row" | "side">): string {
  return `${row.step} ${side}`;
}

function withSagas({ runs, sagas }: Evidence): readonly (readonly [Seen, SagaSpec])[] {
  return runs.flatMap((seen) => {
    const { record } = seen;
    const saga = sagas.find(({ name, version }) => name === record.saga && version === record.version);
    return saga === undefined ? [] : [[seen, saga] as const];
  });
}

// ---- the rules

function openProblems({ record }: Seen): readonly Problem[] {
  if (!hasEnded(record.status) || record.open.length === 0) return [];
  return [{ message: `run ${record.id} ended ${record.status} with open rows ${record.open.join(", ")}`, blame: null }];
}

/** At most one effect for one call. */
function doubleProblems(call: Witnessed, { probed, usual }: Evidence): readonly Problem[] {
  const { row, side, step, effects } = call;
  const declared = side === "action" ? step.effect : step.compensation?.effect;
  if (declared === "none" && effects.length > 0) {
    const blame = `${nameOf(call)} is declared \`none\`, but changes the world (${placesOf(effects)}): declare what a repeat does`;
    return [{ message: `${nameOf(call)} changed the world`, blame }];
  }
  if (effects.length <= Math.max(1, usual?.get(usualKey(call)) ?? 1)) return [];
  const message = `${nameOf(call)} (row ${row.seq}) happened ${effects.length} times: ${placesOf(effects)}`;
  return [{ message, blame: blameOfDouble(call, declared, probed) }];
}

function blameOfDouble(call: Witnessed, declared: string | undefined, probed: readonly Said[]): string | null {
  const lie = lieAbout(call, probed, "absent");
  if (lie) return `the probe of ${nameOf(call)} answers absent although it happened`;
  const foreign = call.arrivals.find(
    ({ operationId: id }) => !call.ids.some((own) => id === own || id.startsWith(`${own}/`)),
  );
  if (declared === "keyed" && foreign !== undefined) {
    return `${nameOf(call)} is declared \`keyed\`, but asked for ${foreign.service}.${foreign.action} as "${foreign.operationId}": pass its operationId`;
  }
  if (declared === "keyed")
    return `${nameOf(call)} is declared \`keyed\`, but the other side applies one operation id twice: declare it \`once\``;
  if (declared === "idempotent")
    return `${nameOf(call)} is declared \`idempotent\`, but a repeat happens again: declare it \`keyed\` or \`once\``;
  return null;
}

/** What the ledger says of a call is what the world saw. */
function ledgerProblems(call: Witnessed, { probed }: Evidence): readonly Problem[] {
  const { row, side, effects } = call;
  const own = side === "action" ? row.call : row.undo?.call;
  if (own === undefined || own === null || own.effect === "none" || own.proof === "person" || own.proof === "intent")
    return [];
  const isSaid = own.state === "not_applied" || own.state === "withdrawn";
  if (isSaid && effects.length > 0) {
    const blame = lieAbout(call, probed, "absent")
      ? `the probe of ${nameOf(call)} answers absent although it happened`
      : `${nameOf(call)} says that nothing happened (notApplied, fail, or what its errors are taken for) although it did`;
    return [
      { message: `the ledger says that ${nameOf(call)} did not happen, and it did: ${placesOf(effects)}`, blame },
    ];
  }
  if (
    own.state === "succeeded" &&
    own.proof === "probe" &&
    effects.length === 0 &&
    lieAbout(call, probed, "happened")
  ) {
    const blame = `the probe of ${nameOf(call)} answers happened although nothing did`;
    return [{ message: `the ledger says that ${nameOf(call)} happened, and it did not`, blame }];
  }
  return [];
}

/** Compensated is exactly what happened. */
function undoProblems({ record }: Seen, calls: readonly Witnessed[]): readonly Problem[] {
  return calls.flatMap((call) => {
    if (call.side === "undo") return [];
    const { row, step, effects } = call;
    const undo = calls.find((other) => other.row === row && other.side === "undo");
    const undone = undo?.effects.length ?? 0;
    if (undone > 0 && effects.length === 0 && !step.compensateIfUnknown && row.kind !== "child")
      return [{ message: `${row.step} was undone and never happened`, blame: null }];
    const isGone = wentBack(record) && step.compensation !== null && row.kind === "call" && step.effect !== "none";
    const isAccounted = row.undo !== null && row.undo.state !== "not_needed";
    if (isGone && effects.length > 0 && !isAccounted)
      return [{ message: `${row.step} happened, the run went back, and it was not undone`, blame: null }];
    return [];
  });
}

function wentBack({ status, rollback }: RunRecord): boolean {
  return (status === "failed" || status === "cancelled") && rollback === "complete";
}

/** Undone in reverse. Of what went on side by side neither came first. */
function orderProblems(calls: readonly Witnessed[]): readonly Problem[] {
  const pairs = calls.flatMap((call) => {
    const undo = calls.find((other) => other.row === call.row && other.side === "undo");
    const [did, undid] = [call.effects[0]?.n, undo?.effects[0]?.n];
    const isOwn = call.side === "action" && call.row.tool === null && !call.row.abandoned;
    return isOwn && did !== undefined && undid !== undefined ? [{ row: call.row, did, undid }] : [];
  });
  return pairs.flatMap((a) =>
    pairs
      .filter(
        (b) => a.row.region.join() === b.row.region.join() && a.did < b.did && b.did < a.undid && a.undid < b.undid,
      )
      .map((b) => ({ message: `${a.row.step} was undone before ${b.row.step}, which happened after it`, blame: null })),
  );
}

// ---- the witness

type Attributed = WorldEntry & { readonly by: Doer | null };

/** Lines with on whose behalf they came to be: an effect is of whoever asked for it last. */
function attributed(entries: readonly WorldEntry[]): readonly Attributed[] {
  const asked = new Map<string, Doer | null>();
  return entries.flatMap((entry) => {
    const key = `${entry.service} ${entry.action} ${entry.operationId}`;
    if (entry.kind === "query") return [];
    if (entry.kind === "arrival") asked.set(key, (entry.saw as Doer | undefined) ?? null);
    return [{ ...entry, by: asked.get(key) ?? null }];
  });
}

function callsOf(
  { namespace }: Evidence,
  { record, rows }: Seen,
  saga: SagaSpec,
  lines: readonly Attributed[],
): readonly Witnessed[] {
  return rows.flatMap((row) => {
    const step = saga.steps[row.step];
    if (step === undefined) return [];
    return (["action", "undo"] as const).map((side) => {
      const generations = Array.from({ length: row.call.generation }, (_, n) => n + 1);
      const ids = generations.map((generation) =>
        operationId(namespace, record, { ...row, call: { generation } }, side),
      );
      const mine = lines.filter(({ by }) => by !== null && by.side === side && ids.includes(by.operationId));
      const of = (kind: WorldEntry["kind"]) => mine.filter((line) => line.kind === kind);
      return { row, side, step, ids, arrivals: of("arrival"), effects: ownEffects(of("effect"), ids) };
    });
  });
}

/** A call may carry several operations, as a batch does: what counts is how often one of them happened. */
function ownEffects(effects: readonly Attributed[], ids: readonly string[]): readonly Attributed[] {
  const groups = new Map<string, Attributed[]>();
  for (const effect of effects) {
    const item = ids.some((id) => effect.operationId.startsWith(`${id}/`)) ? effect.operationId : "";
    const key = `${effect.service} ${effect.action} ${item}`;
    groups.set(key, [...(groups.get(key) ?? []), effect]);
  }
  return [...groups.values()].toSorted((a, b) => b.length - a.length)[0] ?? [];
}

function lieAbout({ ids, side, effects }: Witnessed, probed: readonly Said[], answer: Said["answer"]): boolean {
  return probed.some(
    (said) =>
      said.answer === answer &&
      said.doer.side === side &&
      ids.includes(said.doer.operationId) &&
      (answer === "absent" ? said.effects > 0 : effects.length === 0),
  );
}

function nameOf({ row, side }: Witnessed): string {
  return side === "action" ? row.step : `the compensation of ${row.step}`;
}

function placesOf(effects: readonly WorldEntry[]): string {
  return effects.map(({ service, action, operationId: id }) => `${service}.${action} as "${id}"`).join(", ");
}
