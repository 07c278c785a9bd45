/**
 * One run, as its caller holds it: nothing is kept here but its name. Owns: waiting for a run, and leaving requests with
 * it.
 */
import {
  type Explanation,
  explain,
  hasEnded,
  type Judged,
  type LogEntry,
  MissingArtifact,
  missingIn,
  type ReplayPlan,
  type RunRecord,
  type RunRef,
  type RunStatus,
  type RunVerdict,
  type Timeline,
  type UnwindPreview,
  unnamed,
  unwindPreview,
  verdictOf,
} from "../core/index.ts";
import { isUnavailable } from "../errors.ts";
import type { Duration, Json, Saga } from "../saga/index.ts";
import { type PendingApproval, pendingIn } from "./approvals.ts";
import { type BundleOptions, bundle } from "./bundle.ts";
import type { RunBundle } from "./bundle-shape.ts";
import { type Cancelled, type CancelOptions, cancel } from "./cancel.ts";
import { checkedDuration, checkedId, checkedPayload, checkedReason, invalid } from "./checks.ts";
import { type Connection, type News, rereadMs } from "./connection.ts";
import { type ApprovalRef, type Decided, type DecideOptions, type DecisionWord, decide } from "./decide.ts";
import { missing, ResultTimeout, RunCancelled, RunFailed, RunNeedsReview } from "./errors.ts";
import { difference, type RunDifference, timeline } from "./history.ts";
import { judgedRun } from "./judged.ts";
import { type Operator, operatorOf } from "./operator.ts";
import { controlRun, type PauseOptions } from "./paused.ts";
import { type PlanOptions, plan } from "./plan.ts";
import { notFound, sendRequest } from "./send.ts";
import { makeToken, type TokenFor, type TokenOptions } from "./tokens.ts";
import { type UndoOptions, undo } from "./undo.ts";
import { type LedgerRow, ledgerRowOf, type RunView, viewOf } from "./view.ts";

/** Payloads by event; of a run whose saga is not known to the compiler, anything. */
export type EventPayloads<Events> = unknown extends Events ? Readonly<Record<string, Json>> : Events;

export interface ResultOptions {
  /** How long to wait; for ever unless given. */
  readonly timeout?: Duration;
  /** `review`: do not reject while the run is parked for a person. */
  readonly through?: "review";
}

export interface SignalOptions {
  /** Sending again with it changes nothing. A new one unless given. */
  readonly id?: string;
  /** Who sends it; `client` unless given. */
  readonly by?: string;
  /** Why, for the audit. */
  readonly reason?: string;
}

