/** A redis-server (or valkey-server) that can be started here. */
export interface FoundRedis {
  /** Absolute path of the program. */
  readonly binary: string;
  /** To be laid over the environment of the process that starts it (a cached copy needs `LD_LIBRARY_PATH`). */
  readonly env: Readonly<Record<string, string>>;
  readonly source: "path" | "cache" | "apt";
}

/** A Redis that is ready to be used. */
export interface EnsuredRedis {
  /**
   * `REDIS_URL` as it was given, `redis://127.0.0.1:<port>`, or, for a server of our own, `unix:///path/redis.sock`:
   * to connect, hand ioredis the path (`url.slice("unix://".length)`).
   */
  readonly url: string;
  readonly source: "REDIS_URL" | "running" | "path" | "cache" | "apt" | "docker";
  readonly pid?: number;
  /** Where a server of our own keeps its socket, its log (`redis.log`) and its files (`data`). */
  readonly dir?: string;
  /** Gives it back; calling it again does nothing. A server of our own ends when its last user gives it back. */
  stop(): Promise<void>;
}

export interface EnsureOptions {
  /** Instead of `process.env`: REDIS_URL, NODE_ENV, PATH, XDG_CACHE_HOME and HOME are read. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where a fetched server and our own instance live; `reprise` in the user's cache directory unless given. */
  readonly cacheDir?: string;
  /** Told, in one line, of what takes time. */
  readonly log?: (line: string) => void;
}

export interface SharedOptions extends EnsureOptions {
  /** The directory of the private server to join or start, instead of the one that all callers of this user share. */
  readonly dir?: string;
}

/**
 * A usable Redis, found or started: REDIS_URL, our own running instance, a server on PATH, a cached one, Debian's
 * packages unpacked without root, Docker. Under `NODE_ENV=production` only REDIS_URL is accepted.
 * Throws an error with code `REDIS_NOT_FOUND` whose message names the ways out.
 */
export function ensureRedis(options?: SharedOptions): Promise<EnsuredRedis>;

/** The program only, not started; the same search without REDIS_URL and Docker, and the same error. */
export function findRedisServer(options?: EnsureOptions): Promise<FoundRedis>;

/**
 * Starts a server in `dir` (its files are kept there, so that a second start finds its data again) that nobody shares:
 * unix socket, no TCP port, every write synced, no eviction. `args` come last and win (`["--port", "7001"]`).
 */
export function startServer(
  found: FoundRedis,
  options: { readonly dir: string; readonly args?: readonly string[] },
): Promise<EnsuredRedis & { readonly pid: number; readonly dir: string }>;

/** Whether a Docker engine answers, not merely whether its client is installed. */
export function dockerAnswers(env?: EnsureOptions["env"]): Promise<boolean>;
