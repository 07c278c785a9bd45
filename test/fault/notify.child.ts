/** A worker that tells hooks. */
import { createWorker } from "../../src/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { type NotifyOrders, type NotifySaid, told } from "./notify-words.ts";

listen(async () => undefined);
const worker = createWorker({ ...readOrders<NotifyOrders>(), sagas: told, facts: { emit: () => undefined } });
await worker.start();
say<NotifySaid>({ ready: worker.id });
