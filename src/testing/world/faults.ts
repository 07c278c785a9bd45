/**
 * Owns: what can be made to go wrong in the fake world, and which request it goes wrong with.
 * Does not own: carrying it out (fake-world.ts).
 *
 * Invariants
 * 1. One request meets at most one fault: the first that was set and is not used up.
 * 2. A fault is counted when it strikes, never when it merely could have.
 */
import {
  type JsonObject,
  limits,
  readInteger,
  readName,
  readObject,
  readOneOf,
  readText,
  WorldRefusal,
} from "./input.ts";

/** Which requests a fault meets. */
export interface FaultTarget {
  readonly service: string;
  /** Every action of the service, when left out. */
  readonly action?: string;
  /** Of a batch: one that carries it. */
  readonly operationId?: string;
  /** Only requests whose arguments have these values in these fields. */
  readonly args?: Readonly<Record<string, string | number | boolean>>;
  /** The first one it strikes, counting from 1 the requests that meet the rest of the target. 1, when left out. */
  readonly fromArrival?: number;
  /** How often it strikes. Once when left out; `stale-query`: always. */
  readonly times?: number | "always";
}

/** What goes wrong with a call. */
export type CallFault =
  /** Applied, and the answer is withheld until it is released or dropped. */
  | { readonly kind: "apply-then-hang" }
  /** Withheld before anything is applied. Releasing it applies it, even if the caller is long gone. */
  | { readonly kind: "hang-before-apply" }
  | { readonly kind: "apply-then-500" }
  /** Answered 500 at once, and applied `afterMs` later. */
  | { readonly kind: "500-then-apply-later"; readonly afterMs: number }
  | { readonly kind: "reset-before-apply" }
  | { readonly kind: "reset-after-apply" }
  /** Of a batch, the first `applied` items are applied, then it is answered 500. Meets batches only. */
  | { readonly kind: "partial-batch"; readonly applied: number }
  /** Answered 429 with `Retry-After`; nothing is applied. */
  | { readonly kind: "rate-limit"; readonly retryAfterSeconds: number }
  /** A business no: answered with this code and a 4xx (422 when left out); nothing is applied. */
  | { readonly kind: "refuse"; readonly code: string; readonly status?: number; readonly message?: string }
  /** Applied and answered `ms` later. */
  | { readonly kind: "slow"; readonly ms: number }
  /** Applied, and answered 200 with this body instead of the true one. */
  | { readonly kind: "answer-with"; readonly body: JsonObject };

/** What goes wrong with a question. */
export type QueryFault =
  /** Says "not found" of every effect that is younger than `ms`. */
  | { readonly kind: "stale-query"; readonly ms: number }
  | { readonly kind: "failing-query" }
  /** Withheld until it is released or dropped. */
  | { readonly kind: "hanging-query" };

export type FaultKind = CallFault["kind"] | QueryFault["kind"];

/** A fault as it is scripted: what goes wrong, with which requests, how often. */
export type Fault = FaultTarget & (CallFault | QueryFault);

/** A fault that was set. */
export interface ScriptedFault {
  readonly id: string;
  /** How often it has struck so far. */
  readonly hits: number;
  /** Takes it away again. It may be called more than once. */
  remove(): void;
}

export interface FaultReport {
  readonly id: string;
  readonly fault: Fault;
  readonly hits: number;
}

export interface Asked {
  readonly service: string;
  readonly action: string;
  /** One, or those of a batch. */
  readonly operationIds: readonly string[];
  readonly args: JsonObject;
}

interface Entry {
  readonly id: string;
  readonly fault: Fault;
  seen: number;
  hits: number;
}

export class FaultBook {
  readonly #entries = new Map<string, Entry>();
  #added = 0;

  add(fault: Fault): ScriptedFault {
    if (this.#entries.size >= limits.maxFaults) {
      throw new WorldRefusal(429, "too_many_faults", `at most ${limits.maxFaults} faults are kept`);
    }
    this.#added += 1;
    const entry: Entry = { id: `fault_${this.#added}`, fault: readFault(fault), seen: 0, hits: 0 };
    this.#entries.set(entry.id, entry);
    return {
      id: entry.id,
      get hits() {
        return entry.hits;
      },
      remove: () => void this.remove(entry.id),
    };
  }

  /** The fault that this call meets, struck and counted. */
  meetCall(asked: Asked, isBatch: boolean): CallFault | undefined {
    const fault = this.#meet(asked, (each) => !isQueryFault(each) && (isBatch || each.kind !== "partial-batch"));
    return fault === undefined || isQueryFault(fault) ? undefined : fault;
  }

