/**
 * Owns unpacking Debian's redis-server into a directory, without root and without installing anything.
 * What is unpacked appears under its final name in one rename, whole and tried, or not at all: callers at the same time
 * may both work, the first to finish wins, and nobody ever sees a half of it.
 */
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { run } from "./process.mjs";

const packages = ["redis-server", "redis-tools", "libjemalloc2", "liblzf1", "libatomic1"];
const maxMissingLibraries = 12;
const aptTimeoutMs = 180_000;

/** The reason why it could not be done, or undefined when `root` now holds a server that runs. */
export async function unpackRedis({ root, aptGet, dpkgDeb, env }) {
  await mkdir(dirname(root), { recursive: true, mode: 0o700 });
  const staging = await mkdtemp(`${root}.unpacking-`);
  const apt = { aptGet, dpkgDeb, staging, unpacked: join(staging, "root"), env: { ...env, LC_ALL: "C" } };
  try {
    return (await fetchAndUnpack(apt, packages)) ?? (await addMissingLibraries(apt)) ?? (await publish(apt, root));
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** The environment in which what was unpacked below `root` finds its libraries. */
export async function libraryEnv(root, env) {
  const dirs = [];
  for (const lib of [join(root, "usr/lib"), join(root, "lib")]) {
    const names = await readdir(lib).catch(() => []);
    dirs.push(...names.filter((name) => name.includes("-linux-")).map((name) => join(lib, name)));
  }
  return { LD_LIBRARY_PATH: [...dirs, env.LD_LIBRARY_PATH].filter(Boolean).join(":") };
}

async function fetchAndUnpack(apt, names) {
  const debs = await mkdtemp(join(apt.staging, "debs-"));
  const reason = await download(apt, names, debs);
  if (reason !== undefined) return reason;
  for (const file of await readdir(debs)) {
    const { code, output } = await run(apt.dpkgDeb, ["-x", join(debs, file), apt.unpacked], {
      ...apt,
      timeoutMs: 60_000,
    });
    if (code !== 0) return lastLine(output);
  }
  return undefined;
}

/** With the machine's package lists, or, where those are empty or too old (a bare image), with lists of our own. */
async function download(apt, names, cwd) {
  const own = join(apt.staging, "apt");
  await mkdir(join(own, "lists/partial"), { recursive: true });
  await mkdir(join(own, "cache/archives/partial"), { recursive: true });
  const quiet = ["-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=1", "-o", `Dir::Cache=${own}/cache`];
  const ownLists = [...quiet, "-o", `Dir::State::lists=${own}/lists`];
  const aptGet = (args) => run(apt.aptGet, args, { env: apt.env, cwd, timeoutMs: aptTimeoutMs });
  const first = await aptGet([...quiet, "download", ...names]);
  if (first.code === 0) return undefined;
  // One repository of several may be out of reach: what counts is whether the packages can be had afterwards.
  const update = await aptGet([...ownLists, "update"]);
  const second = await aptGet([...ownLists, "download", ...names]);
  return second.code === 0 ? undefined : lastLine(update.code === 0 ? second.output : update.output);
}

/**
 * A slim image may lack a library that the server links to, and other releases link to other ones. The loader names the
 * missing file, and Debian names its package after it: libfoo.so.3 is in libfoo3 (libfoo3t64), libfoo5.1.so.0 in libfoo5.1-0.
 */
async function addMissingLibraries(apt) {
  for (let turn = 0; turn < maxMissingLibraries; turn++) {
    const { code, output } = await tryServer(apt.unpacked, apt.env);
    if (code === 0) return undefined;
    const missing = /(lib[\w.+-]+?)\.so\.([\d.]+): cannot open/.exec(output);
    if (!missing) return lastLine(output);
    const name = missing[1].replace("libcrypto", "libssl").replace(/\d$/, "$&-") + missing[2];
    const reason = await fetchAndUnpack(apt, [name]);
    if (reason !== undefined && (await fetchAndUnpack(apt, [`${name}t64`])) !== undefined) return reason;
  }
  return "too many libraries are missing";
}

async function publish(apt, root) {
  try {
    await rename(apt.unpacked, root);
  } catch (error) {
    if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") return error.message;
    const standing = await tryServer(root, apt.env);
    if (standing.code === 0) return undefined; // Somebody was faster; his may be running by now.
    await rename(root, join(apt.staging, "broken")).catch(() => {});
    await rename(apt.unpacked, root).catch(() => {});
  }
  return undefined;
}

async function tryServer(root, env) {
  const own = await libraryEnv(root, env);
  return await run(join(root, "usr/bin/redis-server"), ["--version"], { env: { ...env, ...own }, timeoutMs: 10_000 });
}

function lastLine(output) {
  const lines = output.trim().split("\n");
  return lines.findLast((line) => line.startsWith("E:")) ?? lines.at(-1) ?? "no reason given";
}
