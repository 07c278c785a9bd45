/**
 * Replay plans (design section 8): what replaying a run would do, call by call, said before anybody does it. Owns the modes,
 * when a plan is safe, and when one that was made may not be executed any more. Executing a plan is sending the one request
 * it names: the run's own driver judges that anew, so a plan gives nobody a right that the verbs do not give.
 *
 * Invariants: R1 a plan is of one revision of a run and one structure of its saga, and ends at a time. R2 no request of a
 * plan, safe or not, has a call made again that may have happened and is not safe to repeat. R3 what is not safe says why, in
 * plain words, and what cannot be done has no request.
 */
import { decode, type Json, type SagaSpec } from "../../saga/index.ts";
import { hashOf } from "../digest.ts";
import { operationId } from "../ids.ts";
import type { Machine } from "../machine/port.ts";
import { effectiveClass, hasOutput } from "../rows.ts";
import type { Row, VerbCommand } from "../run/index.ts";
import { hasEnded } from "../run/index.ts";
import { type CallVerdict, type Judged, verdictOf } from "../telling/verdict.ts";
import { objectionToUndo } from "../unwind/undo.ts";
import { unwindPreview } from "../unwind/unwind-preview.ts";
import { pivotIn } from "../unwind/unwind-start.ts";
import { momentBefore, objectionToReuse } from "./fork.ts";
import { planParked } from "./plan-parked.ts";
import type { Proposal, ReplayPlan, ReplayRequest, ReplayWish } from "./words.ts";

export interface PlanInput {
  readonly judged: Judged;
  readonly wish: ReplayWish;
  readonly id: string;
  readonly expiresAt: number;
}

/** Makes a plan; nothing is changed by it. */
export function planOf({ judged, wish, id, expiresAt }: PlanInput): ReplayPlan {
  const { record, now } = judged;
  const proposal = propose(judged, wish);
  return {
    id,
    tenant: record.tenant,
    run: record.id,
    wish,
    verdict: verdictOf(judged).verdict,
    ...proposal,
    safe: proposal.request !== null && proposal.unsafe.length === 0,
    unwind: wish.mode === "compensate_only" ? unwindPreview(judged) : null,
    revision: record.revision,
    hash: record.hash,
    at: now,
    expiresAt,
  };
}

function propose(judged: Judged, wish: ReplayWish): Proposal {
  const { record, machine } = judged;
  if (machine === null) {
    const problem = `the saga is not here: ${record.saga} version ${record.version} with structure ${record.hash}`;
    return { request: null, problem, unsafe: [], calls: verdictOf(judged).calls };
  }
  switch (wish.mode) {
    case "resume":
    case "retry_step":
      return planParked(judged, machine, wish);
    case "compensate_only":
      return planUndo(judged, machine.saga, wish.despitePivot);
    case "new_run":
      return planNewRun(judged, machine.saga, wish);
    case "fork":
      return planFork(judged, machine, wish);
  }
}

// ---- undoing

function planUndo(judged: Judged, saga: SagaSpec, despitePivot: boolean): Proposal {
  const { record, rows } = judged;
  const { review } = record;
  const { calls } = verdictOf(judged);
  const pivot = pivotIn(saga, rows);
  const unsafe = pivot === null ? [] : [`a point of no return was passed (${pivot})`];
  if (review !== null) {
    if (!review.verbs.includes("compensate")) {
      return { request: null, problem: `its review takes ${review.verbs.join(", ")}`, unsafe: [], calls };
    }
    return { request: { type: "verb", review: review.n, verb: "compensate" }, problem: null, unsafe, calls };
  }
  const problem = objectionToUndo(record.status, rows, saga, { reason: "given when it is executed", despitePivot });
  if (problem !== null) return { request: null, problem, unsafe: [], calls };
  return { request: { type: "undo", despitePivot }, problem: null, unsafe, calls };
}

// ---- once more

function planNewRun(judged: Judged, saga: SagaSpec, wish: Extract<ReplayWish, { mode: "new_run" }>): Proposal {
  const { record, rows } = judged;
  const input = wish.input ?? record.input;
  const { calls } = verdictOf(judged);
  const checked = decode(saga.input, input);
  if (!checked.ok) return { request: null, problem: `the input does not fit: ${checked.problem}`, unsafe: [], calls };
  const unsafe = [...mayGoOn(judged), ...standing(rows, saga)];
  return { request: { type: "start", id: wish.id, input }, problem: null, unsafe, calls };
}

function mayGoOn({ record }: Judged): readonly string[] {
  return hasEnded(record.status) ? [] : [`run ${record.id} is ${record.status} and may still go on by itself`];
}

