/**
 * Where Redis is, as people write it: `redis://[user[:password]@]host[:port][/db]`, `rediss://` for TLS,
 * `unix:///path/to/redis.sock[?db=n]`, and for a cluster several hosts or `?cluster=true`:
 * `redis://a:7000,b:7001,c:7002?cluster=true`. Owns reading that text and showing it again without the password.
 */
import { RepriseError } from "../errors.ts";

/** A Redis by its parts. */
export interface RedisTarget {
  /** One for a single server, the seeds for a cluster; none where `socketPath` is given. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly socketPath: string | null;
  readonly isCluster: boolean;
  readonly usesTls: boolean;
  readonly username: string | null;
  readonly password: string | null;
  readonly db: number;
}

const defaultPort = 6379;

/** Reads a URL. Throws CONFIG_INVALID, with the password masked, for what is not one. */
export function readTarget(url: string): RedisTarget {
  if (url.startsWith("unix://")) return readSocket(url);
  const match = /^(rediss?):\/\/(?:([^@/?]*)@)?([^/?@]+)(?:\/(\d{0,3}))?(?:\?(.*))?$/.exec(url);
  if (match?.[1] === undefined || match[3] === undefined)
    throw invalid(url, "it is neither redis://, rediss:// nor unix://");
  const hosts = match[3].split(",").map((part) => readHost(part, url));
  const query = new URLSearchParams(match[5] ?? "");
  const isCluster = query.get("cluster") === "true";
  const db = Number(match[4] ?? 0);
  if (hosts.length > 1 && !isCluster) throw invalid(url, "several hosts are a cluster: add ?cluster=true");
  if (isCluster && db > 0) throw invalid(url, "a cluster has database 0 only");
  return { hosts, socketPath: null, isCluster, usesTls: match[1] === "rediss", db, ...readUser(match[2], url) };
}

function readSocket(url: string): RedisTarget {
  const match = /^unix:\/\/(?:([^@/?]*)@)?(\/[^?]+)(?:\?(.*))?$/.exec(url);
  if (match?.[2] === undefined) throw invalid(url, "a socket is unix:///path/to/redis.sock");
  const db = Number(new URLSearchParams(match[3] ?? "").get("db") ?? 0);
  return { hosts: [], socketPath: match[2], isCluster: false, usesTls: false, db, ...readUser(match[1], url) };
}

function readHost(part: string, url: string): { host: string; port: number } {
  const match = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(part.trim());
  const port = Number(match?.[2] ?? defaultPort);
  if (match?.[1] === undefined || port < 1 || port > 65_535) throw invalid(url, `${part.trim()} is no host:port`);
  return { host: match[1].replace(/^\[|\]$/g, ""), port };
}

function readUser(text: string | undefined, url: string): Pick<RedisTarget, "username" | "password"> {
  if (text === undefined || text === "") return { username: null, password: null };
  const colon = text.indexOf(":");
  const [user, password] = colon < 0 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  try {
    return { username: decodeURIComponent(user) || null, password: decodeURIComponent(password) || null };
  } catch {
    throw invalid(url, "user and password are percent-encoded");
  }
}

function invalid(url: string, why: string): RepriseError {
  return new RepriseError("CONFIG_INVALID", `${masked(url)} does not say where Redis is: ${why}`, {
    details: { url: masked(url) },
  });
}

/** The URL with its password, if it has one, replaced. */
export function masked(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^:@/?]*):[^@]*@/i, "$1:***@");
}

/** For messages: `redis://a:7000,b:7001`, never a user or a password. */
export function placeOf(target: RedisTarget): string {
  if (target.socketPath !== null) return `unix://${target.socketPath}`;
  const scheme = target.usesTls ? "rediss" : "redis";
  return `${scheme}://${target.hosts.map(({ host, port }) => `${host}:${port}`).join(",")}`;
}
