/**
 * Exporting one run as one document. Owns what goes into a bundle, and that no secret does.
 *
 * Invariants: B1 record, rows and log are of one revision. B2 where anything was masked no digest over it is left. B3 values kept as
 * artifacts stand in place, as far as this client can have them.
 */
import { readFileSync } from "node:fs";
import {
  childRef,
  foldLog,
  type Judged,
  type LogEntry,
  MissingArtifact,
  missingIn,
  type RunRef,
} from "../core/index.ts";
import type { Json } from "../saga/index.ts";
import { type BundledSnapshot, bundleFormat, bundleKind, type RunBundle } from "./bundle-shape.ts";
import type { Connection } from "./connection.ts";
import { judgedRun } from "./judged.ts";
import { masked } from "./mask.ts";

export interface BundleOptions {
  /** Names of fields, in any case, whose values are masked beside those that look like credentials. */
  readonly mask?: readonly string[];
}

/** Bytes of snapshots in a bundle, the newest ones. */
const maxSnapshotBytes = 4_000_000;

/** Throws RUN_NOT_FOUND, STORE_UNAVAILABLE. */
export async function bundle(connection: Connection, run: RunRef, { mask = [] }: BundleOptions): Promise<RunBundle> {
  const store = await connection.store();
  const judged = await judgedRun(connection, run, { withLog: true });
  const { record, rows, log = [] } = judged;
  const registered = await store.registered(record.saga, record.version);
  const isPinned = registered?.hash === record.hash;
  const contents = maskedParts(
    { record, rows, log, inbox: await store.inbox(run), snapshots: snapshotsOf(judged, log) },
    mask,
  );
  return {
    kind: bundleKind,
    format: bundleFormat,
    reprise: ownVersion(),
    run: { tenant: run.tenant, id: run.id },
    saga: {
      ...{ name: record.saga, version: record.version, hash: record.hash },
      structure: isPinned ? registered.structure : null,
      schemas: isPinned && registered.schemas !== "" ? registered.schemas : null,
    },
    family: {
      parent: record.parent?.run ?? null,
      children: rows.flatMap((row) => (row.child === null ? [] : [childRef(run, row).id])),
      replayOf: record.replayOf?.run ?? null,
    },
    ...contents,
    maskedNames: mask,
    missing: missingIn(record, rows),
  };
}

type Contents = Pick<RunBundle, "record" | "rows" | "log" | "inbox" | "snapshots">;

function maskedParts(contents: Contents, names: readonly string[]): Contents & Pick<RunBundle, "masked"> {
  const paths: string[] = [];
  // Everything that core keeps of a run is JSON, but for values that are missing.
  const plain = JSON.parse(JSON.stringify(contents, nothingForMissing)) as Readonly<Record<keyof Contents, Json>>;
  const parts = Object.entries(plain).map(([name, part]) => {
    const { value, paths: found } = masked(part, name, names);
    paths.push(...found);
    return [name, value] as const;
  });
  // As it was, with texts in the place of what was masked.
  const shown = Object.fromEntries(parts) as unknown as Contents;
  return { ...(paths.length === 0 ? shown : withoutDigests(shown)), masked: paths };
}

function nothingForMissing(_name: string, value: unknown): unknown {
  return value instanceof MissingArtifact ? null : value;
}

function withoutDigests({ record, rows, log, ...rest }: Contents): Contents {
  return {
    ...rest,
    record: { ...record, inputHash: "", logDigest: "" },
    rows: rows.map((row) => (row.approval === null ? row : { ...row, approval: { ...row.approval, shown: "" } })),
    log: log.map((entry) => ({ ...entry, digest: "" })),
  };
}

/** Where the machine stood, as its log tells it: of what is different later only. */
function snapshotsOf({ machine, record, rows }: Judged, log: readonly LogEntry[]): readonly BundledSnapshot[] | null {
  if (machine === null) return null;
  const steps = foldLog(machine, { record, rows }, log);
  if (steps.some(({ problem }) => problem !== null)) return null;
  const told = steps.filter(({ snapshot }, at) => at === 0 || snapshot !== steps[at - 1]?.snapshot);
  let bytes = 0;
  const kept = told.toReversed().filter(({ snapshot }) => {
    bytes += JSON.stringify(snapshot).length;
    return bytes <= maxSnapshotBytes;
  });
  return kept.toReversed().map(({ revision, snapshot }) => ({ revision, snapshot }));
}

function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  return version;
}
