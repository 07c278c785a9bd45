/** Every saga there is: what a worker serves and what a client may start. */
import { agent } from "./agent.ts";
import { batch } from "./batch.ts";
import { loan } from "./loan.ts";
import { order } from "./order.ts";
import { refund } from "./refund.ts";
import { support } from "./support.ts";
import { trip } from "./trip.ts";

export const sagas = [order, trip, support, agent, batch, refund, loan] as const;

export { agent } from "./agent.ts";
export { Batch, batch } from "./batch.ts";
export { loan } from "./loan.ts";
export { Order, order } from "./order.ts";
export { refund } from "./refund.ts";
export { support } from "./support.ts";
export { trip } from "./trip.ts";
