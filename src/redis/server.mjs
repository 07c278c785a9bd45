/**
 * Owns private redis-servers: starting one in a directory, recognising it again, sharing it, stopping it.
 *
 * 1. A server is ours if it answers on the socket in its directory, the socket belongs to us, and its process is the one
 *    whose pid the directory holds. Nothing else is ever spoken to or killed.
 * 2. Starting, joining and stopping the server of a directory happen under that directory's lock.
 * 3. Every caller leaves a holder's mark; the last living holder to stop shuts the server down.
 */
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { chmod, link, lstat, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const maxSocketPathBytes = 100;
const startTimeoutMs = 30_000;
const stopTimeoutMs = 10_000;
const lockTimeoutMs = 45_000;
const askTimeoutMs = 2_000;
const pollMs = 20;
const nobodyListens = null;

/** Joins the server of `dir`; without one, starts it from `found`, or answers undefined when `found` is not given. */
export async function joinServer(dir, found) {
  await mkdir(join(dir, "holders"), { recursive: true, mode: 0o700 });
  return await locked(dir, async () => {
    let pid = await runningPid(dir);
    const joined = pid !== undefined;
    if (!joined) {
      if (!found) return undefined;
      pid = (await startServer(found, { dir })).pid;
    }
    const holder = join(dir, "holders", `${process.pid}-${randomUUID()}`);
    await writeFile(holder, "");
    const stop = once(() => locked(dir, () => leave(dir, holder)));
    return { url: `unix://${socketOf(dir)}`, source: joined ? "running" : found.source, pid, dir, stop };
  });
}

/** Starts a server in `dir` that nobody shares; `stop` asks it to end and sees it end. */
export async function startServer(found, { dir, args = [] }) {
  const socket = socketOf(dir);
  await mkdir(join(dir, "data"), { recursive: true, mode: 0o700 });
  await ownSocketDirectory(socket);
  await rm(socket, { force: true });
  const logFile = join(dir, "redis.log");
  const log = await open(logFile, "a");
  const child = spawn(found.binary, [...settings(dir, socket), ...args], {
    // Its own process group: a Ctrl-C in the terminal is for us, and we shut it down after our last write.
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
    env: { ...process.env, ...found.env },
  });
  const ended = new Promise((settle) => child.once("exit", settle).once("error", settle));
  await log.close();
  child.unref();
  const ready = await Promise.race([waitForPong({ path: socket }).then(() => true), ended.then(() => false)]);
  if (!ready) throw await startFailure(logFile);
  return { url: `unix://${socket}`, source: found.source, pid: child.pid, dir, stop: once(() => end(child, ended)) };
}

async function end(child, ended) {
  child.kill("SIGTERM");
  const frozen = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  await ended;
  clearTimeout(frozen);
}

/** Resolves when the server answers PONG (not while it is loading), rejects after a while. */
export async function waitForPong(address) {
  const deadline = Date.now() + startTimeoutMs;
  while ((await ask(address, "PING")) !== "PONG") {
    if (Date.now() > deadline) throw new Error(`Redis did not answer within ${startTimeoutMs} ms`);
    await sleep(pollMs);
  }
}

function settings(dir, socket) {
  const where = ["--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", join(dir, "data")];
  const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"];
  return [...where, ...durable, "--daemonize", "no", "--pidfile", join(dir, "redis.pid")];
}

async function startFailure(logFile) {
  const text = await readFile(logFile, "utf8").catch(() => "");
  return new Error(`redis-server ended while starting:\n${text.trim().split("\n").slice(-5).join("\n")}`);
}

/** A socket path may not be longer than about a hundred bytes; beyond that it lives in a directory of ours below tmp. */
function socketOf(dir) {
  const beside = resolve(dir, "redis.sock");
  if (Buffer.byteLength(beside) <= maxSocketPathBytes) return beside;
  const name = createHash("sha256").update(beside).digest("hex").slice(0, 16);
  return join(tmpdir(), `reprise-${name}`, "redis.sock");
}

async function ownSocketDirectory(socket) {
  await mkdir(dirname(socket), { recursive: true, mode: 0o700 });
  if ((await lstat(dirname(socket))).uid !== process.getuid())
    throw new Error(`${dirname(socket)} belongs to another user`);
  await chmod(dirname(socket), 0o700);
}

async function runningPid(dir) {
  const address = { path: socketOf(dir) };
  const file = await lstat(address.path).catch(() => undefined);
  if (!file?.isSocket() || file.uid !== process.getuid()) return undefined;
  if ((await ask(address, "PING")) === nobodyListens) return undefined;
  // It may be loading. One that is there and never answers is an error: a second server on its files would spoil them.
  await waitForPong(address);
  const pid = Number(await readFile(join(dir, "redis.pid"), "utf8").catch(() => ""));
  const answering = /process_id:(\d+)\r/.exec(await ask(address, "INFO server"))?.[1];
  if (Number(answering) !== pid)
    throw new Error(`${address.path} is answered by process ${answering}, which is not ours`);
  return pid;
}

async function leave(dir, holder) {
  await rm(holder, { force: true });
  for (const name of await readdir(join(dir, "holders")).catch(() => [])) {
    if (isAlive(Number.parseInt(name, 10))) return;
    await rm(join(dir, "holders", name), { force: true });
  }
  await shutDown(dir);
}

async function shutDown(dir) {
  const pid = await runningPid(dir);
  if (pid === undefined) return;
  await ask({ path: socketOf(dir) }, "SHUTDOWN NOSAVE");
  const deadline = Date.now() + stopTimeoutMs;
  while (isAlive(pid)) {
    if (Date.now() > deadline) process.kill(pid, "SIGKILL");
    await sleep(pollMs);
  }
  await rm(join(dir, "redis.pid"), { force: true });
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** One inline command on a connection of its own: the reply's text, "" when none came in time, or `nobodyListens`. */
function ask(address, command) {
  return new Promise((settle) => {
    let reply = "";
    const socket = connect(address, () => socket.write(`${command}\r\n`));
    const done = (value) => {
      socket.destroy();
      settle(value);
    };
    socket.setTimeout(askTimeoutMs, () => done(""));
    socket.setEncoding("utf8").on("data", (text) => {
      reply += text;
      const whole = replyText(reply);
      if (whole !== undefined) done(whole);
    });
    socket.on("error", (error) => done(["ENOENT", "ECONNREFUSED"].includes(error.code) ? nobodyListens : ""));
    socket.on("close", () => done(""));
  });
}

function replyText(reply) {
  const bulk = /^\$(\d+)\r\n/.exec(reply);
  if (!bulk) return /^[+-](.*)\r\n$/.exec(reply)?.[1];
  const [start, length] = [bulk[0].length, Number(bulk[1])];
  return reply.length >= start + length + 2 ? reply.slice(start, start + length) : undefined;
}

async function locked(dir, work) {
  const lock = join(dir, "lock");
  const deadline = Date.now() + lockTimeoutMs;
  while (!(await take(lock))) {
    if (Date.now() > deadline)
      throw new Error(`${lock} is held by process ${await readFile(lock, "utf8").catch(() => "?")}`);
    await sleep(pollMs);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/** The lock appears with its owner's pid in it, in one link; the lock of a process that died is moved out of the way. */
async function take(lock) {
  const mine = `${lock}.${randomUUID()}`;
  try {
    await writeFile(mine, String(process.pid));
    await link(mine, lock);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    const owner = Number(await readFile(lock, "utf8").catch(() => ""));
    // Renamed, not removed: of two who see the same dead owner only one succeeds.
    if (owner && !isAlive(owner)) await rename(lock, mine).catch(() => {});
    return false;
  } finally {
    await rm(mine, { force: true });
  }
}

/** Stopping twice is stopping once. */
function once(work) {
  let result;
  return () => {
    result ??= work();
    return result;
  };
}
