/**
 * Asking runs to move to another version of their saga, and saying what that would make of them. Owns what is refused at once;
 * whoever drives the run judges it again, where it then stands, and moves it (`core/change/migrate.ts`).
 *
 * Invariants: M1 a dry run writes nothing. M2 a request that could never be taken is not left with the run. M3 of two who ask
 * the same of the same revision one wins, and the other is told who.
 */
import {
  differencesOf,
  judgeMove,
  type Move,
  machineOf,
  openListing,
  type Row,
  type RunRecord,
  type RunRef,
  structureHashOf,
  structureName,
  unservedBy,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Saga } from "../saga/index.ts";
import { checkedId, checkedReason, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { judgedRun } from "./judged.ts";
import { sendRequest } from "./send.ts";
import { defaultTenant } from "./start.ts";

const standardLimit = 1_000;
const pageSize = 100;

export interface MigrateOptions {
  /** Which version it is to be; the newest that this client was given unless said. */
  readonly to?: number;
  readonly by: string;
  /** Why; it stands in the log. */
  readonly reason: string;
  /** Say what would become of it, and leave it as it is. */
  readonly dryRun?: boolean;
}

/** What becomes of one run that is asked to move, or would. */
export interface RunMigration {
  readonly tenant: string;
  readonly run: string;
  readonly from: number;
  readonly to: number;
  /**
   * `moves`: it fits. `later`: it fits, and moves once what is under way is over. `refused`: it does not, and stays as it is.
   * The run's own worker judges it again, where it then stands.
   */
  readonly fate: "moves" | "later" | "refused";
  /** Why not, or not now; `null` where it moves. */
  readonly problem: string | null;
  /** What of value, context and input would change, as `path: before -> after`. */
  readonly differences: readonly string[];
  /** Whose request lies with the run now; `null`: nobody's. */
  readonly by: string | null;
}

export interface MigrateAllOptions extends MigrateOptions {
  readonly saga: string;
  readonly from: number;
  /** Of all tenants unless given. */
  readonly tenant?: string;
  /** Runs looked at, newest first; 1,000 unless given. */
  readonly limit?: number;
  /** From the report before. */
  readonly cursor?: string;
}

export interface MigrateReport {
  readonly runs: readonly RunMigration[];
  /** Runs that are there and cannot be read. */
  readonly unreadable: readonly RunRef[];
  /** Pass it as `cursor` to go on; `null`: that was the last. */
  readonly cursor: string | null;
}

/** Throws RUN_NOT_FOUND, SAGA_UNKNOWN, MIGRATION_REFUSED, RUN_ENDED, INPUT_INVALID, ID_INVALID, STORE_UNAVAILABLE. */
export async function migrate(connection: Connection, run: RunRef, options: MigrateOptions): Promise<RunMigration> {
  checkedReason(options.reason);
  const { record, rows } = await judgedRun(connection, run);
  const target = targetOf(connection, record.saga, options.to);
  const judged = judge(target, { record, rows });
  if (options.dryRun) return judged;
  if (judged.fate === "refused") throw refused(judged);
  await assertServed(connection, target, judged);
  return await ask(connection, target, record, judged, options);
}

/** The same for every open run of one version; a run that does not fit is told in the report. */
export async function migrateAll(connection: Connection, options: MigrateAllOptions): Promise<MigrateReport> {
  checkedReason(options.reason);
  const { saga, from, limit = standardLimit } = options;
  if (!Number.isInteger(limit) || limit < 1) throw invalid("INPUT_INVALID", "limit", "it is a whole number from 1");
  const target = targetOf(connection, saga, options.to);
  const store = await connection.store();
  const { open } = await store.serving();
  const listings = open.filter((name) => name.startsWith(`${saga}@${from}#`)).map(openListing);
  const tenant = options.tenant === undefined ? {} : { tenant: checkedId(options.tenant, "the tenant") };
  const runs: RunMigration[] = [];
  const unreadable: RunRef[] = [];
  let cursor = listings.length === 0 ? null : options.cursor;
  while (cursor !== null && runs.length < limit) {
    const after = cursor === undefined ? {} : { cursor };
    const page = await store.listShared({
      listings,
      ...tenant,
      ...after,
      limit: Math.min(pageSize, limit - runs.length),
    });
    unreadable.push(...page.unreadable);
    for (const run of page.runs) runs.push(await migrateOne(connection, target, run, options));
    cursor = page.cursor;
  }
  return { runs, unreadable, cursor: cursor ?? null };
}

async function migrateOne(
  connection: Connection,
  target: Saga,
  run: RunRef,
  options: MigrateOptions,
): Promise<RunMigration> {
  const { record, rows } = await judgedRun(connection, { tenant: run.tenant, id: run.id });
  const judged = judge(target, { record, rows });
  if (options.dryRun || judged.fate === "refused") return judged;
  await assertServed(connection, target, judged);
  try {
    return await ask(connection, target, record, judged, options);
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== "RUN_ENDED") throw error;
    return { ...judged, fate: "refused", problem: error.message };
  }
}

