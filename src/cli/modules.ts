/** Owns: importing the modules of a user's project, TypeScript too, and saying why one cannot be. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { RepriseError } from "../errors.ts";
import { isSaga, type Saga } from "../saga/index.ts";
import { describeError, UsageError } from "./exit.ts";

export type Exported = Readonly<Record<string, unknown>>;

export async function importModule(file: string): Promise<Exported> {
  if (!existsSync(file)) throw new UsageError("there is no such file");
  const url = pathToFileURL(resolve(file)).href;
  const isTypeScript = /\.[cm]?tsx?$/.test(file);
  return isTypeScript && !readsTypeScript() ? await importByTsx(url) : await import(url);
}

/** By itself, or because it was started with a loader that does. Asked before: an import that has failed is not tried again. */
function readsTypeScript(): boolean {
  return Boolean(Reflect.get(process.features, "typescript")) || process.execArgv.join(" ").includes("tsx");
}

/**
 * This Node does not read TypeScript; the user's project usually has tsx, which does. The module shares our copies of `reprise` and
 * XState where they are the project's: what is known by identity (a combined guard) is known again.
 */
async function importByTsx(url: string): Promise<Exported> {
  // The shape is that of tsx's own declarations; it is not a dependency of ours.
  const tsx = (await import(tsxApi())) as { register(): () => Promise<void> };
  const unregister = tsx.register();
  try {
    return await import(url);
  } finally {
    await unregister();
  }
}

/** Where the project's tsx says its API is for `import`; what it has for `require` cannot import modules. */
function tsxApi(): string {
  const project = createRequire(join(process.cwd(), "package.json"));
  try {
    const file = project.resolve("tsx/package.json");
    const { exports } = project(file) as { readonly exports: { readonly "./esm/api": TsxDoor } };
    return pathToFileURL(join(dirname(file), exports["./esm/api"].import.default)).href;
  } catch {
    throw new Error("this Node does not read TypeScript: `npm install --save-dev tsx`, or name the compiled file");
  }
}

interface TsxDoor {
  readonly import: { readonly default: string };
}

/** The sagas that a module exports, one by one or in lists. */
export function sagasOf(exported: Exported): readonly Saga[] {
  const values = Object.values(exported).flatMap((value): readonly unknown[] =>
    Array.isArray(value) ? value : [value],
  );
  return [...new Set(values.filter(isSaga))];
}

/** All sagas of these modules. Throws a UsageError that names the module which cannot be read, or exports none. */
export async function importSagas(files: readonly string[]): Promise<readonly Saga[]> {
  const found = new Set<Saga>();
  for (const file of files) {
    const sagas = sagasOf(await importOrExplain(file));
    if (sagas.length === 0) throw new UsageError(`${file} exports no saga`);
    for (const saga of sagas) found.add(saga);
  }
  return [...found];
}

/** Throws a UsageError that names the module which cannot be read. */
export async function importOrExplain(file: string): Promise<Exported> {
  try {
    return await importModule(file);
  } catch (error) {
    throw new UsageError(`${file}: ${describeImport(error)}`, { cause: error });
  }
}

/** A syntax error names its place in the first lines of its stack; everything else is said by its message. */
export function describeImport(error: unknown): string {
  if (error instanceof SyntaxError) return (error.stack ?? error.message).split("\n    at ")[0] ?? error.message;
  return codeOf(error) === "ERR_MODULE_NOT_FOUND" && error instanceof Error
    ? (error.message.split("\n")[0] ?? error.message)
    : error instanceof RepriseError || !(error instanceof Error)
      ? describeError(error)
      : error.message;
}

export function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