/** Effects of the old run that are there, or may be, and that the new one knows nothing of. */
function standing(rows: readonly Row[], saga: SagaSpec): readonly string[] {
  return rows
    .filter((row) => mayStand(row, saga))
    .map(({ call, step, seq, child }) => {
      if (child !== null)
        return `${step} (row ${seq}) is run ${child.run}, which is ${child.status}: the new run starts another one`;
      const known = hasOutput(call) ? "happened and stands" : "may have happened";
      return `${step} (row ${seq}) ${known}: the new run makes it again`;
    });
}

function mayStand({ call, undo, step }: Row, { steps }: SagaSpec): boolean {
  const spec = steps[step];
  if (spec !== undefined && effectiveClass(call, spec) === "none") return false;
  if (call.firstSentRevision === null) return false;
  return undo?.state !== "done" && call.state !== "not_applied" && call.state !== "withdrawn";
}

// ---- from a step on

function planFork(judged: Judged, machine: Machine, { id, seq }: Extract<ReplayWish, { mode: "fork" }>): Proposal {
  const { record, rows, namespace } = judged;
  const calls = verdictOf(judged).calls.filter(({ side }) => side === "action");
  const cannot = (problem: string): Proposal => ({ request: null, problem, unsafe: [], calls });
  const moment = momentBefore(judged, machine, seq);
  if (!moment.ok) return cannot(moment.problem);
  const { start } = moment;
  const problem = objectionToReuse(judged, moment);
  if (problem !== null) return cannot(problem);
  const isAnew = (of: { readonly seq: number }) => of.seq > start.rows || start.waits.includes(of.seq);
  const told = calls.slice(0, start.rows).map((call): CallVerdict => {
    if (!isAnew(call))
      return { ...call, course: "reuse", reason: `it belongs to run ${record.id} and is not made again` };
    const operation = operationId(namespace, { tenant: record.tenant, id }, { ...call, call: { generation: 1 } });
    return { ...call, course: "call", operationId: operation, reason: "the fork begins here, and makes it anew" };
  });
  const unsafe = [...mayGoOn(judged), ...standing(rows.filter(isAnew), machine.saga)];
  return { request: { type: "fork", id, seq }, problem: null, unsafe, calls: told };
}

// ---- executing

/** What the request says to the run, with the reason of whoever executes it. */
export function verbOf({ verb, input }: Extract<ReplayRequest, { type: "verb" }>, reason: string): VerbCommand {
  switch (verb) {
    case "probe":
      return { verb };
    case "compensate":
      return { verb, reason };
    case "retry":
      return { verb, input, reason };
  }
}

/** Why a plan is not executed. */
export interface PlanObjection {
  /** `moved`: the run, its saga or the time has. `refused`: it was never to be executed, or not by those words. */
  readonly kind: "expired" | "moved" | "refused";
  readonly message: string;
}

interface Execution {
  /** A person says that it is meant although it is not safe. */
  readonly override: boolean;
  /** Plans that may be executed on one run. */
  readonly maxReplays: number;
}

/** Why a plan may not be executed on the run as it lies there now; `null`: nothing is against it. */
export function objectionToPlan(
  plan: ReplayPlan,
  judged: Judged,
  { override, maxReplays }: Execution,
): PlanObjection | null {
  const { record, now } = judged;
  if (now >= plan.expiresAt) return { kind: "expired", message: "it has expired: make a new one" };
  if (record.revision !== plan.revision) {
    const message = `it was made for revision ${plan.revision}, and the run is at ${record.revision}: make a new one`;
    return { kind: "moved", message };
  }
  if (plan.request === null) return { kind: "refused", message: String(plan.problem) };
  if (record.replays >= maxReplays) {
    return { kind: "refused", message: `it was replayed ${record.replays} times, which is the cap` };
  }
  if (!plan.safe && !override) return { kind: "refused", message: `it is not safe: ${plan.unsafe.join("; ")}` };
  return objectionOfTime(plan, planOf({ judged, wish: plan.wish, id: plan.id, expiresAt: plan.expiresAt }));
}

/** Time alone makes a repeat unsafe (a key is forgotten), and a deploy takes a saga away. */
function objectionOfTime(plan: ReplayPlan, now: ReplayPlan): PlanObjection | null {
  if (hashOf(requestJson(plan)) === hashOf(requestJson(now))) return null;
  return {
    kind: "moved",
    message: `it would not do now what it said: ${now.problem ?? "something else would be done"}`,
  };
}

function requestJson({ request }: ReplayPlan): Json {
  // What a plan sends is JSON, but for an input that was left out.
  return JSON.parse(JSON.stringify(request)) as Json;
}
