/** A run with everything that a judgement of it needs: record and ledger of one revision, and its saga as this client has it. */
import type { Judged, RunRef } from "../core/index.ts";
import type { Connection } from "./connection.ts";
import { notFound } from "./send.ts";

/** A run that moves is read again this often before it is judged as read. */
const snapshotTries = 10;

/** With its log where that is looked at. Throws RUN_NOT_FOUND. */
export async function judgedRun(
  connection: Connection,
  run: RunRef,
  { withLog = false }: { readonly withLog?: boolean } = {},
): Promise<Judged> {
  const store = await connection.store();
  for (let tries = 1; ; tries += 1) {
    const record = await store.read(run);
    if (record === null) throw notFound(run);
    const rows = await store.ledger(run);
    if (tries < snapshotTries && (await store.read(run))?.revision !== record.revision) continue;
    const { namespace } = connection.options;
    const machine = connection.machineFor(record);
    const judged = { namespace, record, rows, machine, now: await connection.storeNow() };
    return withLog ? { ...judged, log: await store.log(run, 1, record.revision) } : judged;
  }
}
