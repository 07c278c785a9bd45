/**
 * Making and executing replay plans. Owns: what of a wish is refused at once, taking a plan, and sending the request it names.
 *
 * Invariants: P1 making a plan changes no run. P2 a plan is executed by one command, and that one as often as it likes: what
 * was taken and not sent is sent then. P3 what is sent counts for the revision that the plan was made for, and for no other.
 */
import {
  fork,
  type Judged,
  listingsOf,
  momentBefore,
  objectionToPlan,
  type PlanObjection,
  planOf,
  type ReplayPlan,
  type ReplayRequest,
  type ReplayWish,
  type Row,
  type RunRef,
  type Shown,
  type Taker,
  verbOf,
} from "../core/index.ts";
import { type ErrorCode, RepriseError } from "../errors.ts";
import { type Checked, type Duration, decode, decodeInput, type Json } from "../saga/index.ts";
import { checkedDuration, checkedId, checkedJson, checkedReason, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { judgedRun } from "./judged.ts";
import { sendVerb } from "./operator.ts";
import { sendRequest } from "./send.ts";
import { create, startOne } from "./start.ts";

const defaultExpiryMs = 15 * 60_000;
/** The longest a plan may lie there. */
const maxExpiryMs = 30 * 86_400_000;

interface Expiring {
  /** Until when it may be executed; 15 minutes from now unless given, 30 days at most. */
  readonly expiresIn?: Duration;
}

/** What is wanted of a run. */
export type PlanOptions = Expiring &
  (
    | { readonly mode: "resume" }
    | {
        readonly mode: "retry_step";
        readonly step: string;
        /** Which of its rows; the last one unless given. */
        readonly occurrence?: number;
        readonly input?: Json;
      }
    | { readonly mode: "compensate_only"; readonly despitePivot?: boolean }
    | {
        readonly mode: "new_run";
        /** Of the new run; a new one unless given. */
        readonly id?: string;
        readonly input?: Json;
      }
    | {
        /** What had happened before the step is reused; it and what follows are made anew. */
        readonly mode: "fork";
        readonly step: string;
        /** Which of its rows; the last one unless given. */
        readonly occurrence?: number;
        /** Of the new run; a new one unless given. */
        readonly id?: string;
      }
  );

export interface ExecuteOptions {
  readonly by: string;
  readonly reason: string;
  /** Executing again with it changes nothing; a new one unless given. */
  readonly commandId?: string;
  /** Why a plan is executed although it is not safe; it stands in the log with the reason. */
  readonly override?: string;
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

/** Throws RUN_NOT_FOUND, INPUT_INVALID, PAYLOAD_TOO_LARGE, ID_INVALID. */
export async function plan(connection: Connection, run: RunRef, options: PlanOptions): Promise<ReplayPlan> {
  const expiresAt = (await connection.storeNow()) + checkedExpiry(options.expiresIn, defaultExpiryMs);
  return await planRun(connection, run, options, expiresAt);
}

/** The same, with the time at which it expires. */
export async function planRun(
  connection: Connection,
  run: RunRef,
  options: PlanOptions,
  expiresAt: number,
): Promise<ReplayPlan> {
  const judged = await judgedRun(connection, run, { withLog: options.mode === "fork" });
  const wish = wishOf(connection, judged, options);
  const made = planOf({ judged, wish, id: connection.ports.ids.next(), expiresAt });
  await keep(connection, made.id, made, expiresAt);
  return made;
}

/** Keeps something under a new id until it expires. */
export async function keep(connection: Connection, id: string, body: object, expiresAt: number): Promise<void> {
  // Plans and batches are JSON, but for what was left out.
  const json = JSON.parse(JSON.stringify(body)) as Json;
  const { now } = await (await connection.store()).putPlan({ id, body: json, expiresAt });
  connection.heard(now);
}

export function checkedExpiry(expiresIn: Duration | undefined, standardMs: number): number {
  const ms = expiresIn === undefined ? standardMs : checkedDuration(expiresIn, "expiresIn");
  if (ms <= maxExpiryMs) return ms;
  throw invalid("INPUT_INVALID", "expiresIn", "it is 30 days at most");
}

function wishOf(connection: Connection, judged: Judged, options: PlanOptions): ReplayWish {
  const { machine } = judged;
  switch (options.mode) {
    case "resume":
      return { mode: "resume" };
    case "compensate_only":
      return { mode: "compensate_only", despitePivot: options.despitePivot ?? false };
    case "retry_step": {
      const row = rowOf(judged, options.step, options.occurrence);
      const step = machine?.saga.steps[row.step];
      const input = inputOf(connection, options.input, (json) =>
        step === undefined ? unread : decodeInput(step, json),
      );
      return { mode: "retry_step", seq: row.seq, ...input };
    }
    case "fork": {
      const { seq } = rowOf(judged, options.step, options.occurrence);
      return { mode: "fork", id: newId(connection, options.id), seq };
    }
    case "new_run": {
      const id = newId(connection, options.id);
      const schema = machine?.saga.input;
      const input = inputOf(connection, options.input, (json) =>
        schema === undefined ? unread : decode(schema, json),
      );
      return { mode: "new_run", id, ...input };
    }
  }
}

function newId({ ports }: Connection, id: string | undefined): string {
  return checkedId(id ?? ports.ids.next(), "the run id");
}

function rowOf({ rows, record }: Judged, step: string, occurrence: number | undefined): Row {
  const found = rows.findLast(
    (row) => row.step === step && (occurrence === undefined || row.occurrence === occurrence),
  );
  if (found !== undefined) return found;
  const which = occurrence === undefined ? step : `${step}, occurrence ${occurrence}`;
  throw invalid("INPUT_INVALID", "step", `run ${record.id} has no row of ${which}`);
}

/** Nothing is known here that it could be checked by: the plan will say so. */
const unread: Checked<unknown> = { ok: true, value: null };

function inputOf(
  { options }: Connection,
  input: Json | undefined,
  check: (json: Json) => Checked<unknown>,
): { readonly input?: Json } {
  if (input === undefined) return {};
  return { input: checkedJson(input, "input", "INPUT_INVALID", options.maxPayloadBytes, check) };
}

// ---- executing

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
  const answer = await store.takePlan({ id, by: options.by, commandId });
  if (answer.answer === "ABSENT") throw absent(id);
  if (answer.answer === "TAKEN") throw taken(id, answer);
  const run = await send(connection, made, { judged, objection, by: options.by, reason, commandId });
  return { tenant: made.tenant, run, mode: made.wish.mode, isRepeated: answer.answer === "DUP" };
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
  const first = fork({ judged, machine, moment, id, now, plan: made.id, by, reason });
  await create(connection, { ...first, memberships: listingsOf(first.record), commandId });
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
