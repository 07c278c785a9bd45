/**
 * Committed facts and what steps log, as lines of pino. Owns levels and fields. Invariants: G1 every line about a run names it,
 * its saga, and its trace where it has one. G2 no credential reaches a line: neither by its key nor by what it looks like.
 * G3 input, output and context of a run are never logged.
 */
import { createRequire } from "node:module";
import type { Logger, LoggerOptions } from "pino";
import { type CommittedFact, type Fact, type Facts, operationId, type Row, type RunRecord } from "../core/index.ts";
import { redact, redactFields, redactValue } from "../redact.ts";
import type { RunIdentity } from "../saga/index.ts";
import { type Move, movesOf } from "./moves.ts";
import { parseTraceparent } from "./traceparent.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

/** How it is logged. */
export interface LogOptions {
  /** The least that is logged: `"info"` unless given. At `"debug"` every transition and every outcome is. */
  readonly level?: LogLevel;
  /** Lines for a person at a terminal instead of JSON. */
  readonly readable?: boolean;
  /** Where lines go, with the line end; standard error unless given. Must not throw. */
  readonly write?: (line: string) => void;
}

/** One line of a step. */
export interface StepLogLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly run: RunIdentity;
  readonly step: string;
  readonly operationId: string;
  readonly trace: string | null;
}

export interface RunLogger {
  readonly facts: Facts;
  readonly step: (line: StepLogLine) => void;
}

export interface LoggerParts {
  readonly namespace: string;
  /** The trace that is active here and now; `null`: none is. */
  readonly activeTrace: () => string | null;
}

interface FactParts {
  readonly namespace: string;
  readonly isDebugged: boolean;
}

// Loaded when a logger is made: whoever makes none does not wait for it.
const load = createRequire(import.meta.url);

/** Made once for a process. */
export function pinoLogger({ level = "info", readable = false, write }: LogOptions): Logger {
  // What `require` gives is typed by the package.
  const pino = load("pino") as typeof import("pino").pino;
  const out = write ?? ((line: string) => void process.stderr.write(line));
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }), log: masked },
  };
  return pino(options, { write: readable ? (line: string) => out(readableLine(line)) : out });
}

export function runLogger(logger: Logger, parts: LoggerParts): RunLogger {
  const told = { namespace: parts.namespace, isDebugged: logger.isLevelEnabled("debug") };
  return {
    facts: { emit: (fact) => sayFact(logger, told, fact) },
    step: ({ level, message, facts, run, step, operationId: id, trace }) => {
      const about = { run: run.id, tenant: run.tenant, saga: `${run.saga}@${run.version}`, step, operationId: id };
      logger[level](
        { ...ownNames(facts), ...about, ...traceField(parts.activeTrace() ?? traceOf(trace)) },
        redact(message),
      );
    },
  };
}

/** What a line has by itself is said once: a fact of that name gets another one. */
function ownNames(facts: StepLogLine["facts"]): StepLogLine["facts"] {
  if (!("level" in facts || "time" in facts || "msg" in facts)) return facts;
  const { level, time, msg, ...others } = facts;
  return { ...others, ...{ level_: level, time_: time, msg_: msg } };
}

/** Texts are masked, and whatever stands under the name of a credential; what JSON cannot say is left out. */
function masked(fields: Record<string, unknown>): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (!isPlain(value)) return redactFields(fields);
    told[name] = redactValue(name, value);
  }
  return told;
}

/** Is the same in JSON, and holds nothing. */
function isPlain(value: unknown): boolean {
  return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value) || value === null;
}

// ---- what is said of a fact

function sayFact(logger: Logger, parts: FactParts, fact: Fact): void {
  switch (fact.fact) {
    case "committed":
      return sayCommitted(logger, parts, fact);
    case "created":
      return logger.info(about(fact.record), "run started");
    case "existed":
      return logger.debug(
        { run: fact.run.id, tenant: fact.run.tenant, saga: `${fact.saga}@${fact.version}` },
        "run existed",
      );
    case "acquired":
      if (fact.takenFrom === null) return;
      return logger.warn(
        { ...about(fact.record), from: fact.takenFrom.owner, died: fact.takenFrom.died },
        "run taken over",
      );
    case "call":
    case "notified":
      return;
    case "fenced":
    case "stale":
    case "lease_lost":
      return logger.warn({ run: fact.run.id, tenant: fact.run.tenant, why: fact.fact }, "run lost to another worker");
    case "unserved": {
      const { run, saga, version } = fact;
      return logger.warn(
        { run: run.id, tenant: run.tenant, saga: `${saga}@${version}` },
        "no worker here serves the run",
      );
    }
    case "recovered":
      return logger.warn({ owner: fact.owner, runs: fact.runs }, "a worker is gone; its leases are ended");
    case "purged":
      return logger.info({ shard: fact.shard, runs: fact.runs }, "runs deleted whose time was over");
    case "budget":
    case "structure_replaced":
    case "schemas_changed":
    case "saga_paused":
    case "saga_resumed": {
      const { fact: what, ...rest } = fact;
      const { run, ...others } = "run" in rest ? rest : { ...rest, run: null };
      const fields = run === null ? others : { ...others, run: run.id, tenant: run.tenant };
      return logger[what === "budget" || what === "schemas_changed" ? "warn" : "info"](fields, what.replace("_", " "));
    }
    case "trouble":
      return logger.warn({ where: fact.where }, redact(fact.message));
  }
}

