/**
 * Takes large values out of records and rows, and puts them back. Owns what is kept as an artifact, and the proof that what
 * comes back is what was put there.
 *
 * Invariants: K1 a reference is handed out only after its content is kept. K2 a value is put back only if its content has
 * the hash. K3 the same value has the same stored form, so a write that is sent again is the same write. K4 a value that
 * stays in its place is not hashed again while its run is held, and what is known to be kept for the run is not put again;
 * nothing of that is carried to another run: its artifacts may have been deleted since. K5 the content is the text that
 * Redis would hold: the order of its keys is the value's own.
 */
import {
  type Artifacts,
  contentHashOf,
  MissingArtifact,
  type MissingValue,
  type ReplaceValue,
  type Row,
  type RunRecord,
  type RunRef,
  runKey,
  type ValuePlace,
  withRecordValues,
  withRowValues,
} from "../core/index.ts";
import type { Json } from "../saga/index.ts";
import { someAtOnce } from "./some-at-once.ts";
import { type Parcel, type Reference, referencesIn, storedForm, valueOfForm, wrapped } from "./stored.ts";

export interface KeeperOptions {
  /** `null`: nothing is taken out, and what was taken out elsewhere is missing here. */
  readonly artifacts: Artifacts | null;
  readonly namespace: string;
  /** A value of more bytes is taken out. */
  readonly thresholdBytes: number;
}

/** A run's values, or some of them. */
export interface Values<Record extends RunRecord | null> {
  readonly record: Record;
  readonly rows: readonly Row[];
}

/** What is known of the values of a run that is held. */
interface Memory {
  /** By value: where it stands, and in which form it is stored. */
  readonly forms: WeakMap<object, { readonly place: string; readonly form: Json }>;
  /** Hashes of what is kept for it: seen when it was acquired, or put since. */
  readonly kept: Set<string>;
}

/** Why a value cannot be had, or the value. */
type Found = { readonly value: Json } | { readonly why: MissingValue["why"] };

/** Artifacts that are put or fetched at once for one run. */
const movedAtOnce = 8;
/** Runs that are remembered; what is forgotten is hashed and put once more. */
const maxRuns = 10_000;

export class Keeper {
  readonly #options: KeeperOptions;
  readonly #runs = new Map<string, Memory>();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The values of a new run as they are stored; resolves when the content of every reference is kept. */
  async takeOutNew(run: RunRef, record: RunRecord): Promise<Values<RunRecord>> {
    return await this.#takeOut(run, { record, rows: [] }, newMemory());
  }

  /** The values of a run that is held, as they are stored; at once where nothing is to be kept first. */
  takeOut(run: RunRef, values: Values<RunRecord>): Values<RunRecord> | Promise<Values<RunRecord>> {
    return this.#takeOut(run, values, this.#runs.get(runKey(run)) ?? this.#remember(run));
  }

  /** Whole values again; what cannot be had is a `MissingArtifact`. */
  async putBack<R extends RunRecord | null>(run: RunRef, stored: Values<R>): Promise<Values<R>> {
    return await this.#putBack(run, stored, newMemory());
  }

  /** The same for a run that is held from now on: all that is kept of it was just seen. At once where nothing is to be fetched. */
  putBackHeld(run: RunRef, stored: Values<RunRecord>): Values<RunRecord> | Promise<Values<RunRecord>> {
    return this.#putBack(run, stored, this.#remember(run));
  }

