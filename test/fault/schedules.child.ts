/** A replica as many write it: when it boots it puts its schedule, and serves the runs. */
import { createClient, createWorker } from "../../src/index.ts";
import { listen, readOrders, say } from "../support/fault-child.ts";
import { everySecond, sweeping, type TickOrders, type TickSaid } from "./schedules-words.ts";

const place = { ...readOrders<TickOrders>(), sagas: [sweeping] };
listen(async () => undefined);
const client = createClient(place);
const worker = createWorker({ ...place, services: {}, log: () => undefined });
await Promise.all([client.schedules.put(everySecond), worker.start()]);
say<TickSaid>({ ready: true });
