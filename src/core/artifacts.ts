/**
 * Values of a run that are kept outside the store, by the hash of their content. Owns which values those can be, the port
 * to where they are kept, and the words for one that is missing. How a value gets there and back is `artifacts/`'s, what
 * becomes of a run that misses one is `hold.ts`'s.
 *
 * Invariant: A1 what stands in the place of a missing value says which one it was, and is written back as that.
 */
import type { Json } from "../saga/index.ts";
import type { MachineState } from "./machine/port.ts";
import type { Call, MissingValue, Row, RunRecord, Undo } from "./run/index.ts";

/** Where one value is kept. No two tenants and no two namespaces share one. */
export interface ArtifactKey {
  readonly namespace: string;
  readonly tenant: string;
  /** SHA-256 of the content, in hex. */
  readonly hash: string;
}

/**
 * Keeps large values of runs beside Redis. `fileArtifacts` and `s3Artifacts` are two; bring your own with these two methods.
 * Both throw ARTIFACTS_UNAVAILABLE when nobody can say, which is tried again.
 */
export interface Artifacts {
  /** Resolves when the content is kept for good. Putting it again is harmless, and mends what was damaged. */
  put(key: ArtifactKey, content: Uint8Array): Promise<void>;
  /** `null`: it is known not to be there. What comes is checked against the hash by whoever asks. */
  get(key: ArtifactKey): Promise<Uint8Array | null>;
}

/** Stands where a value should be. As JSON it is the reference to what is missing of it. */
export class MissingArtifact {
  readonly [name: string]: Json;
  readonly $artifact: string;
  readonly bytes: number;
  readonly #why: MissingValue["why"];
  readonly #stored: Json;

  /** `stored`: what stands in the store, where it shall stand again. */
  constructor({ hash, bytes, why }: Omit<MissingValue, "where">, stored: Json) {
    this.$artifact = hash;
    this.bytes = bytes;
    this.#why = why;
    this.#stored = stored;
  }

  get why(): MissingValue["why"] {
    return this.#why;
  }

  get stored(): Json {
    return this.#stored;
  }
}

// ---- the values

/** A place that may hold a large value: a part of the run, or of one of its rows. */
export interface ValuePlace {
  readonly part: string;
  readonly row: Row | null;
}
/** What stands in a place from now on. */
export type ReplaceValue = (value: Json, place: ValuePlace) => Json;

/** The record with its values replaced; the same record where none changes. */
export function withRecordValues(record: RunRecord, replace: ReplaceValue): RunRecord {
  const input = replace(record.input, { part: "input", row: null });
  const output = replace(record.output, { part: "output", row: null });
  const snapshot = record.snapshot === null ? null : withStateValues(record.snapshot, replace);
  if (input === record.input && output === record.output && snapshot === record.snapshot) return record;
  return { ...record, input, output, snapshot };
}

function withStateValues(state: MachineState, replace: ReplaceValue): MachineState {
  const context = replace(state.context, { part: "machine context", row: null });
  const output = state.output === undefined ? undefined : replace(state.output, { part: "output", row: null });
  if (context === state.context && output === state.output) return state;
  return output === undefined ? { ...state, context } : { ...state, context, output };
}

/** The row with its values replaced; the same row where none changes. */
export function withRowValues(row: Row, replace: ReplaceValue): Row {
  const input = replace(row.input, { part: "input", row });
  const output = replace(row.output, { part: "output", row });
  const progress = replace(row.progress, { part: "progress", row });
  const call = withEvidence(row.call, (value) => replace(value, { part: "evidence", row }));
  const undo = row.undo === null ? null : withUndoValues(row.undo, row, replace);
  const isSame =
    input === row.input && output === row.output && progress === row.progress && call === row.call && undo === row.undo;
  return isSame ? row : { ...row, input, output, progress, call, undo };
}

function withUndoValues(undo: Undo, row: Row, replace: ReplaceValue): Undo {
  const input = undo.input === undefined ? undefined : replace(undo.input, { part: "compensation's input", row });
  const call =
    undo.call === null
      ? null
      : withEvidence(undo.call, (value) => replace(value, { part: "compensation's evidence", row }));
  if (input === undo.input && call === undo.call) return undo;
  return input === undefined ? { ...undo, call } : { ...undo, call, input };
}

function withEvidence(call: Call, replace: (value: Json) => Json): Call {
  const evidence = replace(call.evidence);
  return evidence === call.evidence ? call : { ...call, evidence };
}

/** The values of a run that are missing, each named. */
export function missingIn(record: RunRecord | null, rows: readonly Row[]): readonly MissingValue[] {
  const missing: MissingValue[] = [];
  const look: ReplaceValue = (value, { part, row }) => {
    if (!(value instanceof MissingArtifact)) return value;
    const where = row === null ? `the ${part} of the run` : `the ${part} of ${row.step} (row ${row.seq})`;
    // An ended machine's output is the run's: it is named once.
    if (!missing.some((known) => known.where === where)) {
      missing.push({ where, hash: value.$artifact, bytes: value.bytes, why: value.why });
    }
    return value;
  };
  if (record !== null) withRecordValues(record, look);
  for (const row of rows) withRowValues(row, look);
  return missing;
}

const whyInWords: Readonly<Record<MissingValue["why"], string>> = {
  gone: "is not in the artifact store",
  damaged: "is in the artifact store, but is not what was put there",
  no_store: "is in an artifact store, and this process was given none",
};

/** One missing value in plain words. */
export function missingInWords({ where, hash, bytes, why }: MissingValue): string {
  return `${where} (${bytes} bytes, sha-256 ${hash}) ${whyInWords[why]}`;
}

/** How many missing values a message names one by one. */
const maxNamed = 3;

/** What is missing, in plain words. */
export function summaryOf(missing: readonly MissingValue[]): string {
  const named = missing.slice(0, maxNamed).map(missingInWords).join("; ");
  return missing.length <= maxNamed ? named : `${named}; and ${missing.length - maxNamed} more`;
}
