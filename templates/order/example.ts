/** What `npm start` runs. */
import { order } from "./sagas/order.ts";

export const saga = order;
export const input = { id: "o-1", sku: "A", cents: 4_200, email: "ada@example.org" };
