/**
 * Where Redis is, as people write it: `redis://[user[:password]@]host[:port][/db]`, `rediss://` for TLS,
 * `unix:///path/to/redis.sock[?db=n]`, for a cluster several hosts or `?cluster=true`:
 * `redis://a:7000,b:7001,c:7002?cluster=true`, and behind Sentinel the sentinels and what they call the primary:
 * `redis+sentinel://[user[:password]@]s1[:26379],s2,s3/primary[/db][?sentinelPassword=...]` (`rediss+sentinel://` for TLS).
 * Owns reading that text and showing it again without the passwords.
 */
import { RepriseError } from "../errors.ts";

/** A Redis by its parts. */
export interface RedisTarget {
  /** One for a single server, the seeds for a cluster, the sentinels behind Sentinel; none where `socketPath` is given. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[];
  readonly socketPath: string | null;
  readonly isCluster: boolean;
  /** Who is asked where the primary is; `null`: nobody. */
  readonly sentinel: SentinelTarget | null;
  readonly usesTls: boolean;
  readonly username: string | null;
  readonly password: string | null;
  readonly db: number;
}

/** What sentinels call the primary, and as whom they are asked. */
export interface SentinelTarget {
  readonly name: string;
  readonly username: string | null;
  readonly password: string | null;
}

const defaultPort = 6379;
const sentinelPort = 26_379;

/** Reads a URL. Throws CONFIG_INVALID, with the password masked, for what is not one. */
export function readTarget(url: string): RedisTarget {
  if (url.startsWith("unix://")) return readSocket(url);
  if (/^rediss?\+sentinel:/.test(url)) return readSentinels(url);
  const match = /^(rediss?):\/\/(?:([^@/?]*)@)?([^/?@]+)(?:\/(\d{0,3}))?(?:\?(.*))?$/.exec(url);
  if (match?.[1] === undefined || match[3] === undefined)
    throw invalid(url, "it is neither redis://, rediss://, redis+sentinel:// nor unix://");
  const hosts = match[3].split(",").map((part) => readHost(part, url, defaultPort));
  const query = new URLSearchParams(match[5] ?? "");
  const isCluster = query.get("cluster") === "true";
  const db = Number(match[4] ?? 0);
  if (hosts.length > 1 && !isCluster)
    throw invalid(url, "several hosts are a cluster: add ?cluster=true (sentinels are redis+sentinel://)");
  if (isCluster && db > 0) throw invalid(url, "a cluster has database 0 only");
  const user = readUser(match[2], url);
  return { hosts, socketPath: null, isCluster, sentinel: null, usesTls: match[1] === "rediss", db, ...user };
}

function readSentinels(url: string): RedisTarget {
  const match = /^(rediss?)\+sentinel:\/\/(?:([^@/?]*)@)?([^/?@]+)\/([^/?@]+)(?:\/(\d{0,3}))?(?:\?(.*))?$/.exec(url);
  if (match?.[3] === undefined || match[4] === undefined)
    throw invalid(url, "sentinels are redis+sentinel://host:26379,host:26379/name, with the name of the primary");
  const query = new URLSearchParams(match[6] ?? "");
  if (query.get("cluster") === "true") throw invalid(url, "a cluster has no sentinels");
  const name = decoded(match[4], url);
  const [username, password] = [query.get("sentinelUsername") || null, query.get("sentinelPassword") || null];
  return {
    hosts: match[3].split(",").map((part) => readHost(part, url, sentinelPort)),
    socketPath: null,
    isCluster: false,
    sentinel: { name, username, password },
    usesTls: match[1] === "rediss",
    db: Number(match[5] ?? 0),
    ...readUser(match[2], url),
  };
}

function readSocket(url: string): RedisTarget {
  const match = /^unix:\/\/(?:([^@/?]*)@)?(\/[^?]+)(?:\?(.*))?$/.exec(url);
  if (match?.[2] === undefined) throw invalid(url, "a socket is unix:///path/to/redis.sock");
  const db = Number(new URLSearchParams(match[3] ?? "").get("db") ?? 0);
  const user = readUser(match[1], url);
  return { hosts: [], socketPath: match[2], isCluster: false, sentinel: null, usesTls: false, db, ...user };
}

function readHost(part: string, url: string, otherwise: number): { host: string; port: number } {
  const match = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(part.trim());
  const port = Number(match?.[2] ?? otherwise);
  if (match?.[1] === undefined || port < 1 || port > 65_535) throw invalid(url, `${part.trim()} is no host:port`);
  return { host: match[1].replace(/^\[|\]$/g, ""), port };
}

function readUser(text: string | undefined, url: string): Pick<RedisTarget, "username" | "password"> {
  if (text === undefined || text === "") return { username: null, password: null };
  const colon = text.indexOf(":");
  const [user, password] = colon < 0 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  return { username: decoded(user, url) || null, password: decoded(password, url) || null };
}

function decoded(text: string, url: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid(url, "user, password and name are percent-encoded");
  }
}

function invalid(url: string, why: string): RepriseError {
  return new RepriseError("CONFIG_INVALID", `${masked(url)} does not say where Redis is: ${why}`, {
    details: { url: masked(url) },
  });
}

/** The URL with its passwords, if it has any, replaced. */
export function masked(url: string): string {
  return url.replace(/^([a-z+]+:\/\/[^:@/?]*):[^@]*@/i, "$1:***@").replace(/(sentinelPassword=)[^&]*/i, "$1***");
}

/** For messages: `redis://a:7000,b:7001` or `redis+sentinel://a:26379/main`, never a user or a password. */
export function placeOf(target: RedisTarget): string {
  if (target.socketPath !== null) return `unix://${target.socketPath}`;
  const scheme = target.usesTls ? "rediss" : "redis";
  const hosts = target.hosts.map(({ host, port }) => `${host}:${port}`).join(",");
  return target.sentinel === null ? `${scheme}://${hosts}` : `${scheme}+sentinel://${hosts}/${target.sentinel.name}`;
}
