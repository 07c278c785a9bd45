/** The door of webhooks: how something is told over HTTP, signed. */
export { type PostTarget, post } from "./post.ts";
