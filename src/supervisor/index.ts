/** The door of the supervisor: a process outside of those it watches. */
export { lookAt } from "./look.ts";
export { type SupervisorHealth, type SupervisorOptions, type SupervisorPorts, Watchman } from "./supervisor.ts";
export { type Webhook, type WebhookOptions, webhook } from "./webhook.ts";
