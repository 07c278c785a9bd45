/** Who did what, read from what the store keeps of it. Owns the filters, and how much is read for one page. */
import type { KeptAct } from "../core/index.ts";
import { checkedId } from "./checks.ts";
import type { Connection } from "./connection.ts";

/** Which acts; what is not named is not asked for. */
export interface AuditQuery {
  /** ms since 1970, by the store's clock. */
  readonly since?: number;
  readonly by?: string;
  /** An id; of `tenant`, or of any. */
  readonly run?: string;
  readonly tenant?: string;
  readonly act?: string;
  /** From the page before. */
  readonly cursor?: string;
  /** 1 to 1,000; 50 unless given. */
  readonly limit?: number;
}

export interface AuditPage {
  /** Newest first; of a filter a page may be short before the last one. */
  readonly acts: readonly KeptAct[];
  readonly cursor: string | null;
}

/** Acts read for one page of those that a filter takes. */
const readForPage = 5_000;
const readAtOnce = 500;

export async function audit(
  connection: Connection,
  { cursor: from, limit, since, ...filter }: AuditQuery & { readonly limit: number },
): Promise<AuditPage> {
  const { run, tenant } = filter;
  if (run !== undefined) checkedId(run, "the run");
  if (tenant !== undefined) checkedId(tenant, "the tenant");
  const store = await connection.store();
  const found: KeptAct[] = [];
  let cursor = from;
  for (let read = 0; read < readForPage; ) {
    const page = await store.acts({ ...definedOf({ cursor, since }), limit: readAtOnce });
    found.push(...page.acts.filter((act) => isWanted(act, filter)));
    // The page that is given ends with the last act of it, which is the cursor of the next.
    const shown = found.slice(0, limit);
    if (found.length > limit || (found.length === limit && page.cursor !== null))
      return { acts: shown, cursor: shown.at(-1)?.id ?? null };
    if (page.cursor === null) return { acts: shown, cursor: null };
    read += page.acts.length;
    cursor = page.cursor;
  }
  return { acts: found, cursor: cursor ?? null };
}

function definedOf({ cursor, since }: { readonly cursor: string | undefined; readonly since: number | undefined }) {
  return { ...(cursor === undefined ? {} : { cursor }), ...(since === undefined ? {} : { since }) };
}

function isWanted(
  act: KeptAct,
  { by, run, tenant, act: word }: Pick<AuditQuery, "by" | "run" | "tenant" | "act">,
): boolean {
  return (
    (by === undefined || act.by === by) &&
    (run === undefined || act.run?.id === run) &&
    (tenant === undefined || act.run === null || act.run.tenant === tenant) &&
    (word === undefined || act.act === word)
  );
}