function targetOf(connection: Connection, saga: string, to: number | undefined): Saga {
  return to === undefined ? connection.newest(saga) : connection.sagaOf(saga, to);
}

function judge(
  { spec, version }: Saga,
  run: { readonly record: RunRecord; readonly rows: readonly Row[] },
): RunMigration {
  const { tenant, id, version: from } = run.record;
  const move = judgeMove(machineOf(spec), run);
  const what = { tenant, run: id, from, to: version, by: null };
  if (move.ok) return { ...what, fate: "moves", problem: null, differences: differences(run.record, move) };
  return { ...what, fate: move.later ? "later" : "refused", problem: move.problem, differences: [] };
}

function differences({ snapshot, input }: RunRecord, move: Extract<Move, { ok: true }>): readonly string[] {
  const before = { value: snapshot?.value ?? null, context: snapshot?.context ?? null, input };
  const { value = null, context = null } = move.snapshot ?? {};
  return differencesOf(before, { value, context, input: move.input });
}

async function ask(
  connection: Connection,
  target: Saga,
  record: RunRecord,
  judged: RunMigration,
  { by, reason }: MigrateOptions,
): Promise<RunMigration> {
  const { tenant, id, revision } = record;
  const slot = `migrate:${target.version}.${revision}`;
  const body = { type: "migrate", to: target.version, hash: structureHashOf(target), reason } as const;
  const commandId = connection.ports.ids.next();
  const answer = await sendRequest(connection, { run: { tenant, id }, slot, commandId, by, body });
  return { ...judged, by: answer.answer === "TAKEN" ? answer.by : by };
}

/** A request that nobody knows how to take would make the run be looked at for ever. */
async function assertServed(connection: Connection, target: Saga, judged: RunMigration): Promise<void> {
  const store = await connection.store();
  const { owners } = await store.serving();
  const { name, version } = target;
  const structure = structureName({ saga: name, version, hash: structureHashOf(target) });
  const lost = new Set((await store.lostOwners()).map(({ owner }) => owner));
  if (unservedBy({ open: [structure], owners }, lost).length === 0) return;
  throw refused({
    ...judged,
    problem: `no living worker serves ${name} version ${version} as this client knows it: start one first`,
  });
}

function refused(migration: RunMigration): RepriseError {
  const { run, to, problem } = migration;
  return new RepriseError("MIGRATION_REFUSED", `run ${run} does not move to version ${to}: ${problem}`, {
    details: { ...migration },
  });
}

/** A run by its id, of the default tenant unless it says otherwise. */
export function refOf(run: string | { readonly id: string; readonly tenant?: string }): RunRef {
  const { id, tenant = defaultTenant } = typeof run === "string" ? { id: run } : run;
  return { tenant: checkedId(tenant, "the tenant"), id: checkedId(id, "the run id") };
}
