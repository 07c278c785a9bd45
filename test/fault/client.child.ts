/**
 * A client process whose ports are wrapped, so that it dies at the point it was told: it starts one run, or sends it one
 * event, and says what it was answered if it lives to hear it.
 */
import { connectedClient } from "../../src/client/index.ts";
import { systemClock, systemIds } from "../../src/engine/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { faultConnections } from "../support/fault-connect.ts";
import {
  type ClientReply,
  type ClientRequest,
  Gate,
  harnessTimeoutMs,
  type Orders,
  settings,
  tenant,
} from "../support/fault-plan.ts";
import { gatedClientPorts } from "../support/fault-ports.ts";
import { sagas } from "../support/fault-sagas.ts";

const orders = readOrders<Orders>();
const gate = new Gate(orders);

async function answer({ namespace, saga, id, refuse, signal }: ClientRequest): Promise<string> {
  const { store, wakeUps, facts, close } = faultConnections(orders.redis, namespace, harnessTimeoutMs);
  const client = connectedClient(
    { ...gatedClientPorts(store, wakeUps, gate), clock: systemClock, ids: systemIds(), facts },
    { namespace, sagas: Object.values(sagas), maxPayloadBytes: settings.maxPayloadBytes, maxReplays: 10 },
  );
  try {
    if (signal !== undefined) return await client.run(id, { tenant, saga: sagas.signalled }).signal("GO", {});
    return (await client.startByName(saga, { id, refuse }, { id, tenant })).id;
  } finally {
    await client.close();
    await close();
  }
}

listen(async (request: ClientRequest) => say<ClientReply>({ answered: await answer(request) }));
say<ClientReply>({ ready: true });
