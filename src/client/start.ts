/**
 * Starting runs. Invariants: T1 an id makes a start idempotent: the same saga and input give the same run, anything else is
 * RUN_CONFLICT. T2 nothing is written for an input that does not fit. T3 a run that was accepted is in the store; its
 * wake-up is only a hint.
 */
import { ulid } from "ulid";
import {
  type BeginInput,
  begin,
  type CreateAnswer,
  type CreateCommand,
  listingsOf,
  machineOf,
  structureHashOf,
  turnKeyOf,
  turnOf,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import { type Duration, decode, type Json, type Saga } from "../saga/index.ts";
import { checkedDuration, checkedId, checkedJson, checkedPriority, checkedRunSize, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";

/** The tenant of runs that name none. */
export const defaultTenant = "default";
/** Creates that are sent together. */
const chunkSize = 500;

/** How a run is started. */
export interface StartOptions {
  /** Makes the start idempotent: starting again with it returns the same run. A new ULID unless given. */
  readonly id?: string;
  /** `default` unless given. */
  readonly tenant?: string;
  /** 0 (the default) comes first; of the others the smaller number. */
  readonly priority?: number;
  /** Start so much later: `"10m"`, or ms. */
  readonly delay?: Duration;
  /** Start not before then (ms since 1970, or a Date), by the store's clock. */
  readonly startAt?: number | Date;
}

/** One run of a `startMany`. */
export interface ManyStart<Input> extends StartOptions {
  readonly input: Input;
}

/** What became of one start. */
export interface Started {
  readonly tenant: string;
  readonly id: string;
  /** `created`, `existed` (same id, saga and input), or `conflict` (same id, another saga or input). */
  readonly outcome: "created" | "existed" | "conflict" | "gone";
}

export interface Wanted extends StartOptions {
  readonly input: unknown;
}

/** What a run is told of the one that it replays. */
interface Replay extends Pick<BeginInput, "replays" | "replayOf" | "trace"> {
  readonly commandId?: string;
}

/** Starts one run. Throws RUN_CONFLICT beside what `checked` throws. */
export async function startOne(
  connection: Connection,
  saga: Saga,
  wanted: Wanted,
  replay: Replay = {},
): Promise<Started> {
  const start = checked(connection, saga, wanted, await connection.storeNow());
  return await connection.started(
    { tenant: start.tenant, saga: saga.name, version: saga.version },
    async (trace) => await create(connection, commandOf(connection, saga, start, { ...replay, trace })),
  );
}

/** Sends the command and wakes the new run. Throws RUN_CONFLICT. */
export async function create(connection: Connection, command: CreateCommand): Promise<Started> {
  const answer = await (await connection.store()).create(command);
  connection.heard(answer.now);
  if (answer.answer === "CONFLICT") throw conflict(command, answer);
  if (answer.answer === "GONE") throw gone(command, answer);
  tellStarted(connection, command, answer);
  if (answer.answer === "OK") {
    await standInLine(connection, command, answer.now);
    await connection.wake([answer.wake]);
  }
  return startedOf(command, answer);
}

function tellStarted(
  { ports: { facts } }: Connection,
  { record, log: entry }: CreateCommand,
  answer: CreateAnswer,
): void {
  const { tenant, id, saga, version } = record;
  const run = { tenant, id };
  if (answer.answer === "OK") facts.emit({ fact: "created", run, record, entry });
  if (answer.answer === "EXISTS") facts.emit({ fact: "existed", run, saga, version });
}

/**
 * A run that takes turns has its place from when its start returns: none that is started after that comes before it. If this is
 * lost the run itself asks, when it is first driven.
 */
async function standInLine(connection: Connection, { record }: CreateCommand, startedAt: number): Promise<void> {
  const { tenant, saga, id: run, limit: turns, startAt, revision: asked } = record;
  if (turns === null || startAt > startedAt) return;
  const { key, limit } = turns;
  try {
    await (await connection.store()).askTurn({ turn: turnOf(tenant, saga, key), run, startedAt, limit, asked });
  } catch (error) {
    connection.trouble("turn", error);
  }
}

/** Starts many runs, in chunks; nothing is written unless every input fits. One chunk is made while another is written. */
export async function startAll(
  connection: Connection,
  saga: Saga,
  wanted: readonly Wanted[],
): Promise<readonly Started[]> {
  const store = await connection.store();
  const now = await connection.storeNow();
  const starts = wanted.map((each) => checked(connection, saga, each, now));
  const chunkAt = (from: number) =>
    Promise.all(starts.slice(from, from + chunkSize).map((start) => tracedCommand(connection, saga, start)));
  const started: Started[] = [];
  let waking: Promise<void> = Promise.resolve();
  let chunk = await chunkAt(0);
  for (let from = 0; chunk.length > 0; from += chunkSize) {
    const answering = store.createMany(chunk);
    const next = await chunkAt(from + chunkSize);
    const answers = await answering;
    await waking;
    await Promise.all(
      chunk.map(async (command, at) => {
        const answer = answers[at];
        if (answer?.answer === "OK") await standInLine(connection, command, answer.now);
      }),
    );
    waking = connection.wake(answers.map((answer) => (answer.answer === "OK" ? answer.wake : null)));
    for (const [at, command] of chunk.entries()) {
      const answer = answers[at];
      if (answer === undefined) continue;
      tellStarted(connection, command, answer);
      started.push(startedOf(command, answer));
    }
    chunk = next;
  }
  await waking;
  return started;
}

/** A start that may be written. */
type Start = Pick<BeginInput, "tenant" | "id" | "input" | "priority" | "now" | "startAt">;

/** Throws ID_INVALID, INPUT_INVALID, PAYLOAD_TOO_LARGE. */
function checked(connection: Connection, saga: Saga, wanted: Wanted, now: number): Start {
  const { ids } = connection.ports;
  return {
    tenant: checkedId(wanted.tenant ?? defaultTenant, "the tenant"),
    id: wanted.id === undefined ? ulid(now, () => ids.random()) : checkedId(wanted.id, "the run id"),
    input: checkedInput(connection, saga, wanted.input),
    priority: checkedPriority(wanted.priority ?? 0),
    now,
    startAt: startAtOf(wanted, now),
  };
}

/** Throws INPUT_INVALID, PAYLOAD_TOO_LARGE. */
export function checkedInput(connection: Connection, saga: Saga, given: unknown): Json {
  const { maxPayloadBytes, maxRunBytes = Number.POSITIVE_INFINITY } = connection.options;
  const { spec } = saga;
  const input: Json = checkedJson(given, `input of ${saga.name}`, "INPUT_INVALID", maxPayloadBytes, (json) =>
    decode(spec.input, json),
  );
  checkedRunSize(input, `input of ${saga.name}`, maxRunBytes);
  const turns = turnKeyOf(spec, input);
  if (!turns.ok) throw invalid("INPUT_INVALID", `input of ${saga.name}`, turns.problem);
  return input;
}

function tracedCommand(connection: Connection, saga: Saga, start: Start): CreateCommand | Promise<CreateCommand> {
  if (connection.ports.tracing === undefined) return commandOf(connection, saga, start);
  const run = { tenant: start.tenant, saga: saga.name, version: saga.version };
  return connection.started(run, async (trace) => commandOf(connection, saga, start, { trace }));
}

function commandOf(
  connection: Connection,
  saga: Saga,
  start: Start,
  { commandId = connection.ports.ids.next(), ...replay }: Replay = {},
): CreateCommand {
  const first = begin({ ...start, ...replay, machine: machineOf(saga.spec), hash: structureHashOf(saga) });
  return { ...first, memberships: listingsOf(first.record), commandId };
}

function startAtOf({ delay, startAt }: StartOptions, now: number): number {
  if (delay !== undefined && startAt !== undefined)
    throw invalid("INPUT_INVALID", "delay", "give delay or startAt, not both");
  if (delay !== undefined) return now + checkedDuration(delay, "delay");
  if (startAt === undefined) return now;
  const at = startAt instanceof Date ? startAt.getTime() : startAt;
  if (Number.isFinite(at) && at >= 0) return Math.max(now, Math.ceil(at));
  throw invalid("INPUT_INVALID", "startAt", "it is a Date or a number of ms since 1970");
}

function startedOf({ record: { tenant, id } }: CreateCommand, answer: CreateAnswer): Started {
  switch (answer.answer) {
    case "OK":
      return { tenant, id, outcome: "created" };
    case "EXISTS":
      return { tenant, id, outcome: "existed" };
    case "CONFLICT":
      return { tenant, id, outcome: "conflict" };
    case "GONE":
      return { tenant, id, outcome: "gone" };
  }
}

function conflict({ record }: CreateCommand, known: Extract<CreateAnswer, { answer: "CONFLICT" }>): RepriseError {
  const differs = known.saga === record.saga ? "another input" : `the saga ${known.saga}`;
  return new RepriseError("RUN_CONFLICT", `there is a run ${record.id} already, with ${differs}; choose another id`, {
    details: { tenant: record.tenant, id: record.id, saga: known.saga },
  });
}

/** A run of that id made calls under ids that one more would make again: the other side could not tell them apart. */
function gone({ record }: CreateCommand, { freeAt }: Extract<CreateAnswer, { answer: "GONE" }>): RepriseError {
  const until = freeAt === null ? "is not free again" : `is not free before ${new Date(freeAt).toISOString()}`;
  return new RepriseError(
    "RUN_GONE",
    `a run ${record.id} has ended and was deleted when its retention was over; its id ${until}: choose another one`,
    { details: { tenant: record.tenant, id: record.id, freeAt } },
  );
}
