/**
 * Bundles the TypeScript programs that tests start as processes: read module by module one takes some 3 s of CPU to start,
 * bundled 0.5 s, and there are hundreds of starts. Many are bundled together, into files that are kept by the content of what
 * went into them.
 */
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache/reprise-programs");
const tests = ["test/chaos", "test/fault", "test/support", "test/simulation"];
const sources = ["src", "sagas", "workers", ...tests, "package.json", "package-lock.json"];
const conditions = ["source", "node", "import", "default"];
/** As deep as `dist` is beside package.json, which some of them read. */
const place = "dist/programs";
const keptMs = 60 * 60_000;

/** By name: where a program is as it is written. */
export type Programs = Readonly<Record<string, string>>;

let ours: Promise<string> | null = null;

/** Where a program of this repository (`*.child.ts` of a test, or one of `workers`) is, bundled. All of them are, at once. */
export async function bundledProgram(file: string): Promise<string> {
  ours ??= ourPrograms().then((programs) => bundled(programs));
  return programIn(await ours, nameOf(file));
}

/** Bundles these together, unless that was done before: answers their directory. What they import lies in `sources` or `also`. */
export async function bundled(programs: Programs, also: readonly string[] = []): Promise<string> {
  const directory = join(cache, await hashOf(Object.keys(programs), also));
  if (!(await isThere(directory))) await bundleInto(directory, programs);
  await utimes(directory, new Date(), new Date());
  return directory;
}

/** Where a program of these is. */
export function programIn(directory: string, name: string): string {
  return join(directory, place, `${name}.mjs`);
}

async function ourPrograms(): Promise<Programs> {
  const files = (await Promise.all(["workers", ...tests].map((source) => filesIn(join(root, source))))).flat();
  const programs = files.filter((file) => /\/workers\/[^/]+\.ts$|\.child\.ts$/.test(file));
  return Object.fromEntries(programs.map((file) => [nameOf(file), file]));
}

function nameOf(file: string): string {
  return relative(root, resolve(root, file)).replace(/\.ts$/, "").replaceAll("/", "-");
}

async function bundleInto(directory: string, programs: Programs): Promise<void> {
  const { build } = await import("vite"); // takes a while, and is not needed where all is there
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
      outDir: join(draft, place),
      minify: false,
      rollupOptions: { input: { ...programs }, output: { entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" } },
    },
  });
  // Vite has made it `production`, where there is none, and so it would be for whoever is started from here.
  if (mode === undefined) delete process.env["NODE_ENV"];
  // The store reads its scripts from beside the file it is in.
  await cp(join(root, "src/store/lua"), join(draft, place, "lua"), { recursive: true });
  await cp(join(root, "package.json"), join(draft, "package.json"));
  await rename(draft, directory).catch(() => rm(draft, { recursive: true })); // somebody else was quicker
}

async function hashOf(names: readonly string[], also: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(names));
  for (const [base, part] of [...sources.map((source) => [root, source]), ...also.map((path) => [path, "."])]) {
    for (const path of await filesIn(join(base ?? "", part ?? ""))) {
      hash.update(relative(base ?? "", path)).update(await readFile(path));
    }
  }
  return hash.digest("hex").slice(0, 16);
}

/** The files below a directory that can be part of a program, or the file itself, in a fixed order. */
async function filesIn(path: string): Promise<readonly string[]> {
  if ((await stat(path)).isFile()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
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
