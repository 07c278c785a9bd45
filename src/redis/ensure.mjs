/**
 * Owns where a developer's, a demo's or a test's Redis comes from. Node built-ins only: it also runs before `npm ci`.
 * Does not own how the store connects (connections.ts) nor whether a server is fit for production (doctor.ts).
 *
 * 1. NODE_ENV=production takes REDIS_URL and nothing else.
 * 2. A server that somebody else started is never adopted: ours is reached by a socket in a directory of ours, and only
 *    if the process behind it is the one written down there.
 * 3. Nothing needs root, no service is installed, nothing outside the cache directory is written.
 * 4. Callers at the same time share one server and one cache; the last one to stop it stops it.
 */
import { access, constants, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { libraryEnv, unpackRedis } from "./apt.mjs";
import { run } from "./process.mjs";
import { joinServer, startServer, waitForPong } from "./server.mjs";

const oldestUsable = [6, 2];
const dockerImage = "redis:8-alpine";

export { startServer };

export async function ensureRedis(options = {}) {
  const { env, cacheDir } = settled(options);
  if (env.REDIS_URL) return { url: env.REDIS_URL, source: "REDIS_URL", stop: async () => {} };
  refuseInProduction(env);
  const dir = options.dir ?? join(cacheDir, "run");
  const running = await joinServer(dir);
  if (running) return running;
  const { found, tried } = await lookForServer(options);
  if (found) return await joinServer(dir, found);
  const inDocker = await runInDocker(env, tried);
  if (inDocker) return inDocker;
  throw notFound(tried);
}

export async function findRedisServer(options = {}) {
  refuseInProduction(settled(options).env);
  const { found, tried } = await lookForServer(options);
  if (found) return found;
  throw notFound(tried);
}

export async function dockerAnswers(env = process.env) {
  const docker = await onPath("docker", env);
  // `docker --version` answers although no engine runs.
  return docker !== undefined && (await run(docker, ["info"], { env, timeoutMs: 10_000 })).code === 0;
}

async function lookForServer(options) {
  const { env, cacheDir, log } = settled(options);
  const tried = [];
  for (const name of ["valkey-server", "redis-server"]) {
    const binary = await onPath(name, env);
    const version = binary && (await versionOf(binary, {}, env));
    if (isUsable(version)) return { tried, found: { binary, env: {}, source: "path" } };
    tried.push(
      `${name} on PATH: ${binary ? `version ${version ?? "unknown"}, ${oldestUsable.join(".")} is needed` : "none"}`,
    );
  }
  const root = join(cacheDir, `redis-${process.platform}-${process.arch}`);
  const cached = await inCache(root, env);
  if (cached) return { tried, found: { ...cached, source: "cache" } };
  tried.push(`a copy in ${cacheDir}: none`);
  const reason = await fromApt(root, env, log);
  const unpacked = reason === undefined ? await inCache(root, env) : undefined;
  if (unpacked) return { tried, found: { ...unpacked, source: "apt" } };
  tried.push(`Debian's packages: ${reason ?? "what was unpacked does not run"}`);
  return { tried };
}

/** The reason why it could not be done, or undefined when the cache now holds a server. */
async function fromApt(root, env, log) {
  const [aptGet, dpkgDeb] = [await onPath("apt-get", env), await onPath("dpkg-deb", env)];
  if (!aptGet || !dpkgDeb) return "no apt-get and dpkg-deb on PATH";
  log("No Redis here: unpacking Debian's into a private cache (once; no root, no service).");
  return await unpackRedis({ root, aptGet, dpkgDeb, env });
}

async function inCache(root, env) {
  const binary = join(root, "usr/bin/redis-server");
  if (!(await isExecutable(binary))) return undefined;
  const own = await libraryEnv(root, env);
  return isUsable(await versionOf(binary, own, env)) ? { binary, env: own } : undefined;
}

async function versionOf(binary, own, env) {
  const { code, output } = await run(binary, ["--version"], { env: { ...env, ...own }, timeoutMs: 10_000 });
  return code === 0 ? /v=(\d+\.\d+\.\d+)/.exec(output)?.[1] : undefined;
}

function isUsable(version) {
  if (!version) return false;
  const [major, minor] = version.split(".").map(Number);
  return major > oldestUsable[0] || (major === oldestUsable[0] && minor >= oldestUsable[1]);
}

async function runInDocker(env, tried) {
  if (!(await dockerAnswers(env))) {
    tried.push("docker: `docker info` does not answer");
    return undefined;
  }
  const docker = await onPath("docker", env);
  const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"];
  const args = ["run", "--detach", "--rm", "--publish", "127.0.0.1::6379", dockerImage, "redis-server", ...durable];
  const started = await run(docker, args, { env, timeoutMs: 300_000 });
  if (started.code !== 0) {
    tried.push(`docker: ${started.output.trim()}`);
    return undefined;
  }
  const id = started.stdout.trim();
  const stop = async () => void (await run(docker, ["stop", id], { env, timeoutMs: 30_000 }));
  const { stdout } = await run(docker, ["port", id, "6379/tcp"], { env, timeoutMs: 10_000 });
  const port = Number(/:(\d+)\s*$/m.exec(stdout)?.[1]);
  await waitForPong({ host: "127.0.0.1", port });
  return { url: `redis://127.0.0.1:${port}`, source: "docker", stop };
}

function settled(options) {
  const env = options.env ?? process.env;
  const cacheHome = env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache");
  return { env, cacheDir: options.cacheDir ?? join(cacheHome, "reprise"), log: options.log ?? (() => {}) };
}

function refuseInProduction(env) {
  if (env.NODE_ENV !== "production") return;
  throw failure(
    "NODE_ENV is production and REDIS_URL is not set: no server is looked for or started there. Set REDIS_URL.",
  );
}

function notFound(tried) {
  return failure(
    [
      "No Redis server was found, and none could be fetched. Any one of these is enough:",
      "  1. set REDIS_URL to a server you run (redis://host:6379)",
      "  2. install one: `apt-get install redis-server`, or on macOS `brew install redis`; it need not be running",
      "  3. start Docker, so that `docker info` answers",
      "Tried:",
      ...tried.map((line) => `  - ${line}`),
    ].join("\n"),
  );
}

function failure(message) {
  return Object.assign(new Error(message), { code: "REDIS_NOT_FOUND" });
}

async function onPath(name, env) {
  for (const dir of (env.PATH ?? "").split(delimiter)) {
    if (dir && (await isExecutable(join(dir, name)))) return join(dir, name);
  }
  return undefined;
}

async function isExecutable(path) {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
