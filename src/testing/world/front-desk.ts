/**
 * Owns: taking one request: noting it, meeting its fault, and answering as that fault and the service would have it.
 * Does not own: what is set up, held or reported (fake-world.ts).
 */
import type { Later } from "./clock.ts";
import type { Effects, Operation } from "./effects.ts";
import type { Asked, CallFault, FaultBook, QueryFault } from "./faults.ts";
import type { HeldCalls } from "./held-calls.ts";
import { hashOf, type JsonObject, limits, readArgs, readInteger, readName, readText, WorldRefusal } from "./input.ts";
import type { Journal, WorldArrival } from "./journal.ts";
import {
  answer,
  answering,
  foundOrNot,
  refusal,
  reset,
  retryAfter,
  serverError,
  untilGone,
  type WorldReply,
} from "./replies.ts";
import { profileOf, type ServiceProfile } from "./services.ts";

/** Who asks, as far as it says. */
export interface WorldCaller {
  readonly run?: string;
  readonly step?: string;
  readonly pid?: number;
}

export interface WorldQuery extends WorldCaller {
  readonly service: string;
  readonly action: string;
  readonly operationId: string;
  /** How the service behaves: for a service that is neither a usual one nor among the world's options. */
  readonly profile?: ServiceProfile;
}

export interface WorldCall extends WorldQuery {
  readonly args: JsonObject;
}

export interface WorldBatch extends Omit<WorldQuery, "operationId"> {
  readonly items: readonly { readonly operationId: string; readonly args: JsonObject }[];
}

/** Everything the desk works with; the world owns it. */
export interface DeskParts {
  readonly services: ReadonlyMap<string, Partial<ServiceProfile>>;
  readonly witness: ((arrival: WorldArrival) => unknown) | undefined;
  readonly now: () => number;
  readonly later: Later;
  readonly journal: Journal;
  readonly effects: Effects;
  readonly faults: FaultBook;
  readonly held: HeldCalls;
}

interface Given {
  readonly operations: readonly Operation[];
  readonly asked: Asked;
  readonly isBatch: boolean;
}

type Gone = AbortSignal | undefined;