/** A run: what it is, what comes of it, and what can be asked of it. */
export interface RunHandle<Output = unknown, Events = unknown> {
  readonly id: string;
  readonly tenant: string;
  /** Its state now. Throws RUN_NOT_FOUND. */
  get(): Promise<RunView>;
  /**
   * Waits for the result. Rejects with `RunFailed`, `RunCancelled`, `RunNeedsReview` (as soon as it is parked, unless
   * `{ through: "review" }`) or `ResultTimeout`; waits through a pause.
   */
  result(options?: ResultOptions): Promise<Output>;
  /** Its state now and after every change that is noticed (some may be skipped), until it has ended. */
  watch(): AsyncIterable<RunView>;
  /** Its history, one entry per revision. */
  log(): Promise<readonly LogEntry[]>;
  /** What it did with its time: attempts, waits, crashes, hand-overs, as far as its log is kept. Throws RUN_NOT_FOUND. */
  timeline(): Promise<Timeline>;
  /**
   * How it stood at two revisions, what differs, and what happened in between. Throws RUN_NOT_FOUND, SAGA_UNKNOWN (its machine is
   * needed), INPUT_INVALID (there is no such revision).
   */
  difference(revisions: { readonly from: number; readonly to: number }): Promise<RunDifference>;
  /** Every external effect it tried to make, with the operation ids. */
  ledger(): Promise<readonly LedgerRow[]>;
  /** What may safely be done with it as it lies there: a judgement of every call, and one of the whole. */
  verdict(): Promise<RunVerdict>;
  /** Where it stopped, what was attempted outside, what may safely be tried again: as data, and as `text`. */
  explain(): Promise<Explanation>;
  /**
   * All of it as one JSON document, to be kept or replayed under other code (`replayLog` of `reprise/testing`): record, ledger, log,
   * inbox, structure. What looks like a credential, by its name or by itself, is masked, and so is what stands under the names of
   * `mask`; `masked` says where. Values kept as artifacts are in place. Throws RUN_NOT_FOUND.
   */
  bundle(options?: BundleOptions): Promise<RunBundle>;
  /**
   * Says what replaying it would do, call by call, and keeps that as a plan for `client.executePlan`; the run is not changed.
   * Throws INPUT_INVALID, ID_INVALID.
   */
  plan(options: PlanOptions): Promise<ReplayPlan>;
  /** What undoing it, or going back to a savepoint, would do, row by row, in that order. Throws SAGA_UNKNOWN, INPUT_INVALID. */
  unwindPreview(options?: { readonly to?: string }): Promise<UnwindPreview>;
  /** Sends an event; kept until a state takes it. Throws EVENT_UNKNOWN, EVENT_INVALID, RUN_ENDED. */
  signal<Name extends keyof EventPayloads<Events> & string>(
    event: Name,
    payload: EventPayloads<Events>[Name],
    options?: SignalOptions,
  ): Promise<"accepted" | "duplicate">;
  /**
   * Asks it to stop, and tells which cancel counts: the first one, until a harder one comes (`stop`, then `kill`); a softer one
   * changes nothing. Throws RUN_ENDED, INPUT_INVALID.
   */
  cancel(options: CancelOptions): Promise<Cancelled>;
  /**
   * Nothing more of it is begun until `resume`: what is out ends and is recorded, timers and events wait. A cancel goes through, and
   * nothing holds up a run that goes back. Runs that it has started go on. Throws RUN_NOT_FOUND, RUN_ENDED, INPUT_INVALID.
   */
  pause(options: PauseOptions): Promise<void>;
  /** It goes on; what fell due meanwhile is done now. Throws RUN_NOT_FOUND, RUN_ENDED, INPUT_INVALID. */
  resume(options: PauseOptions): Promise<void>;
  /**
   * Undoes a run that has completed or failed: it goes back and ends as cancelled, undone. Asked again it changes nothing;
   * `by` is whose request counts. Throws VERB_REFUSED for a run that has not ended or was cancelled, and after a point of no
   * return unless `despitePivot`; INPUT_INVALID where the reason is empty.
   */
  undo(options: UndoOptions): Promise<{ readonly by: string }>;
  /** What it asks people now. Throws RUN_NOT_FOUND. */
  approvals(): Promise<readonly PendingApproval[]>;
  /**
   * Decides on what it asks people, or says something about it. Resolved, it is recorded for good.
   *
   * @throws RepriseError APPROVAL_GONE (it asks nobody any more), APPROVAL_TAKEN (naming who has decided), APPROVAL_STALE (it would
   * be carried out with other arguments than were shown), APPROVAL_FORBIDDEN (an agent, the requester, the wrong role, an answer
   * that is not allowed), INPUT_INVALID (an edit or a form that does not fit), RUN_NOT_FOUND, SAGA_UNKNOWN.
   */
  decide(approval: ApprovalRef, word: DecisionWord, options: DecideOptions): Promise<Decided>;
  /**
   * Makes a link for one person to decide by: a secret that can be used once, until it expires. Only its hash is kept.
   *
   * @throws RepriseError APPROVAL_GONE, APPROVAL_STALE, APPROVAL_FORBIDDEN (this person may not decide), INPUT_INVALID.
   */
  decisionToken(approval: TokenFor, options: TokenOptions): Promise<string>;
  /** The verbs of a parked run. */
  readonly operator: Operator;
}

