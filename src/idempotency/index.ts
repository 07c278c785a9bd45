/** The door of the room: a service that is no saga makes its own endpoint idempotent. */
export {
  type Answered,
  type Idempotency,
  idempotencyOf,
  type RequestContext,
  type RequestOptions,
} from "./idempotency.ts";
export { type IdempotencySettings, type IdempotencyTimes, readTimes } from "./settings.ts";
