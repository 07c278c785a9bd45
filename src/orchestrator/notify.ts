/** Who is told when runs end, park or wait, and how. */
import { isHookUrl, type NotifyOptions } from "../config.ts";
import { idPattern, type NoticeFate, type NoticeHook, noticeKinds } from "../core/index.ts";
import type { TellHook } from "../engine/index.ts";
import { RepriseError } from "../errors.ts";
import { post } from "../webhook/index.ts";

/** Who wants to hear. A name becomes part of what things are called in the store. */
export function hooksOf(notify: Readonly<Record<string, NotifyOptions>>): readonly NoticeHook[] {
  const problems = Object.entries(notify).flatMap(([name, { url }]) => {
    if (!idPattern.test(name)) return [`notify.${name}: a name is 1 to 64 characters of A-Z a-z 0-9 _ . -`];
    return url === undefined || isHookUrl(url) ? [] : [`notify.${name}.url is no http(s) URL without a password in it`];
  });
  if (problems.length > 0) throw new RepriseError("CONFIG_INVALID", problems.join("; "), { details: { problems } });
  return Object.entries(notify).map(([name, { url, on, sagas, tenants }]) => {
    const read = url === undefined ? { isRead: true } : {};
    return { name, on: on ?? noticeKinds, sagas: sagas ?? null, tenants: tenants ?? null, ...read };
  });
}

export function tellerOf(notify: Readonly<Record<string, NotifyOptions>>): TellHook {
  return async (hook, id, body, signal) => {
    // Hooks are made of it, and only those with a URL are told.
    const { url = "", secret = null } = notify[hook] as NotifyOptions;
    const refusal = await post({ url, secret }, { id, body }, signal);
    if (refusal === null) return { fate: "taken", why: "" };
    return { fate: fateOf(refusal.status), why: refusal.why };
  };
}

/** A request that takes too long may be about that one run; so may any answer but those by which a server says that it is not there. */
function fateOf(status: number | "late" | null): NoticeFate {
  if (status === goneStatus) return "refused";
  return status === null || awayStatuses.includes(status) ? "away" : "failed";
}

/** By it alone a receiver says that it never wants to be sent this again. */
const goneStatus = 410;
/** Too many requests; bad gateway, unavailable, gateway time-out. */
const awayStatuses: readonly (number | "late")[] = [429, 502, 503, 504];
