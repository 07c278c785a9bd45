/** Programs that stand in pages of documentation: taken from them, compiled and run as they stand. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type PageName, pages } from "./doc-pages.ts";
import { type Child, owned, spawnChild, spawnProgram } from "./processes.ts";

const root = new URL("../../", import.meta.url).pathname;

export interface DocPage {
  readonly text: string;
  /** Where its programs lie. */
  readonly directory: string;
  /** Names of its programs, in their order. */
  readonly programs: readonly string[];
  /** Starts one; it is stopped by `stop`. */
  start(program: string, env: Readonly<Record<string, string>>): Promise<Child>;
  /** Runs one to its end, which must be a good one; answers what it printed. */
  output(program: string, env: Readonly<Record<string, string>>): Promise<string>;
  stop(): Promise<void>;
}

export function docPage(name: PageName): DocPage {
  const { own, release } = owned();
  const { path, others } = pages[name];
  const text = readFileSync(join(root, path), "utf8");
  const found = [...text.matchAll(/```ts file=(\S+)\n([\s\S]*?)```/g)];
  const programs = found.map(([, file = "", program = ""]) => [file, program] as const);
  mkdirSync(join(root, "build"), { recursive: true });
  const directory = mkdtempSync(join(root, "build/doc-"));
  for (const [file, program] of [...programs, ...Object.entries(others)]) writeFileSync(join(directory, file), program);
  const start = async (program: string, env: Readonly<Record<string, string>>) =>
    own(await spawnChild(join(directory, program), { env }));
  return {
    text,
    directory,
    programs: programs.map(([file]) => file),
    start,
    output: async (program, env) => {
      const child = await start(program, env);
      const exit = await child.exit;
      if (exit.code === 0 && child.stderr === "") return child.stdout;
      throw new Error(`${program} of ${path} ended with ${JSON.stringify(exit)}: ${child.stderr}`);
    },
    stop: async () => {
      await release();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** What the compiler says of the programs of all these pages; empty: nothing. */
export async function compiled(opened: readonly DocPage[]): Promise<string> {
  const [first] = opened;
  if (first === undefined) return "";
  const include = opened.map(({ directory }) => join(directory, "*.ts"));
  const file = join(first.directory, "tsconfig.json");
  writeFileSync(file, JSON.stringify({ extends: join(root, "tsconfig.json"), include, exclude: [] }));
  const tsc = await spawnProgram(join(root, "node_modules/.bin/tsc"), ["--noEmit", "-p", file]);
  const { code } = await tsc.exit;
  return code === 0 ? "" : `${tsc.stdout}${tsc.stderr}`;
}
