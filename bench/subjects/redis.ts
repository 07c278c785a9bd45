/** How the baselines reach Redis: ioredis as BullMQ wants it, nothing else set. */
import { Redis } from "ioredis";

const scheme = "unix://";

export interface Address {
  readonly path?: string;
  readonly host?: string;
  readonly port?: number;
}

/** Where the server of a URL listens: `unix:///path/redis.sock` or `redis://127.0.0.1:port`. */
export function addressOf(url: string): Address {
  if (url.startsWith(scheme)) return { path: url.slice(scheme.length) };
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** Connection options for BullMQ, which makes its own clients. */
export function connectionTo(url: string): Address & { readonly maxRetriesPerRequest: null } {
  return { ...addressOf(url), maxRetriesPerRequest: null };
}

export function clientTo(url: string): Redis {
  return new Redis(connectionTo(url));
}
