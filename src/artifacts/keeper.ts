/**
 * Takes large values out of records and rows, and puts them back. Owns what is kept as an artifact, under which hash, and
 * the proof that what comes back is what was put there.
 *
 * Invariants: K1 a reference is handed out only after its content is kept. K2 a value is put back only if its content has
 * the hash. K3 the same value gets the same reference, so a write that is sent again is the same write. K4 a value that is
 * known to be kept is neither hashed nor put again. K5 the content is the text that Redis would hold: the order of its keys
 * is the value's own.
 */
import {
  type Artifacts,
  contentHashOf,
  MissingArtifact,
  type ReplaceValue,
  type Row,
  type RunRecord,
  withRecordValues,
  withRowValues,
} from "../core/index.ts";
import type { Json } from "../saga/index.ts";
import { type Reference, readStored, referenceJson, wrapped } from "./reference.ts";
import { someAtOnce } from "./some-at-once.ts";

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

/** What is known of a value: where it is kept for a tenant, or that it is small. */
interface Known {
  readonly tenant: string;
  readonly reference: Reference | null;
}

/** Content on its way to where it is kept. */
interface Parcel {
  readonly value: Json;
  readonly text: string;
  readonly reference: Reference;
}

/** Artifacts that are put or fetched at once for one run. */
const movedAtOnce = 8;
/** Texts are no objects: the newest large ones are known by what they say. */
const textsKnown = 32;
/** A character of a text takes at most so many bytes of JSON (`\u0000`); the quotes are not worth counting. */
const maxBytesPerChar = 6;

export class Keeper {
  readonly #options: KeeperOptions;
  readonly #known = new WeakMap<object, Known>();
  readonly #texts = new Map<string, Known>();

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** The values as they are stored; resolves when the content of every reference is kept. */
  async takeOut<R extends RunRecord | null>(tenant: string, given: Values<R>): Promise<Values<R>> {
    const parcels = new Map<string, Parcel>();
    const stored = replaced(given, (value) => this.#stored(tenant, value, parcels));
    if (parcels.size > 0) await someAtOnce([...parcels.values()], movedAtOnce, (parcel) => this.#put(tenant, parcel));
    return stored;
  }

  /** Whole values again; what cannot be had is a `MissingArtifact`. */
  async putBack<R extends RunRecord | null>(tenant: string, stored: Values<R>): Promise<Values<R>> {
    const references = new Map<string, Reference>();
    replaced(stored, (value) => {
      const read = readStored(value);
      if ("reference" in read) references.set(read.reference.$artifact, read.reference);
      return value;
    });
    const found = await this.#fetchAll(tenant, [...references.values()]);
    return replaced(stored, (value) => {
      const read = readStored(value);
      // All that is referred to was fetched.
      return "reference" in read ? (found.get(read.reference.$artifact) as Json) : read.value;
    });
  }

  // ---- out

  #stored(tenant: string, value: Json, parcels: Map<string, Parcel>): Json {
    if (value instanceof MissingArtifact) return referenceJson(value);
    if (value === null || (typeof value !== "object" && typeof value !== "string")) return value;
    const { artifacts, thresholdBytes } = this.#options;
    if (artifacts === null) return wrapped(value);
    if (typeof value === "string" && value.length <= thresholdBytes / maxBytesPerChar) return value;
    const known = this.#recall(tenant, value);
    if (known !== null) return known.reference === null ? wrapped(value) : referenceJson(known.reference);
    const text = JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= thresholdBytes) {
      this.#remember(tenant, value, null);
      return wrapped(value);
    }
    const reference = { $artifact: contentHashOf(text), bytes };
    parcels.set(reference.$artifact, { value, text, reference });
    return referenceJson(reference);
  }

  async #put(tenant: string, { value, text, reference }: Parcel): Promise<void> {
    const { artifacts, namespace } = this.#options;
    await artifacts?.put({ namespace, tenant, hash: reference.$artifact }, Buffer.from(text));
    this.#remember(tenant, value, reference);
  }

  // ---- back

  async #fetchAll(tenant: string, wanted: readonly Reference[]): Promise<ReadonlyMap<string, Json>> {
    const fetched = await someAtOnce(wanted, movedAtOnce, async (each) => {
      const value = await this.#fetch(tenant, each);
      return [each.$artifact, value] as const;
    });
    return new Map(fetched);
  }

  async #fetch(tenant: string, reference: Reference): Promise<Json> {
    const { artifacts, namespace } = this.#options;
    const { $artifact: hash, bytes } = reference;
    if (artifacts === null) return new MissingArtifact(hash, bytes, "no_store");
    const content = await artifacts.get({ namespace, tenant, hash });
    if (content === null) return new MissingArtifact(hash, bytes, "gone");
    if (contentHashOf(content) !== hash) return new MissingArtifact(hash, bytes, "damaged");
    // It is what this class has put there: JSON.
    const value = JSON.parse(Buffer.from(content).toString()) as Json;
    this.#remember(tenant, value, reference);
    return value;
  }

  // ---- what is known

  #recall(tenant: string, value: Json): Known | null {
    const known = typeof value === "object" && value !== null ? this.#known.get(value) : this.#texts.get(String(value));
    return known?.tenant === tenant ? known : null;
  }

  #remember(tenant: string, value: Json, reference: Reference | null): void {
    const known = { tenant, reference };
    if (typeof value === "object" && value !== null) this.#known.set(value, known);
    else if (reference !== null) this.#rememberText(String(value), known);
  }

  #rememberText(text: string, known: Known): void {
    this.#texts.delete(text);
    this.#texts.set(text, known);
    const [oldest] = this.#texts.keys();
    if (this.#texts.size > textsKnown && oldest !== undefined) this.#texts.delete(oldest);
  }
}

function replaced<R extends RunRecord | null>({ record, rows }: Values<R>, replace: ReplaceValue): Values<R> {
  return {
    // A record for a record, and none for none.
    record: (record === null ? null : withRecordValues(record, replace)) as R,
    rows: rows.map((row) => withRowValues(row, replace)),
  };
}
