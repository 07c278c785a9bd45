/** What `npm start` runs: so little that nobody has to be asked. */
import { refund } from "./sagas/refund.ts";

export const saga = refund;
export const input = { id: "c-1", orderId: "o-1", cents: 4_000, email: "ada@example.org", openedBy: "eve" };
