/**
 * Bundles the child processes of the fault tests, each into one file: started from source a process needs some 3 s of CPU,
 * bundled 0.7 s, and there are more than a hundred of them. The files are kept by the content of what went into them.
 */
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache/reprise-fault");
const sources = ["src", "test/chaos", "test/fault", "test/support"];
const conditions = ["source", "node", "import", "default"];
const keptMs = 60 * 60_000;

/** By name: the source of a child process, or the file that it was bundled into. */
export type Children<Name extends string = string> = Readonly<Record<Name, string>>;

/** Bundles these files of the repository, unless they were bundled from the same sources before. */
export async function builtChildren<Name extends string>(children: Children<Name>): Promise<Children<Name>> {
  const directory = join(cache, await hashOf(children));
  if (!(await isThere(directory))) await buildInto(directory, children);
  const built = Object.keys(children).map((name) => [name, join(directory, `${name}.mjs`)]);
  return Object.fromEntries(built) as Children<Name>; // the names are theirs
}

async function buildInto(directory: string, children: Children): Promise<void> {
  await forgetOld();
  const draft = `${directory}.${process.pid}`;
  const mode = process.env["NODE_ENV"];
  await build({
    configFile: false,
    logLevel: "warn",
    root,
    resolve: { conditions },
    ssr: { noExternal: true, target: "node", resolve: { conditions } },
    build: {
      ssr: true,
      target: "node20",
      outDir: draft,
      minify: false,
      rollupOptions: { input: { ...children }, output: { entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" } },
    },
  });
  // Vite has made it `production`, where there is none, and so it would be for whoever is started from here.
  if (mode === undefined) delete process.env["NODE_ENV"];
  // The store reads its scripts from beside the file it is in.
  await cp(join(root, "src/store/lua"), join(draft, "lua"), { recursive: true });
  await rename(draft, directory).catch(() => rm(draft, { recursive: true })); // somebody else was quicker
}

async function hashOf(children: Children): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(children));
  for (const source of sources) {
    const files = await readdir(join(root, source), { recursive: true, withFileTypes: true });
    const paths = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
    for (const path of paths.sort()) hash.update(relative(root, path)).update(await readFile(path));
  }
  return hash.digest("hex").slice(0, 16);
}

async function forgetOld(): Promise<void> {
  await mkdir(cache, { recursive: true });
  for (const name of await readdir(cache)) {
    const path = join(cache, name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > keptMs) await rm(path, { recursive: true, force: true });
  }
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
