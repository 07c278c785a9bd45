/**
 * The stored form of a run record. What the run hash keeps in fields of their own for the scripts (revision, status,
 * pool, priority), and what the key says (tenant, id), is not in the text. An ended run's output may be a second line: the
 * parts of it that the ledger holds anyway are references to rows there (`lua/shared.output.lua`).
 */

import { hasEnded, type MachineState, type RunRecord, type RunRef } from "../../core/index.ts";
import type { Json } from "../../saga/index.ts";
import { memberOf } from "../keys.ts";
import { decoded, emptyList, emptyMap, no, nothing, one, shapeOf, zero } from "./shape.ts";
import { statusLetters } from "./words.ts";

/** A run record's text and the fields of its run hash; a field with its usual value is left out. */
export interface StoredRecord {
  readonly text: string;
  readonly revision: number;
  /** Letter of the status. */
  readonly status: string;
  /** `null`: `default`. */
  readonly pool: string | null;
  /** `null`: 0. */
  readonly priority: number | null;
}

/** What is written: `outputs` (name, value, name, value ...; JSON) is left out of the text for the script to place. */
export interface EncodedRecord extends StoredRecord {
  readonly outputs: readonly string[];
}

type Told = Omit<RunRecord, "tenant" | "id" | "revision" | "status" | "pool" | "priority">;

const machineState = shapeOf<MachineState>({
  value: { short: "v" },
  context: { short: "c", usual: nothing },
  status: { short: "s", usual: () => "active" },
  output: { short: "o", optional: true },
  history: { short: "h", optional: true },
  order: { short: "or", optional: true },
  raises: { short: "ra", optional: true },
});

const record = shapeOf<Told>({
  format: { short: "F", usual: () => 1, unpack: refuseFormat },
  saga: { short: "n" },
  version: { short: "v" },
  hash: { short: "h" },
  input: { short: "i", usual: nothing },
  inputHash: { short: "ih" },
  rollback: { short: "rb", usual: () => "none" },
  cause: { short: "ca", usual: nothing },
  output: { short: "o", usual: nothing },
  snapshot: { short: "s", usual: nothing, pack: packState, unpack: unpackState },
  rows: { short: "rw", usual: zero },
  open: { short: "op", usual: emptyList },
  asks: { short: "as", usual: emptyList },
  regionEntries: { short: "re", usual: emptyMap },
  timers: { short: "tm", usual: emptyList },
  waitingFor: { short: "wf", usual: nothing },
  review: { short: "rv", usual: nothing },
  reviews: { short: "rn", usual: zero },
  cancel: { short: "cn", usual: nothing },
  paused: { short: "pa", usual: no },
  unwind: { short: "uw", usual: nothing },
  interruptions: { short: "ir", usual: zero },
  replays: { short: "rp", usual: zero },
  replayOf: { short: "ro", usual: nothing },
  savepoints: { short: "sp", usual: emptyList },
  parent: { short: "pr", usual: nothing },
  limit: { short: "lm", usual: nothing },
  budgets: { short: "bu", usual: emptyMap },
  deadlineAt: { short: "dl", usual: nothing },
  trace: { short: "tp", usual: nothing },
  migratedFrom: { short: "mg", usual: nothing },
  logFrom: { short: "lf", usual: one },
  logMark: { short: "lk", usual: nothing },
  knownTo: { short: "kt", usual: nothing },
  seen: { short: "se", usual: zero },
  attributes: { short: "at", usual: emptyMap },
  bytes: { short: "by", usual: zero },
  createdAt: { short: "t" },
  startAt: { short: "ts", usual: (whole) => whole.createdAt },
  endedAt: { short: "te", usual: nothing },
  logDigest: { short: "d" },
});

/** An ended machine's output is, as a rule, the run's: then it is stored once. */
const sameOutput = "=";

function packState(state: MachineState | null, { output }: Told): unknown {
  if (state === null) return null;
  if (state.output === undefined || JSON.stringify(state.output) !== JSON.stringify(output))
    return machineState.pack(state);
  const { output: _, ...rest } = state;
  return { ...machineState.pack(rest), [sameOutput]: 1 };
}

function unpackState(stored: object, { output }: Told): MachineState {
  return machineState.unpack(sameOutput in stored ? { ...stored, o: output } : stored);
}

function refuseFormat(format: never): 1 {
  throw new Error(`its format ${String(format)} is not known here: a newer version wrote it`);
}

/** Outputs below this many characters are not worth looking for in the ledger. */
const smallOutputChars = 100;

export function encodeRecord(given: RunRecord): EncodedRecord {
  return encoded(given, []);
}

/** For a commit: the output of a run that ends, where it is an object, is handed over part by part. */
export function encodeCommitted(given: RunRecord): EncodedRecord {
  const { output } = given;
  if (!hasEnded(given.status) || output === null || typeof output !== "object" || Array.isArray(output)) {
    return encoded(given, []);
  }
  const outputs = Object.entries(output).flatMap((part) => part.map((value) => JSON.stringify(value)));
  return outputs.join().length < smallOutputChars ? encoded(given, []) : encoded(given, outputs);
}

function encoded(given: RunRecord, outputs: readonly string[]): EncodedRecord {
  const packed = record.pack(given);
  if (outputs.length > 0) delete packed["o"];
  return {
    text: JSON.stringify(packed),
    revision: given.revision,
    status: statusLetters.letterOf(given.status),
    pool: given.pool === "default" ? null : given.pool,
    priority: given.priority === 0 ? null : given.priority,
    outputs,
  };
}

/** Is the ledger needed to read it whole? */
export function refersToLedger({ text }: Pick<StoredRecord, "text">): boolean {
  return text.includes("\n");
}

/**
 * `outputOf` tells the output of a ledger row; without it, and where it is needed, the output reads as `null`.
 * Throws RECORD_CORRUPT, naming the run.
 */
export function decodeRecord(run: RunRef, stored: StoredRecord, outputOf: (seq: number) => Json = nothing): RunRecord {
  return decoded("the record", memberOf(run), () => {
    const [text = "", references] = stored.text.split("\n");
    const packed = JSON.parse(text) as Record<string, unknown>;
    if (references !== undefined) packed["o"] = gathered(references, outputOf);
    return {
      ...record.unpack(packed),
      tenant: run.tenant,
      id: run.id,
      revision: stored.revision,
      status: statusLetters.wordOf(stored.status),
      pool: stored.pool ?? "default",
      priority: stored.priority ?? 0,
    };
  });
}

function gathered(references: string, outputOf: (seq: number) => Json): Json {
  const parts = JSON.parse(references) as readonly (readonly [name: string, seq: number, value?: Json])[];
  return Object.fromEntries(parts.map(([name, seq, value = null]) => [name, seq === 0 ? value : outputOf(seq)]));
}
