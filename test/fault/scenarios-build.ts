/**
 * Bundles the worker process of the scenarios into one file, as `fault-build.ts` does for the crash points: from source a
 * process needs some 3 s of CPU to start, bundled 0.7 s. Built once for each content of the sources.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache/reprise-scenarios");
const sources = ["src", "test/fault", "test/support"];
const conditions = ["source", "node", "import", "default"];
const keptMs = 60 * 60_000;

/** The built worker process. */
export async function builtWorker(): Promise<string> {
  const directory = join(cache, await hashOfSources());
  if (!existsSync(directory)) await buildInto(directory);
  return join(directory, "worker.mjs");
}

async function buildInto(directory: string): Promise<void> {
  await forgetOld();
  const draft = `${directory}.${process.pid}`;
  await build({
    configFile: false,
    logLevel: "warn",
    root,
    resolve: { conditions },
    ssr: { noExternal: true, target: "node", resolve: { conditions } },
    build: {
      ssr: "test/fault/scenarios-worker.child.ts",
      target: "node20",
      outDir: draft,
      minify: false,
      rollupOptions: { output: { entryFileNames: "worker.mjs", codeSplitting: false } },
    },
  });
  // The store reads its scripts from beside the file it is in.
  await cp(join(root, "src/store/lua"), join(draft, "lua"), { recursive: true });
  await rename(draft, directory).catch(() => rm(draft, { recursive: true })); // somebody else was quicker
}

async function forgetOld(): Promise<void> {
  await mkdir(cache, { recursive: true });
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    if (Date.now() - (await stat(path)).mtimeMs > keptMs) await rm(path, { recursive: true, force: true });
  }
}

async function hashOfSources(): Promise<string> {
  const hash = createHash("sha256");
  for (const source of sources) {
    const files = await readdir(join(root, source), { recursive: true, withFileTypes: true });
    const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
    for (const path of paths.sort()) hash.update(relative(root, path)).update(await readFile(path));
  }
  return hash.digest("hex").slice(0, 16);
}