  /** The same for a question; `ageMs` is the age of the effect it is about, if there is one. */
  meetQuery(asked: Asked, ageMs: number | undefined): QueryFault | undefined {
    const fault = this.#meet(asked, (each) => {
      return isQueryFault(each) && (each.kind !== "stale-query" || (ageMs !== undefined && ageMs < each.ms));
    });
    return fault !== undefined && isQueryFault(fault) ? fault : undefined;
  }

  list(): readonly FaultReport[] {
    return [...this.#entries.values()].map(({ id, fault, hits }) => ({ id, fault, hits }));
  }

  remove(id: string): boolean {
    return this.#entries.delete(id);
  }

  clear(): void {
    this.#entries.clear();
  }

  #meet(asked: Asked, concerns: (fault: Fault) => boolean): Fault | undefined {
    let struck: Entry | undefined;
    for (const entry of this.#entries.values()) {
      if (!concerns(entry.fault) || !meets(entry.fault, asked)) continue;
      entry.seen += 1;
      if (struck === undefined && isDue(entry)) struck = entry;
    }
    if (struck !== undefined) struck.hits += 1;
    return struck?.fault;
  }
}

function meets(target: FaultTarget, asked: Asked): boolean {
  return (
    target.service === asked.service &&
    (target.action === undefined || target.action === asked.action) &&
    (target.operationId === undefined || asked.operationIds.includes(target.operationId)) &&
    Object.entries(target.args ?? {}).every(([field, value]) => asked.args[field] === value)
  );
}

function isDue({ fault, seen, hits }: Entry): boolean {
  const times = fault.times ?? (fault.kind === "stale-query" ? "always" : 1);
  return seen >= (fault.fromArrival ?? 1) && (times === "always" || hits < times);
}

function isQueryFault(fault: CallFault | QueryFault): fault is QueryFault {
  return fault.kind === "stale-query" || fault.kind === "failing-query" || fault.kind === "hanging-query";
}

type Reader = (value: unknown, where: string) => unknown;
const wait: Reader = (value, where) => readInteger(value, where, { min: 0, max: limits.maxWaitMs });
const count: Reader = (value, where) => readInteger(value, where, { min: 1, max: Number.MAX_SAFE_INTEGER });
const text: Reader = (value, where) => readText(value, where);
const optional =
  (read: Reader): Reader =>
  (value, where) =>
    value === undefined ? undefined : read(value, where);

/** The fields that each kind has beside its target. */
const fieldsOf: Readonly<Record<FaultKind, Readonly<Record<string, Reader>>>> = {
  "apply-then-hang": {},
  "hang-before-apply": {},
  "apply-then-500": {},
  "500-then-apply-later": { afterMs: wait },
  "reset-before-apply": {},
  "reset-after-apply": {},
  "partial-batch": { applied: (value, where) => readInteger(value, where, { min: 0, max: limits.maxBatchItems }) },
  "rate-limit": { retryAfterSeconds: (value, where) => readInteger(value, where, { min: 0, max: 86_400 }) },
  refuse: {
    code: text,
    status: optional((value, where) => readInteger(value, where, { min: 400, max: 499 })),
    message: optional(text),
  },
  slow: { ms: wait },
  "answer-with": { body: readObject },
  "stale-query": { ms: wait },
  "failing-query": {},
  "hanging-query": {},
};

const targetFields: Readonly<Record<string, Reader>> = {
  service: readName,
  action: optional(readName),
  operationId: optional(text),
  args: optional(readObject),
  fromArrival: optional(count),
  times: optional((value, where) => (value === "always" ? value : count(value, where))),
};

/** Reads a fault from outside, or refuses it with the field that does not fit. */
export function readFault(value: unknown): Fault {
  const given = readObject(value, "a fault");
  const kinds = Object.keys(fieldsOf) as FaultKind[]; // the keys of a record by kind are the kinds
  const kind = readOneOf(given["kind"], "the fault's kind", kinds);
  const readers: Readonly<Record<string, Reader>> = { ...targetFields, ...fieldsOf[kind] };
  const stray = Object.keys(given).find((field) => field !== "kind" && !Object.hasOwn(readers, field));
  if (stray !== undefined) throw new WorldRefusal(400, "bad_request", `a fault "${kind}" has no field "${stray}"`);
  for (const [field, read] of Object.entries(readers)) read(given[field], `the fault's ${field}`);
  return structuredClone(given) as unknown as Fault; // every field was read just above
}
