/** The door of the supervisor: a process outside of those it watches. */
export { lookAt } from "./look.ts";
export { type SupervisorHealth, Watchman } from "./supervisor.ts";
export { type Webhook, webhook } from "./webhook.ts";
