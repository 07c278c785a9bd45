/** What a supervisor sees of a namespace, asked of a client and of the servers. Bounded: of a thousand things that wait, the newest. */
import type { Client, InboxItem } from "../client/index.ts";
import type { Seen, ServerFacts } from "../core/index.ts";

const pageSize = 100;
const maxPages = 10;

export async function lookAt(client: Client, servers: () => Promise<readonly ServerFacts[]>): Promise<Seen> {
  const [{ workers, unserved }, items, facts] = await Promise.all([client.workers(), waitingIn(client), servers()]);
  const parked = items.filter(({ kind }) => kind === "review");
  return {
    workers,
    unserved,
    parked: parked.length,
    unknownMs: oldest(parked.filter(({ reason }) => reason === "unknown_outcome")),
    approvalMs: oldest(items.filter(({ kind }) => kind === "approval")),
    servers: facts,
  };
}

async function waitingIn(client: Client): Promise<readonly InboxItem[]> {
  const all: InboxItem[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < maxPages; page += 1) {
    const found = await client.inbox({ limit: pageSize, ...(cursor === null ? {} : { cursor }) });
    all.push(...found.items);
    cursor = found.cursor;
    if (cursor === null) break;
  }
  return all;
}

function oldest(items: readonly InboxItem[]): number | null {
  return items.length === 0 ? null : Math.max(...items.map(({ ageMs }) => ageMs));
}
