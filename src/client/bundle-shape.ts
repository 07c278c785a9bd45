/**
 * The form of a run bundle, and reading one back. Owns what a bundle must have to be read; what is in a run is core's.
 *
 * Invariant: what cannot be read is refused, saying where; nothing is made up.
 */
import { z } from "zod";
import type { InboxEntry, LogEntry, MachineState, MissingValue, Row, RunRecord, RunRef } from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Json } from "../saga/index.ts";

export const bundleKind = "reprise.run";
export const bundleFormat = 1;

/** A snapshot as of a revision; revisions that changed nothing of it have none of their own. */
export interface BundledSnapshot {
  readonly revision: number;
  readonly snapshot: MachineState | null;
}

/** One run, whole, as one JSON document: what `run.bundle()` exports, and `replayLog` reads. */
export interface RunBundle {
  readonly kind: typeof bundleKind;
  readonly format: typeof bundleFormat;
  /** Version of Reprise that has exported it. */
  readonly reprise: string;
  readonly run: RunRef;
  readonly saga: {
    readonly name: string;
    readonly version: number;
    /** Of the structure that the run is pinned to. */
    readonly hash: string;
    /** That structure and its schemas, as JSON texts; `null`: what is registered is another one. */
    readonly structure: string | null;
    readonly schemas: string | null;
  };
  /** Ids of other runs of the tenant that belong to it. */
  readonly family: {
    readonly parent: string | null;
    readonly children: readonly string[];
    readonly replayOf: string | null;
  };
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  readonly log: readonly LogEntry[];
  readonly inbox: readonly InboxEntry[];
  /** Where the machine stood, oldest first; `null`: whoever exported it had not got the saga. */
  readonly snapshots: readonly BundledSnapshot[] | null;
  /** Paths of what was masked: `record.input.card.token`. With any, digests are left out: what was masked could be guessed by them. */
  readonly masked: readonly string[];
  /** Names whose values were masked beside those of credentials. */
  readonly maskedNames: readonly string[];
  /** Values that are kept outside the store and could not be had; they stand as `null`. The others are in place. */
  readonly missing: readonly MissingValue[];
}

const json = z.json();
const text = z.string();
const whole = z.int().nonnegative();
const state = z.looseObject({ value: json, context: json, status: z.enum(["active", "done", "error"]) }).nullable();

/** What is read of it by whoever folds its log; the rest is as it was. */
const shape = z.looseObject({
  kind: z.literal(bundleKind),
  format: z.literal(bundleFormat),
  reprise: text,
  run: z.object({ tenant: text, id: text }),
  saga: z.object({ name: text, version: whole, hash: text, structure: text.nullable(), schemas: text.nullable() }),
  family: z.object({ parent: text.nullable(), children: z.array(text), replayOf: text.nullable() }),
  record: z.looseObject({
    saga: text,
    version: whole,
    hash: text,
    input: json,
    revision: whole,
    status: text,
    snapshot: state,
  }),
  rows: z.array(
    z.looseObject({
      seq: whole,
      step: text,
      invoke: text,
      input: json,
      output: json,
      told: text.nullable(),
      abandoned: z.boolean(),
    }),
  ),
  log: z.array(
    z.looseObject({
      revision: whole,
      at: z.number(),
      to: text,
      taken: z.array(z.looseObject({ what: text })),
      digest: text,
    }),
  ),
  inbox: z.array(z.looseObject({ slot: text, position: whole })),
  snapshots: z.array(z.object({ revision: whole, snapshot: state })).nullable(),
  masked: z.array(text),
  maskedNames: z.array(text),
  missing: z.array(z.looseObject({ where: text })),
});

/**
 * Reads a bundle that was exported: its text, or what that parses to.
 *
 * @throws RepriseError INPUT_INVALID naming the place that is not as a bundle has it, and a format that is not known here.
 */
export function parseBundle(given: unknown): RunBundle {
  const value = typeof given === "string" ? parsed(given) : given;
  const read = shape.safeParse(value);
  // Checked as far as it is read; a run is what core wrote.
  if (read.success) return read.data as unknown as RunBundle;
  const [issue] = read.error.issues;
  const where = issue === undefined || issue.path.length === 0 ? "the bundle" : `the bundle's ${issue.path.join(".")}`;
  throw refused(`${where}: ${issue?.message ?? "unreadable"}`);
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw refused(`the bundle is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function refused(message: string): RepriseError {
  return new RepriseError("INPUT_INVALID", message);
}
