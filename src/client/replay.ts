/**
 * Executing replay plans. Owns taking a plan, and sending the request it names.
 *
 * Invariants: P1 a plan is executed by one command, and by that one as often as it likes: what was taken and not sent is sent
 * then. P2 what is sent counts for the revision that the plan was made for, and for no other.
 */
import {
  fork,
  type Judged,
  listingsOf,
  momentBefore,
  objectionToPlan,
  type PlanObjection,
  type ReplayPlan,
  type ReplayRequest,
  type ReplayWish,
  type Shown,
  type Taker,
  verbOf,
} from "../core/index.ts";
import { type ErrorCode, RepriseError } from "../errors.ts";
import type { Json } from "../saga/index.ts";
import { checkedReason, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { judgedRun } from "./judged.ts";
import { sendVerb } from "./operator.ts";
import { sendRequest } from "./send.ts";
import { create, startOne } from "./start.ts";

export interface ExecuteOptions {
  readonly by: string;
  readonly reason: string;
  /** Executing again with it changes nothing; a new one unless given. */
  readonly commandId?: string;
  /** Why a plan is executed although it is not safe; it stands in the log with the reason. */
  readonly override?: string;
  /** Only looks if it would be executed: nothing is taken or sent, and what would be refused is refused. */
  readonly dryRun?: boolean;
}

/** What was executed. */
export interface Replayed {
  readonly tenant: string;
  /** The run that goes on: the same one, or the new one. */
  readonly run: string;
  readonly mode: ReplayWish["mode"];
  /** It had been executed by this command before. */
  readonly isRepeated: boolean;
}

/** Throws PLAN_GONE, PLAN_TAKEN, PLAN_REFUSED, STALE_REVISION, INPUT_INVALID, and what its request throws. */
export async function executePlan(connection: Connection, id: string, options: ExecuteOptions): Promise<Replayed> {
  const reason = reasonOf(options);
  const store = await connection.store();
  const kept = await store.getPlan(id);
  if (kept.answer === "ABSENT") throw absent(id);
  const made = planIn(kept.body, id);
  const commandId = options.commandId ?? connection.ports.ids.next();
  const isOurs = kept.taken?.commandId === commandId;
  if (kept.taken !== null && !isOurs) throw taken(id, kept.taken);
  const isFork = made.wish.mode === "fork";
  const judged = await judgedRun(connection, { tenant: made.tenant, id: made.run }, { withLog: isFork });
  const { maxReplays } = connection.options;
  const objection = objectionToPlan(made, judged, { override: options.override !== undefined, maxReplays });
  // What this command has taken may have been sent already, and have moved the run.
  if (objection !== null && !isOurs) throw refused(made, objection);
  const from = { tenant: made.tenant, id: made.run };
  const act = { act: "replay", by: options.by, reason, run: from, about: `plan ${id}` };
  if (options.dryRun) return wouldBe(made, kept.taken);
  const answer = await store.takePlan({ id, by: options.by, commandId, act });
  if (answer.answer === "ABSENT") throw absent(id);
  if (answer.answer === "TAKEN") throw taken(id, answer);
  const run = await send(connection, made, { judged, objection, by: options.by, reason, commandId });
  return { tenant: made.tenant, run, mode: made.wish.mode, isRepeated: answer.answer === "DUP" };
}

function wouldBe({ tenant, run, wish, request }: ReplayPlan, takenBy: Taker | null): Replayed {
  const isNew = request?.type === "start" || request?.type === "fork";
  return { tenant, run: isNew ? request.id : run, mode: wish.mode, isRepeated: takenBy !== null };
}

interface Sending {
  readonly judged: Judged;
  readonly objection: PlanObjection | null;
  readonly by: string;
  readonly reason: string;
  readonly commandId: string;
}

/** Sends what the plan names; answers the id of the run that goes on. */
async function send(connection: Connection, made: ReplayPlan, sending: Sending): Promise<string> {
  const { by, reason, commandId } = sending;
  const { request, tenant, run: id, revision } = made;
  const run = { tenant, id };
  const shown: Shown = { revision, plan: made.id };
  // A plan without a request is objected to, so nobody takes it.
  if (request === null) throw refused(made, { kind: "refused", message: String(made.problem) });
  switch (request.type) {
    case "verb":
      await sendVerb(connection, run, { n: request.review, verb: verbOf(request, reason), shown }, { by, commandId });
      return id;
    case "undo": {
      const body = { type: "undo", reason, despitePivot: request.despitePivot, ...shown } as const;
      // A slot of its own: one that comes too late is refused by the run, and must not stand in anybody's way.
      await sendRequest(connection, { run, slot: `undo:${made.id}`, commandId, by, body });
      return id;
    }
    case "start":
    case "fork":
      await begun(connection, made, { ...sending, request });
      return request.id;
  }
}

interface Beginning extends Sending {
  readonly request: Extract<ReplayRequest, { readonly type: "start" | "fork" }>;
}

/** The new run is there, by this plan: made now, or by an earlier attempt of the same command. */
async function begun(connection: Connection, made: ReplayPlan, beginning: Beginning): Promise<void> {
  const { objection, request } = beginning;
  if (objection === null) await begin(connection, made, beginning);
  const record = await (await connection.store()).read({ tenant: made.tenant, id: request.id });
  if (record?.replayOf?.plan === made.id) return;
  if (objection !== null) throw refused(made, objection);
  throw new RepriseError("RUN_CONFLICT", `there is a run ${request.id} already, and it is none of this plan`, {
    details: { plan: made.id, tenant: made.tenant, id: request.id },
  });
}

async function begin(connection: Connection, made: ReplayPlan, beginning: Beginning): Promise<void> {
  const { judged, by, reason, request, commandId } = beginning;
  const { record } = judged;
  const { id } = request;
  if (request.type === "fork") return await beginFork(connection, made, { ...beginning, ...request });
  const { tenant, run, revision } = made;
  const replayOf = { mode: "new_run", run, revision, plan: made.id, by, reason } as const;
  const wanted = { id, tenant, input: request.input, priority: record.priority };
  const saga = connection.sagaOf(record.saga, record.version);
  await startOne(connection, saga, wanted, { replays: record.replays + 1, replayOf, commandId });
}

async function beginFork(
  connection: Connection,
  made: ReplayPlan,
  { judged, by, reason, commandId, id, seq }: Beginning & { readonly id: string; readonly seq: number },
): Promise<void> {
  const { machine, now } = judged;
  const moment = machine === null ? null : momentBefore(judged, machine, seq);
  // The plan was made anew a moment ago (`objectionToPlan`), and came to the same.
  if (machine === null || moment === null || !moment.ok) throw refused(made, { kind: "moved", message: "it is gone" });
  const { tenant, saga, version } = judged.record;
  await connection.started({ tenant, saga, version }, async (trace) => {
    const first = fork({ judged, machine, moment, id, now, plan: made.id, by, reason, trace });
    await create(connection, { ...first, memberships: listingsOf(first.record), commandId });
  });
}

function reasonOf({ reason, override }: ExecuteOptions): string {
  const why = checkedReason(reason);
  return override === undefined ? why : `${why} (although it is not safe: ${checkedReason(override)})`;
}

function planIn(body: Json, id: string): ReplayPlan {
  // Plans and batches lie in one place; what lies there was put there by `keep`.
  const made = body as unknown as ReplayPlan;
  if (made.wish !== undefined) return made;
  throw invalid("INPUT_INVALID", "plan", `${id} is a batch: execute it as one`);
}

function absent(id: string): RepriseError {
  return new RepriseError("PLAN_GONE", `there is no plan ${id}, or it has expired: make a new one`, {
    details: { plan: id },
  });
}

function taken(id: string, { by, commandId }: Taker): RepriseError {
  return new RepriseError("PLAN_TAKEN", `plan ${id} was executed by ${by}`, { details: { plan: id, by, commandId } });
}

const codes: Readonly<Record<PlanObjection["kind"], ErrorCode>> = {
  expired: "PLAN_GONE",
  moved: "STALE_REVISION",
  refused: "PLAN_REFUSED",
};

function refused({ id, tenant, run, unsafe, problem }: ReplayPlan, { kind, message }: PlanObjection): RepriseError {
  return new RepriseError(codes[kind], `plan ${id} of run ${run} is not executed: ${message}`, {
    details: { plan: id, tenant, run, unsafe, problem },
  });
}