function sayCommitted(logger: Logger, { namespace, isDebugged }: FactParts, fact: CommittedFact): void {
  const { record, entry } = fact;
  const { from, to, actor, revision } = entry;
  if (isDebugged) {
    const taken = entry.taken.map(({ what }) => what);
    logger.debug({ ...about(record), revision, from, to, actor, taken }, from === to ? "run moved" : `run ${to}`);
  }
  for (const move of movesOf(fact)) {
    // Most of what there is to tell, and told to those who debug alone.
    if (move.is === "outcome" && move.outcome !== "unknown" && !isDebugged) continue;
    const { level, message, row, fields } = lineOf(move, record);
    if (!logger.isLevelEnabled(level)) continue;
    const told = about(record);
    Object.assign(told, { revision, actor });
    if (row !== null) {
      Object.assign(told, { step: row.step, seq: row.seq, operationId: operationId(namespace, record, row) });
    }
    logger[level](Object.assign(told, fields), message);
  }
}

interface Line {
  readonly level: LogLevel;
  readonly message: string;
  readonly row: Row | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

function lineOf(move: Move, record: RunRecord): Line {
  switch (move.is) {
    case "outcome": {
      const { row, outcome, proof } = move;
      const level = outcome === "unknown" ? "warn" : "debug";
      const { attempt, error } = row.call;
      return { level, message: `outcome ${outcome}`, row, fields: { proof, attempt, code: error?.code ?? null } };
    }
    case "interrupted":
      return { level: "warn", message: "call interrupted", row: move.row, fields: {} };
    case "probed":
      return { level: "info", message: `probe says ${move.answer}`, row: move.row, fields: {} };
    case "reused":
      return { level: "info", message: "outcome of another run reused", row: move.row, fields: {} };
    case "absorbed":
      return { level: "info", message: "repeated tool call absorbed", row: move.row, fields: {} };
    case "undo": {
      const level = move.state === "halted" ? "warn" : move.state === "done" ? "info" : "debug";
      return { level, message: `compensation ${move.state}`, row: move.row, fields: {} };
    }
    case "asked":
      return { level: "info", message: "people are asked", row: move.row, fields: {} };
    case "approval":
      return { level: "info", message: `approval ${move.state}`, row: move.row, fields: { by: move.by } };
    case "verb":
      return { level: "info", message: `verb ${move.verb}`, row: null, fields: { by: move.by, plan: move.plan } };
    case "control":
      return { level: "info", message: `control ${move.control}`, row: null, fields: { by: move.by } };
    case "budget":
      return { level: "debug", message: "budget used", row: null, fields: { budget: move.name, used: move.used } };
    case "migrated":
      return {
        level: "info",
        message: "run migrated",
        row: null,
        fields: { from: move.from, to: move.to, by: move.by },
      };
    case "parked":
      return { level: "warn", message: "run needs a person", row: null, fields: { reason: move.review.reason } };
    case "unparked":
      return { level: "info", message: "run goes on", row: null, fields: { reason: move.review.reason } };
    case "unwinding":
      return { level: "warn", message: "run unwinds", row: null, fields: { cause: move.cause } };
    case "ended": {
      const level = record.status === "completed" ? "info" : "warn";
      const { status, rollback, cause, createdAt, endedAt } = record;
      const fields = { rollback, cause: cause?.kind ?? null, ms: (endedAt ?? createdAt) - createdAt };
      return { level, message: `run ${status}`, row: null, fields };
    }
  }
}

function about({ id, tenant, saga, version, trace }: RunRecord): Readonly<Record<string, unknown>> {
  return { run: id, tenant, saga: `${saga}@${version}`, ...traceField(traceOf(trace)) };
}

function traceOf(trace: string | null): string | null {
  return parseTraceparent(trace)?.traceId ?? null;
}

function traceField(traceId: string | null): Readonly<Record<string, string>> {
  return traceId === null ? {} : { traceId };
}

/** `12:00:00.000 info  run completed  saga=order@1 run=... `. */
function readableLine(json: string): string {
  const { level, time, msg, ...fields } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const told = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  // A terminal obeys control characters; nobody's data may.
  const text = `${String(time).slice(11, 23)} ${String(level).padEnd(5)} ${String(msg)}  ${told.join(" ")}`;
  return `${text.replace(/\p{Cc}/gu, " ")}\n`;
}