export class FrontDesk {
  readonly #parts: DeskParts;
  #isClosed = false;

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  /** Calls a service. Resolves with what the caller sees; rejects only with `signal`'s reason. */
  call(call: WorldCall, gone?: AbortSignal): Promise<WorldReply> {
    return untilGone(gone, () =>
      this.#receive(() => {
        const operation = this.#operation(call, readArgs(call.args));
        return { operations: [operation], asked: askedBy([operation], operation.arrival.args), isBatch: false };
      }, gone),
    );
  }

  /** Calls a service with several operations in one request: each is an arrival and an effect of its own. */
  batch(batch: WorldBatch, gone?: AbortSignal): Promise<WorldReply> {
    return untilGone(gone, () =>
      this.#receive(() => {
        readInteger(batch.items.length, "the number of items", { min: 1, max: limits.maxBatchItems });
        const operations = batch.items.map(({ operationId, args }) => {
          return this.#operation({ ...batch, operationId }, readArgs(args));
        });
        return { operations, asked: askedBy(operations, {}), isBatch: true };
      }, gone),
    );
  }

  /** Asks a service what became of an operation: `{ found: true, result, undone }` or `{ found: false }`. */
  query(query: WorldQuery, gone?: AbortSignal): Promise<WorldReply> {
    return untilGone(gone, () => answering(() => this.#answerQuery(query, gone)));
  }

  close(): void {
    this.#isClosed = true;
  }

  #receive(read: () => Given, gone: Gone): Promise<WorldReply> {
    return answering(async () => {
      this.#assertOpen();
      const given = read();
      const saw = await this.#witnessed(given);
      this.#assertOpen();
      const fault = this.#parts.faults.meetCall(given.asked, given.isBatch);
      for (const [index, operation] of given.operations.entries()) this.#noteArrival(operation, fault, saw[index]);
      return await this.#carryOut(given, fault, gone);
    });
  }

  #operation(query: WorldQuery, args: JsonObject): Operation {
    const profile = this.#profile(query);
    const { service, action } = query;
    const operationId = readText(query.operationId, "the operation id");
    const { direction } = profile;
    const arrival = { service, action, operationId, args, argsHash: hashOf(args), direction, ...readCaller(query) };
    return { arrival, profile };
  }

  #profile(query: { readonly service: string; readonly action: string; readonly profile?: ServiceProfile }) {
    const service = readName(query.service, "the service");
    const action = readName(query.action, "the action");
    return profileOf({ service, action }, this.#parts.services.get(service), query.profile);
  }

  #witnessed({ operations }: Given): Promise<readonly unknown[]> {
    const witness = this.#parts.witness;
    if (witness === undefined) return Promise.resolve([]);
    return Promise.all(
      operations.map(async ({ arrival }) => {
        try {
          return await witness(arrival);
        } catch (error) {
          return { error: String(error) };
        }
      }),
    );
  }

  #noteArrival(operation: Operation, fault: CallFault | undefined, saw: unknown): void {
    const { arrival, profile } = operation;
    const known = this.#parts.effects.known(operation);
    const isRepeat = known !== undefined && (profile.effect !== "keyed" || known.argsHash === arrival.argsHash);
    this.#parts.journal.append({
      ...arrival,
      kind: "arrival",
      ...(isRepeat ? { deduplicated: true, ref: known.ref } : {}),
      ...(fault === undefined ? {} : { fault: fault.kind }),
      ...(saw === undefined ? {} : { saw }),
    });
  }

  async #carryOut(given: Given, fault: CallFault | undefined, gone: Gone): Promise<WorldReply> {
    const apply = (count?: number) => this.#apply(given, count);
    switch (fault?.kind) {
      case undefined:
        return apply();
      case "apply-then-hang": {
        const reply = apply();
        return (await this.#hold(given, fault.kind, gone)) === "released" ? reply : reset;
      }
      case "hang-before-apply":
        return (await this.#hold(given, fault.kind, gone)) === "released" ? apply() : reset;
      case "apply-then-500":
        apply();
        return serverError;
      case "500-then-apply-later":
        this.#parts.later.after(fault.afterMs, apply);
        return serverError;
      case "reset-before-apply":
        return reset;
      case "reset-after-apply":
        apply();
        return reset;
      case "partial-batch":
        apply(fault.applied);
        return serverError;
      case "rate-limit":
        return { ...refusal(429, "rate_limited", "too many requests"), headers: retryAfter(fault.retryAfterSeconds) };
      case "refuse":
        return refusal(fault.status ?? 422, fault.code, fault.message ?? `refused: ${fault.code}`);
      case "slow":
        return (await this.#parts.later.pause(fault.ms)) ? apply() : reset;
      case "answer-with":
        apply();
        return answer(200, fault.body);
    }
  }

  #apply({ operations, isBatch }: Given, count = operations.length): WorldReply {
    const replies = operations.slice(0, count).map((operation) => {
      const { status, body } = this.#applyOne(operation);
      return { operationId: operation.arrival.operationId, status, body };
    });
    const only = replies[0];
    return isBatch || only === undefined ? answer(200, { results: replies }) : answer(only.status, only.body);
  }

  #applyOne(operation: Operation): { readonly status: number; readonly body: JsonObject } {
    try {
      return { status: 200, body: this.#parts.effects.apply(operation) };
    } catch (error) {
      if (error instanceof WorldRefusal) return refusal(error.status, error.code, error.message);
      throw error;
    }
  }

  #hold({ operations, asked }: Given, fault: CallFault["kind"], gone: Gone) {
    const first = operations[0]?.arrival;
    const { service, action } = asked;
    const operationId = asked.operationIds[0] ?? "";
    const applied = fault === "apply-then-hang";
    return this.#parts.held.hold({ service, action, operationId, fault, applied, ...callerOf(first) }, gone);
  }

  async #answerQuery(query: WorldQuery, gone: Gone): Promise<WorldReply> {
    this.#assertOpen();
    const { arrival, profile } = this.#operation(query, {});
    if (!profile.query) throw new WorldRefusal(405, "not_queryable", `"${arrival.service}" cannot be asked`);
    const applied = this.#parts.effects.find(arrival);
    const ageMs = applied === undefined ? undefined : this.#parts.now() - applied.atMs;
    const fault = this.#parts.faults.meetQuery({ ...query, operationIds: [query.operationId], args: {} }, ageMs);
    const found = applied !== undefined && fault === undefined;
    this.#parts.journal.append({
      ...arrival,
      kind: "query",
      ...(fault === undefined ? {} : { fault: fault.kind }),
      ...(fault === undefined || fault.kind === "stale-query" ? { found } : {}),
    });
    return this.#replyToQuery({ arrival, profile }, fault, gone);
  }

  async #replyToQuery({ arrival }: Operation, fault: QueryFault | undefined, gone: Gone): Promise<WorldReply> {
    switch (fault?.kind) {
      case undefined:
        return foundOrNot(this.#parts.effects.find(arrival));
      case "stale-query":
        return foundOrNot(undefined);
      case "failing-query":
        return serverError;
      case "hanging-query": {
        const { service, action, operationId } = arrival;
        const described = { service, action, operationId, fault: fault.kind, applied: false, ...callerOf(arrival) };
        const end = await this.#parts.held.hold(described, gone);
        return end === "released" ? foundOrNot(this.#parts.effects.find(arrival)) : reset;
      }
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new WorldRefusal(503, "world_closed", "the world is closed");
    this.#parts.journal.assertRoom();
  }
}

/** What faults go by. There is at least one operation, and all of a batch are of one service and action. */
function askedBy(operations: readonly Operation[], args: JsonObject): Asked {
  const { service = "", action = "" } = operations[0]?.arrival ?? {};
  return { service, action, operationIds: operations.map(({ arrival }) => arrival.operationId), args };
}

function readCaller({ run, step, pid }: WorldCaller): WorldCaller {
  return {
    ...(run === undefined ? {} : { run: readText(run, "the run") }),
    ...(step === undefined ? {} : { step: readText(step, "the step") }),
    ...(pid === undefined ? {} : { pid: readInteger(pid, "the worker", { min: 1, max: 2 ** 31 }) }),
  };
}

function callerOf(arrival: WorldCaller | undefined): WorldCaller {
  return arrival === undefined ? {} : readCaller(arrival);
}