  #remember(run: RunRef): Memory {
    const memory = newMemory();
    this.#runs.delete(runKey(run));
    this.#runs.set(runKey(run), memory);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > maxRuns && oldest !== undefined) this.#runs.delete(oldest);
    return memory;
  }

  // ---- out

  #takeOut(run: RunRef, values: Values<RunRecord>, memory: Memory): Values<RunRecord> | Promise<Values<RunRecord>> {
    if (this.#options.artifacts === null) return replaced(values, inStore);
    const parcels = new Map<string, Parcel>();
    const forms: (readonly [object, ValuePlace, Json])[] = [];
    const stored = replaced(values, (value, place) => {
      const form = this.#formOf(value, place, memory, parcels);
      if (typeof value === "object" && value !== null) forms.push([value, place, form]);
      return form;
    });
    const kept = (): Values<RunRecord> => {
      for (const hash of parcels.keys()) memory.kept.add(hash);
      // Only now: a form that refers to what could not be kept must not be used again.
      for (const [value, place, form] of forms) remember(memory, value, place, form);
      return stored;
    };
    if (parcels.size === 0) return kept();
    return someAtOnce([...parcels.values()], movedAtOnce, (parcel) => this.#put(run, parcel)).then(kept);
  }

  #formOf(value: Json, place: ValuePlace, memory: Memory, parcels: Map<string, Parcel>): Json {
    if (value instanceof MissingArtifact) return value.stored;
    const { thresholdBytes } = this.#options;
    const known = typeof value === "object" && value !== null ? memory.forms.get(value) : undefined;
    if (known !== undefined && known.place === nameOf(place)) return known.form;
    const isKept = (hash: string) => memory.kept.has(hash);
    return storedForm(value, { thresholdBytes, isKept, parcels }, isComposed(place));
  }

  async #put({ tenant }: RunRef, { text, reference }: Parcel): Promise<void> {
    const { artifacts, namespace } = this.#options;
    await artifacts?.put({ namespace, tenant, hash: reference.$artifact }, Buffer.from(text));
  }

  // ---- back

  #putBack<R extends RunRecord | null>(run: RunRef, stored: Values<R>, memory: Memory): Values<R> | Promise<Values<R>> {
    const wanted = new Map<string, Reference>();
    replaced(stored, (form) => {
      for (const reference of referencesIn(form)) wanted.set(reference.$artifact, reference);
      return form;
    });
    const found = new Map<string, Found>();
    const whole = (): Values<R> => {
      for (const [hash, each] of found) if ("value" in each) memory.kept.add(hash);
      return replaced(stored, (form, place) => {
        const value = wholeOf(form, found);
        if (typeof value === "object" && value !== null) remember(memory, value, place, form);
        return value;
      });
    };
    if (wanted.size === 0) return whole();
    const fetch = async (hash: string): Promise<void> => void found.set(hash, await this.#fetch(run, hash));
    return someAtOnce([...wanted.keys()], movedAtOnce, fetch).then(whole);
  }

  async #fetch({ tenant }: RunRef, hash: string): Promise<Found> {
    const { artifacts, namespace } = this.#options;
    if (artifacts === null) return { why: "no_store" };
    const content = await artifacts.get({ namespace, tenant, hash });
    if (content === null) return { why: "gone" };
    if (contentHashOf(content) !== hash) return { why: "damaged" };
    // It is what this class has put there: JSON.
    return { value: JSON.parse(Buffer.from(content).toString()) as Json };
  }
}

function newMemory(): Memory {
  return { forms: new WeakMap(), kept: new Set() };
}

/** The same object in the same place is the same value, but for a cursor: a step may change the one that it has and set it again. */
function remember({ forms }: Memory, value: object, place: ValuePlace, form: Json): void {
  if (place.part !== "progress") forms.set(value, { place: nameOf(place), form });
}

/** The form of a value where nothing is kept elsewhere. */
function inStore(value: Json): Json {
  return value instanceof MissingArtifact ? value.stored : wrapped(value);
}

function nameOf({ part, row }: ValuePlace): string {
  return row === null ? part : `${row.seq} ${part}`;
}

/** Is it put together from values of rows? */
function isComposed({ part, row }: ValuePlace): boolean {
  return row === null && part !== "input";
}

/** The value of a form, or what stands for it where any part of it cannot be had. */
function wholeOf(form: Json, found: ReadonlyMap<string, Found>): Json {
  for (const { $artifact, bytes } of referencesIn(form)) {
    const each = found.get($artifact);
    if (each !== undefined && "why" in each)
      return new MissingArtifact({ hash: $artifact, bytes, why: each.why }, form);
  }
  return valueOfForm(form, ({ $artifact }) => {
    // Everything that is referred to was fetched, and nothing of this form is missing.
    return (found.get($artifact) as Extract<Found, { value: Json }>).value;
  });
}

/** Rows first: what they refer to is kept when the record is looked at. */
function replaced<R extends RunRecord | null>({ record, rows }: Values<R>, replace: ReplaceValue): Values<R> {
  const replacedRows = rows.map((row) => withRowValues(row, replace));
  // A record for a record, and none for none.
  return { record: (record === null ? null : withRecordValues(record, replace)) as R, rows: replacedRows };
}
