/**
 * What runs ask people, as people are shown it. Owns that view and its pages; deciding is `decide.ts`'s. Invariant: what is shown
 * is exactly what would be carried out, with the digest that a decision on it names.
 */
import {
  askingListing,
  type Escalation,
  editableIn,
  isAsking,
  type Row,
  type RowApproval,
  type RunRecord,
  rolesAt,
  type UnreadableRun,
} from "../core/index.ts";
import { type Json, jsonSchemaOf } from "../saga/index.ts";
import type { Connection } from "./connection.ts";

/** Something that waits for people to decide. */
export interface PendingApproval
  extends Pick<
    RowApproval,
    | "n"
    | "shown"
    | "question"
    | "rule"
    | "requester"
    | "delegates"
    | "quorum"
    | "allowed"
    | "votes"
    | "talk"
    | "since"
    | "expiresAt"
    | "onExpire"
  > {
  readonly tenant: string;
  /** Id of the run. */
  readonly run: string;
  readonly saga: string;
  readonly version: number;
  /** Of the ledger row. A decision names it with `n` and `shown`. */
  readonly seq: number;
  readonly step: string;
  /** `approval`: the step is the decision. `gate`: the step is carried out once it is let go. */
  readonly kind: "approval" | "gate";
  /** Exactly what would be carried out with, as JSON. */
  readonly input: Json;
  /** Roles one of which may decide now; none: anybody but the requester. */
  readonly roles: readonly string[];
  /** Who else may decide later, should nobody have decided. */
  readonly escalations: readonly Escalation[];
  /** What happens when nobody decides, in plain words. */
  readonly otherwise: string;
  /** JSON schema of what is to be filled in to approve; `null`: nothing is, or this client was not given the saga. */
  readonly form: Json;
  /** JSON schema of the fields that an edit may change; `null`: every field, where `allowed` has `edit`; or as with `form`. */
  readonly edits: Json;
  readonly ageMs: number;
}

export interface ApprovalsQuery {
  /** All tenants unless given. */
  readonly tenant?: string;
  /** What somebody of this role may decide; all unless given. */
  readonly role?: string;
  /** From the page before. */
  readonly cursor?: string;
  /** Runs of one page, 1 to 1,000; 50 unless given. */
  readonly limit?: number;
}

export interface ApprovalsPage {
  /** By time of creation of the runs, newest first; those of one run by row. */
  readonly approvals: readonly PendingApproval[];
  /** Runs of this page that are there and cannot be read. */
  readonly unreadable: readonly UnreadableRun[];
  /** Pass it as `cursor` for the next page (a page may be short, or empty, before the last one); `null`: it was the last. */
  readonly cursor: string | null;
}

/** One page of what runs ask people. */
export async function approvalsPage(
  connection: Connection,
  { role, ...query }: ApprovalsQuery & { readonly limit: number },
): Promise<ApprovalsPage> {
  const store = await connection.store();
  const { runs, unreadable, cursor } = await store.listShared({ ...query, listings: [askingListing] });
  const now = await store.now();
  const approvals = (await Promise.all(runs.map((run) => pendingIn(connection, run, now)))).flat();
  return { approvals: approvals.filter((pending) => isFor(pending, role)), unreadable, cursor };
}

function isFor({ roles }: PendingApproval, role: string | undefined): boolean {
  return role === undefined || roles.length === 0 || roles.includes(role);
}

/** Of which run it is. */
export type AskingRun = Pick<RunRecord, "tenant" | "id" | "saga" | "version" | "hash">;

/** What one run asks people now, by row. */
export async function pendingIn(
  connection: Connection,
  run: AskingRun,
  now: number,
): Promise<readonly PendingApproval[]> {
  const rows = await (await connection.store()).ledger(run);
  return rows.flatMap((row) => (isAsking(row) ? [pendingOf(connection, run, row, now)] : []));
}

/** One row that asks people. */
export function pendingOf(connection: Connection, run: AskingRun, row: Row, now: number): PendingApproval {
  const { tenant, id, saga, version } = run;
  const { seq, step, input } = row;
  const spec = connection.machineFor(run)?.saga.steps[step];
  const form = spec?.approval?.form ?? null;
  const edits = spec === undefined ? null : editableIn(spec, input);
  // It asks.
  const { state: _, ...approval } = row.approval as RowApproval;
  return {
    ...{ tenant, run: id, saga, version, seq, step, input },
    ...approval,
    kind: row.kind === "approval" ? "approval" : "gate",
    roles: rolesAt(approval, now),
    escalations: approval.escalations.filter(({ at }) => at > now),
    otherwise: otherwiseOf(approval),
    form: form === null ? null : jsonSchemaOf(form),
    edits: edits === null ? null : jsonSchemaOf(edits),
    ageMs: Math.max(0, now - approval.since),
  };
}

function otherwiseOf({ expiresAt, onExpire }: Pick<RowApproval, "expiresAt" | "onExpire">): string {
  if (expiresAt === null) return "it waits for as long as it takes";
  return onExpire === "reject" ? "it is rejected" : "the run is parked for a person to look";
}
