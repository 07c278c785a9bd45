/**
 * Runs before every npm script, so that each of them works as the very first command in a fresh clone: installs the
 * locked dependencies when they are missing or not the locked ones, and, asked for `redis`, sees to a redis-server.
 * Node built-ins only. Says nothing when there is nothing to do.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dockerAnswers, findRedisServer } from "../src/redis/ensure.mjs";

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Reprise needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}

const root = join(import.meta.dirname, "..");
const lockFile = join(root, "package-lock.json");
const installedFile = join(root, "node_modules/.package-lock.json");
const stampFile = join(root, "node_modules/.reprise-lock");
const stamp = createHash("sha256").update(readFileSync(lockFile)).digest("hex");

if (!isStamped()) {
  if (!isLockedInstalled()) install();
  writeFileSync(stampFile, stamp);
}
if (process.argv.includes("redis") && !process.env.REDIS_URL) await seeToRedis();

function isStamped() {
  return existsSync(stampFile) && readFileSync(stampFile, "utf8") === stamp;
}

/** Somebody may have installed by hand: npm keeps beside the packages a lock of what it put there. */
function isLockedInstalled() {
  if (!existsSync(installedFile)) return false;
  const wanted = Object.entries(readJson(lockFile).packages).filter(([path]) => path !== "");
  const installed = readJson(installedFile).packages;
  return wanted.every(([path, entry]) => {
    const there = installed[path];
    return there ? there.integrity === entry.integrity : entry.optional === true;
  });
}

function install() {
  const started = Date.now();
  console.log("Installing the locked dependencies (npm ci) ...");
  const npm = process.env.npm_execpath;
  const [file, first] = npm?.endsWith(".js") ? [process.execPath, [npm]] : ["npm", []];
  const args = [...first, "ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stdout, stderr, error } = spawnSync(file, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) {
    process.stderr.write(`${stdout ?? ""}${stderr ?? ""}${error ? `${error.message}\n` : ""}npm ci failed.\n`);
    process.exit(1);
  }
  process.stderr.write(stderr);
  console.log(`Installed in ${seconds(started)}.`);
}

async function seeToRedis() {
  const started = Date.now();
  try {
    const { source } = await findRedisServer({ log: console.log });
    if (source === "apt") console.log(`Redis is there after ${seconds(started)}.`);
  } catch (error) {
    if (await dockerAnswers()) return;
    console.error(error.message);
    process.exit(1);
  }
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}