export class ConnectedRun<Output, Events> implements RunHandle<Output, Events> {
  readonly id: string;
  readonly tenant: string;
  readonly #connection: Connection;
  #saga: Saga | null;

  constructor(connection: Connection, run: RunRef, saga: Saga | null) {
    this.#connection = connection;
    this.tenant = checkedId(run.tenant, "the tenant");
    this.id = checkedId(run.id, "the run id");
    this.#saga = saga;
  }

  get operator(): Operator {
    return operatorOf(this.#connection, this.#ref);
  }

  async get(): Promise<RunView> {
    return viewOf(await this.#read());
  }

  async result(options: ResultOptions = {}): Promise<Output> {
    const { clock } = this.#connection.ports;
    const timeoutMs = options.timeout === undefined ? null : checkedDuration(options.timeout, "timeout");
    const until = timeoutMs === null ? Number.POSITIVE_INFINITY : clock.monotonicMs() + timeoutMs;
    await this.#connection.store();
    const news = await this.#connection.follow(this.#ref, (status) => isSettled(status, options));
    try {
      for (let record = await this.#read(); ; record = (await this.#reread()) ?? record) {
        if (isSettled(record.status, options)) return this.#outcome(record);
        const left = until - clock.monotonicMs();
        if (left <= 0) throw new ResultTimeout(this.#ref, timeoutMs ?? 0, record.status);
        await news.next(Math.min(left, rereadMs));
      }
    } finally {
      news.stop();
    }
  }

  async *watch(): AsyncGenerator<RunView> {
    const first = await this.#read();
    yield viewOf(first);
    if (hasEnded(first.status)) return;
    const news = await this.#connection.follow(this.#ref, () => true);
    try {
      yield* this.#changes(news, first.revision);
    } finally {
      news.stop();
    }
  }

  async log(): Promise<readonly LogEntry[]> {
    const entries = await (await this.#connection.store()).log(this.#ref);
    if (entries.length === 0) throw notFound(this.#ref);
    return entries;
  }

  timeline(): Promise<Timeline> {
    return timeline(this.#connection, this.#ref);
  }

  difference(revisions: { readonly from: number; readonly to: number }): Promise<RunDifference> {
    return difference(this.#connection, this.#ref, revisions);
  }

  async ledger(): Promise<readonly LedgerRow[]> {
    const { namespace } = this.#connection.options;
    const rows = await (await this.#connection.store()).ledger(this.#ref);
    if (rows.length === 0) await this.#read();
    return rows.map((row) => ledgerRowOf(namespace, this.#ref, row));
  }

  async verdict(): Promise<RunVerdict> {
    return verdictOf(await this.#judged());
  }

  async explain(): Promise<Explanation> {
    return explain(await this.#judged());
  }

  bundle(options: BundleOptions = {}): Promise<RunBundle> {
    return bundle(this.#connection, this.#ref, options);
  }

  plan(options: PlanOptions): Promise<ReplayPlan> {
    return plan(this.#connection, this.#ref, options);
  }

  async unwindPreview({ to }: { readonly to?: string } = {}): Promise<UnwindPreview> {
    const judged = await this.#judged();
    const { saga, version, savepoints } = judged.record;
    const savepoint = savepoints.find(({ state }) => state === to);
    if (to !== undefined && savepoint === undefined) throw invalid("INPUT_INVALID", "to", `it has no savepoint ${to}`);
    const preview = unwindPreview(judged, savepoint);
    if (preview === null) throw this.#connection.unknownStructure(saga, version);
    return preview;
  }

  async signal<Name extends keyof EventPayloads<Events> & string>(
    event: Name,
    payload: EventPayloads<Events>[Name],
    options: SignalOptions = {},
  ): Promise<"accepted" | "duplicate"> {
    const send = await this.readied(event, payload, options);
    return await send();
  }

  /** A signal that was checked and not sent yet. */
  async readied<Name extends keyof EventPayloads<Events> & string>(
    event: Name,
    payload: EventPayloads<Events>[Name],
    options: SignalOptions,
  ): Promise<() => Promise<"accepted" | "duplicate">> {
    const id = checkedId(options.id ?? this.#connection.ports.ids.next(), "the event id");
    const checked = await this.#checkedPayload(event, payload);
    const slot = `event:${id}`;
    const reason = options.reason === undefined ? {} : { reason: checkedReason(options.reason) };
    const body = { type: "event", event, payload: checked, ...reason } as const;
    const request = { run: this.#ref, slot, commandId: slot, by: options.by ?? unnamed, body };
    return async () => ((await sendRequest(this.#connection, request)).answer === "OK" ? "accepted" : "duplicate");
  }

  cancel(options: CancelOptions): Promise<Cancelled> {
    return cancel(this.#connection, this.#ref, options);
  }

  pause(options: PauseOptions): Promise<void> {
    return controlRun(this.#connection, this.#ref, "pause", options);
  }

  resume(options: PauseOptions): Promise<void> {
    return controlRun(this.#connection, this.#ref, "resume", options);
  }

  undo(options: UndoOptions): Promise<{ readonly by: string }> {
    return undo(this.#connection, this.#ref, options);
  }

  async approvals(): Promise<readonly PendingApproval[]> {
    const [record, now] = [await this.#read(), await this.#connection.storeNow()];
    return record.asks.length === 0 ? [] : await pendingIn(this.#connection, record, now);
  }

  decide(approval: ApprovalRef, word: DecisionWord, options: DecideOptions): Promise<Decided> {
    return decide(this.#connection, this.#ref, approval, word, options);
  }

  decisionToken(approval: TokenFor, options: TokenOptions): Promise<string> {
    return makeToken(this.#connection, this.#ref, approval, options);
  }

  get #ref(): RunRef {
    return { tenant: this.tenant, id: this.id };
  }

  async #read(): Promise<RunRecord> {
    const record = await (await this.#connection.store()).read(this.#ref);
    if (record === null) throw notFound(this.#ref);
    return record;
  }

  #judged(): Promise<Judged> {
    return judgedRun(this.#connection, this.#ref);
  }

  /** While somebody waits, a store that is away is waited for, too. */
  async #reread(): Promise<RunRecord | null> {
    try {
      return await this.#read();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return null;
    }
  }

  async *#changes(news: News, seen: number): AsyncGenerator<RunView> {
    for (let revision = seen; ; ) {
      const record = await this.#reread();
      if (record !== null && record.revision !== revision) {
        revision = record.revision;
        yield viewOf(record);
        if (hasEnded(record.status)) return;
      }
      await news.next(rereadMs);
    }
  }

  #outcome(record: RunRecord): Output {
    switch (record.status) {
      case "failed":
        throw new RunFailed(this.#ref, record.cause, record.rollback);
      case "cancelled":
        throw new RunCancelled(this.#ref, record.cause, record.rollback);
      case "needs_review":
        throw new RunNeedsReview(this.#ref, record.review);
      case "completed":
      case "running":
      case "waiting":
      case "paused":
      case "unwinding":
        if (record.output instanceof MissingArtifact) throw missing(this.#ref, missingIn(record, []));
        // What a saga results in is typed by its machine; it was checked to be JSON before it was committed.
        return record.output as Output;
    }
  }

  async #checkedPayload(event: string, payload: unknown): Promise<Json> {
    return checkedPayload(await this.#sagaOf(), event, payload, this.#connection.options.maxPayloadBytes);
  }

  async #sagaOf(): Promise<Saga> {
    if (this.#saga !== null) return this.#saga;
    const { saga, version } = await this.#read();
    this.#saga = this.#connection.sagaOf(saga, version);
    return this.#saga;
  }
}

function isSettled(status: RunStatus, { through }: ResultOptions): boolean {
  return hasEnded(status) || (status === "needs_review" && through !== "review");
}
