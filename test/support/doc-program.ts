/** Programs that stand in pages of documentation: taken from them, compiled and run as they stand. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundled, programIn } from "./bundles.ts";
import { type PageName, pages } from "./doc-pages.ts";
import { type Child, owned, spawnChild, spawnProgram } from "./processes.ts";

const root = new URL("../../", import.meta.url).pathname;

export interface DocPage {
  readonly text: string;
  /** Where its programs lie. */
  readonly directory: string;
  /** Names of its programs, in their order. */
  readonly programs: readonly string[];
  /** Starts one, bundled; it is stopped by `stop`. */
  start(program: string, env: Readonly<Record<string, string>>): Promise<Child>;
  /** Runs one to its end, which must be a good one; answers what it printed. */
  output(program: string, env: Readonly<Record<string, string>>): Promise<string>;
  stop(): Promise<void>;
}

export function docPage(name: PageName): DocPage {
  const { own, release } = owned();
  const { text, programs } = programsOf(name);
  const directory = newDirectory();
  writeInto(directory, name);
  const start = async (program: string, env: Readonly<Record<string, string>>) => {
    allBundled ??= bundleAll();
    return own(await spawnChild(programIn(await allBundled, bundleName(name, program)), { env }));
  };
  return {
    text,
    directory,
    programs: programs.map(([file]) => file),
    start,
    output: async (program, env) => {
      const child = await start(program, env);
      const exit = await child.exit;
      if (exit.code === 0 && child.stderr === "") return child.stdout;
      throw new Error(`${program} of ${pages[name].path} ended with ${JSON.stringify(exit)}: ${child.stderr}`);
    },
    stop: async () => {
      await release();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function programsOf(name: PageName) {
  const text = readFileSync(join(root, pages[name].path), "utf8");
  const found = [...text.matchAll(/```ts file=(\S+)\n([\s\S]*?)```/g)];
  const programs = found.map(([, file = "", program = ""]) => [file, program] as const);
  return { text, programs, files: [...programs, ...Object.entries<string>(pages[name].others)] };
}

/** In the repository, so that `reprise` is found as a user's project finds it. */
function newDirectory(): string {
  mkdirSync(join(root, "build"), { recursive: true });
  return mkdtempSync(join(root, "build/doc-"));
}

function writeInto(directory: string, name: PageName): readonly string[] {
  const { files } = programsOf(name);
  for (const [file, program] of files) writeFileSync(join(directory, file), program);
  return files.map(([file]) => file);
}

let allBundled: Promise<string> | null = null;
const bundleName = (name: PageName, file: string) => `${name}-${file.replace(/\.ts$/, "")}`;

/** The programs of all pages together: what they import is bundled once. */
async function bundleAll(): Promise<string> {
  const directory = newDirectory();
  try {
    const names = Object.keys(pages) as readonly PageName[]; // they are its own
    const programs = names.flatMap((name) => {
      const home = join(directory, name);
      mkdirSync(home);
      return writeInto(home, name).map((file) => [bundleName(name, file), join(home, file)] as const);
    });
    return await bundled(Object.fromEntries(programs), [directory]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What the compiler says of the programs of all these pages, as a user of the built package has them; empty: nothing. */
export async function compiled(opened: readonly DocPage[]): Promise<string> {
  const [first] = opened;
  if (first === undefined) return "";
  const include = opened.map(({ directory }) => join(directory, "*.ts"));
  const file = join(first.directory, "tsconfig.json");
  const compilerOptions = { customConditions: [], tsBuildInfoFile: join(first.directory, "tsconfig.tsbuildinfo") };
  writeFileSync(file, JSON.stringify({ extends: join(root, "tsconfig.json"), compilerOptions, include, exclude: [] }));
  const tsc = await spawnProgram(join(root, "node_modules/.bin/tsc"), ["--noEmit", "-p", file]);
  const { code } = await tsc.exit;
  return code === 0 ? "" : `${tsc.stdout}${tsc.stderr}`;
}
