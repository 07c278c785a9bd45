/** What `npm start` runs. */
import { batch } from "./sagas/batch.ts";

const email = "ada@example.org";
export const saga = batch;
export const input = {
  id: "b-1",
  email,
  orders: ["o-1", "o-2"].map((id) => ({ id, sku: "A", cents: 4_200, email })),
};
