/**
 * What a person may do with a parked run. Invariants: V1 a verb is a compare-and-set on one review: of two people one wins,
 * the other is told who. V2 only the verbs the review names are sent. V3 what a person says happened must be usable: the
 * output fits the step's schema.
 */
import {
  objectionToRaise,
  type Review,
  type Row,
  type RunRecord,
  type RunRef,
  type Shown,
  type Verb,
  type VerbCommand,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { decodeInput, decodeOutput, type Json, type StepSpec } from "../saga/index.ts";
import { checkedJson, checkedReason, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { notFound, sendRequest } from "./send.ts";

/** Who acts, and on which review. */
export interface VerbOptions {
  /** Who decided; it stands in the log. */
  readonly by: string;
  /** The number of the review that was looked at; the open one unless given. */
  readonly review?: number;
  /** The revision that was looked at: refused when the run has moved since. Any unless given. */
  readonly revision?: number;
  /** Makes the request idempotent; a new one unless given. */
  readonly commandId?: string;
}

export type Resolution =
  | {
      readonly as: "happened";
      /** What the action would have returned, as JSON; not asked for where a compensation is resolved. */
      readonly output?: Json;
      /** How the outside calls it: a charge id, a message id. */
      readonly reference?: string;
      /** How it is known. */
      readonly evidence: string;
    }
  | { readonly as: "absent"; readonly reference?: string; readonly evidence: string };

/**
 * The verbs of a parked run. Each throws REVIEW_GONE, REVIEW_TAKEN (naming the winner), VERB_REFUSED (naming the verbs it
 * takes), STALE_REVISION, RUN_NOT_FOUND, and INPUT_INVALID where the reason is empty.
 */
export interface Operator {
  /** Ask the other side now. */
  probe(options: VerbOptions): Promise<void>;
  /** Say what is known to have happened, or not. Throws INPUT_INVALID for an output that does not fit. */
  resolve(resolution: Resolution, options: VerbOptions): Promise<void>;
  /**
   * Try again, with other input where given: the action's own from now on, or what this compensation alone is given. Throws
   * INPUT_INVALID for an input that does not fit.
   */
  retry(options: VerbOptions & { readonly reason: string; readonly input?: Json }): Promise<void>;
  /** Leave this effect as it is and go on with the unwind. */
  skip(options: VerbOptions & { readonly reason: string }): Promise<void>;
  /** Throw away the event that the machine cannot take. */
  discard(options: VerbOptions & { readonly reason: string }): Promise<void>;
  /**
   * Go back to a state tagged `savepoint` (`RunView.savepoints` names those that were entered): what came after it is undone,
   * and the run goes on from there. Refused in the run's log, which is parked again, where a point of no return was passed
   * since or an effect that stays would be made again, unless `despite`.
   */
  rewind(
    options: VerbOptions & { readonly to: string; readonly reason: string; readonly despite?: boolean },
  ): Promise<void>;
  /**
   * Undo the run instead of answering. Where a point of no return was passed it is parked with that question first, and the
   * same verb on that review undoes what can be undone.
   */
  compensate(options: VerbOptions & { readonly reason: string }): Promise<void>;
  /** Give a budget that is used up a new hard limit, and go on. Throws INPUT_INVALID where `to` is no more than is used. */
  raise(
    options: VerbOptions & { readonly budget: string; readonly to: number; readonly reason: string },
  ): Promise<void>;
  /** Give up: what is open stays as it is, on record. */
  close(options: VerbOptions & { readonly reason: string }): Promise<void>;
}

export function operatorOf(connection: Connection, run: RunRef): Operator {
  const act = (verb: VerbCommand, options: VerbOptions) => actOn(connection, run, verb, options);
  return {
    probe: (options) => act({ verb: "probe" }, options),
    resolve: (resolution, options) => act(resolveCommand(resolution), options),
    retry: (options) => act({ verb: "retry", input: options.input, reason: options.reason }, options),
    skip: (options) => act({ verb: "skip", reason: options.reason }, options),
    rewind: ({ to, despite = false, ...options }) =>
      act({ verb: "rewind", to, reason: options.reason, despite }, options),
    discard: (options) => act({ verb: "discard", reason: options.reason }, options),
    compensate: (options) => act({ verb: "compensate", reason: options.reason }, options),
    raise: ({ budget, to, ...options }) => act({ verb: "raise", budget, to, reason: options.reason }, options),
    close: (options) => act({ verb: "close", reason: options.reason }, options),
  };
}

function resolveCommand(resolution: Resolution): VerbCommand {
  const { as, evidence, reference } = resolution;
  const output = resolution.as === "happened" ? (resolution.output ?? null) : null;
  return { verb: "resolve", as, output, reference: reference ?? null, evidence };
}

async function actOn(connection: Connection, run: RunRef, verb: VerbCommand, options: VerbOptions): Promise<void> {
  if ("reason" in verb) checkedReason(verb.reason);
  const store = await connection.store();
  const record = await store.read(run);
  if (record === null) throw notFound(run);
  const { review } = record;
  const n = options.review ?? review?.n;
  if (n === undefined) throw gone(run, null);
  // A review that is over is refused by the store, which knows who was first.
  if (review?.n === n) assertShown(record, options);
  const checked = review?.n === n ? await checkVerb(connection, record, review, verb) : verb;
  const { revision } = options;
  await sendVerb(connection, run, { n, verb: checked, shown: revision === undefined ? {} : { revision } }, options);
}

function assertShown(record: RunRecord, { revision }: VerbOptions): void {
  if (revision === undefined || revision === record.revision) return;
  const message = `run ${record.id} was looked at in revision ${revision} and is at ${record.revision}: look again`;
  throw new RepriseError("STALE_REVISION", message, {
    details: { id: record.id, shown: revision, revision: record.revision },
  });
}

async function checkVerb(
  connection: Connection,
  record: RunRecord,
  review: Review,
  verb: VerbCommand,
): Promise<VerbCommand> {
  const refusal = refusalOf(record, review, verb.verb);
  if (refusal !== null) throw refusal;
  if (verb.verb === "resolve" && verb.as === "happened" && review.side === "action") {
    return { ...verb, output: await checkedPart(connection, record, review, "output", verb.output) };
  }
  if (verb.verb === "raise") {
    const problem = objectionToRaise(record, verb, await connection.storeNow());
    if (problem !== null) throw invalid("INPUT_INVALID", "to", problem);
  }
  if (verb.verb === "retry" && verb.input !== undefined) {
    return { ...verb, input: await checkedPart(connection, record, review, "input", verb.input) };
  }
  return verb;
}

/** What a verb is refused with, as the run stands; `null`: its review takes it. */
export function refusalOf(run: RunRef, review: Review | null, verb: Verb): RepriseError | null {
  if (review === null) return gone(run, null);
  if (review.verbs.includes(verb)) return null;
  const message = `run ${run.id} is parked (${review.reason}) and does not take ${verb}; it takes ${review.verbs.join(", ")}`;
  return new RepriseError("VERB_REFUSED", message, {
    details: { tenant: run.tenant, run: run.id, verb, verbs: review.verbs },
  });
}

async function checkedPart(
  connection: Connection,
  record: RunRecord,
  review: Review,
  part: "input" | "output",
  value: Json,
): Promise<Json> {
  const row = await rowOf(connection, record, review.seq);
  const step: StepSpec | undefined =
    row === null ? undefined : connection.sagaOf(record.saga, record.version).spec.steps[row.step];
  if (step === undefined) return value;
  const { maxPayloadBytes } = connection.options;
  return checkedJson(value, `${part} of ${step.name}`, "INPUT_INVALID", maxPayloadBytes, (json) =>
    part === "input" ? decodeInput(step, json) : decodeOutput(step, json),
  );
}

async function rowOf(connection: Connection, run: RunRef, seq: number | null): Promise<Row | null> {
  if (seq === null) return null;
  const rows = await (await connection.store()).ledger(run);
  return rows[seq - 1] ?? null;
}

/** A verb on the review with that number, and what it was decided on. */
export interface Decision {
  readonly n: number;
  readonly verb: VerbCommand;
  readonly shown: Shown;
}

/** Throws REVIEW_GONE, REVIEW_TAKEN. */
export async function sendVerb(
  connection: Connection,
  run: RunRef,
  { n, verb, shown }: Decision,
  options: Pick<VerbOptions, "by" | "commandId">,
): Promise<void> {
  const commandId = options.commandId ?? connection.ports.ids.next();
  const body = { type: "verb", verb, ...shown } as const;
  const answer = await sendRequest(connection, { run, slot: `review:${n}`, commandId, by: options.by, body });
  if (answer.answer === "GONE") throw gone(run, n);
  if (answer.answer !== "TAKEN") return;
  throw new RepriseError("REVIEW_TAKEN", `${answer.by} has already decided on review ${n} of run ${run.id}`, {
    details: { ...run, review: n, by: answer.by, commandId: answer.commandId },
  });
}

function gone(run: RunRef, review: number | null): RepriseError {
  const which = review === null ? "is not parked" : `has no open review ${review}`;
  const { tenant, id } = run;
  return new RepriseError("REVIEW_GONE", `run ${id} ${which}`, { details: { tenant, id, review } });
}
