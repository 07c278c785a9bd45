/**
 * The stored form of a run record. What the run hash keeps in fields of their own for the scripts (revision, status,
 * pool, priority), and what the key says (tenant, id), is not in the text.
 */

import type { MachineState } from "../../core/machine-port.ts";
import type { RunRecord, RunRef } from "../../core/run.ts";
import { memberOf } from "../keys.ts";
import { decoded, emptyList, emptyMap, no, nothing, shapeOf, zero } from "./shape.ts";
import { statusLetters } from "./words.ts";

/** A run record's place in the run hash; a field with its usual value is left out. */
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
  snapshot: {
    short: "s",
    usual: nothing,
    pack: (state) => (state === null ? null : machineState.pack(state)),
    unpack: machineState.unpack,
  },
  output: { short: "o", usual: nothing },
  rows: { short: "rw", usual: zero },
  open: { short: "op", usual: emptyList },
  regionEntries: { short: "re", usual: emptyMap },
  timers: { short: "tm", usual: emptyList },
  waitingFor: { short: "wf", usual: nothing },
  review: { short: "rv", usual: nothing },
  reviews: { short: "rn", usual: zero },
  cancel: { short: "cn", usual: nothing },
  paused: { short: "pa", usual: no },
  unwind: { short: "uw", usual: nothing },
  interruptions: { short: "ir", usual: zero },
  seen: { short: "se", usual: zero },
  attributes: { short: "at", usual: emptyMap },
  createdAt: { short: "t" },
  startAt: { short: "ts", usual: (whole) => whole.createdAt },
  endedAt: { short: "te", usual: nothing },
  logDigest: { short: "d" },
});

function refuseFormat(format: never): 1 {
  throw new Error(`its format ${String(format)} is not known here: a newer version wrote it`);
}

export function encodeRecord(given: RunRecord): StoredRecord {
  return {
    text: JSON.stringify(record.pack(given)),
    revision: given.revision,
    status: statusLetters.letterOf(given.status),
    pool: given.pool === "default" ? null : given.pool,
    priority: given.priority === 0 ? null : given.priority,
  };
}

/** Throws RECORD_CORRUPT, naming the run. */
export function decodeRecord(run: RunRef, stored: StoredRecord): RunRecord {
  return decoded("the record", memberOf(run), () => ({
    ...record.unpack(JSON.parse(stored.text)),
    tenant: run.tenant,
    id: run.id,
    revision: stored.revision,
    status: statusLetters.wordOf(stored.status),
    pool: stored.pool ?? "default",
    priority: stored.priority ?? 0,
  }));
}
