/**
 * Making replay plans: what is wished in the caller's words becomes a plan of core's, kept in the store until it is executed
 * (`replay.ts`). Owns what of a wish is refused at once. Invariant: making a plan changes no run.
 */
import { type Judged, planOf, type ReplayPlan, type ReplayWish, type Row, type RunRef } from "../core/index.ts";
import { type Checked, type Duration, decode, decodeInput, type Json } from "../saga/index.ts";
import { checkedDuration, checkedId, checkedJson, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { judgedRun } from "./judged.ts";

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
export async function keep(
  connection: Connection,
  id: string,
  body: object,
  expiresAt: number,
  isBatch = false,
): Promise<void> {
  // Plans and batches are JSON, but for what was left out.
  const json = JSON.parse(JSON.stringify(body)) as Json;
  const { now } = await (await connection.store()).putPlan({ id, body: json, expiresAt, isBatch });
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
