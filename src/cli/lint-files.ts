/**
 * Owns: importing modules and printing what is wrong, or doubtful, about the sagas they export. The findings are those that
 * `saga()` refuses with, so a module that throws them is read like one that is merely warned about.
 */
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { RepriseError } from "../errors.ts";
import { type Finding, formatFinding, isSaga, lintExports } from "../saga/index.ts";
import { colorsFor } from "./colors.ts";
import { describeError, type ExitCode, exitCodes } from "./exit.ts";

/** What was found in one file. */
interface FileReport {
  readonly file: string;
  readonly sagas: number;
  readonly findings: readonly Finding[];
  /** Why the module could not be read; `null`: it could. */
  readonly problem: string | null;
}

export async function lintFiles(files: readonly string[], options: { readonly json?: true }): Promise<ExitCode> {
  const reports: FileReport[] = [];
  for (const file of files) reports.push(await lintFile(file));
  if (options.json) printJson(reports);
  else printText(reports);
  return exitCode(reports);
}

async function lintFile(file: string): Promise<FileReport> {
  try {
    const exported = await importModule(resolve(file));
    const values = Object.values(exported).flatMap((value): readonly unknown[] =>
      Array.isArray(value) ? value : [value],
    );
    const sagas = new Set(values.filter(isSaga)).size;
    return { file, sagas, findings: lintExports(exported), problem: null };
  } catch (error) {
    const findings = refusedWith(error);
    return findings === null
      ? { file, sagas: 0, findings: [], problem: describeImport(error) }
      : { file, sagas: 0, findings, problem: null };
  }
}

async function importModule(path: string): Promise<Readonly<Record<string, unknown>>> {
  const url = pathToFileURL(path).href;
  try {
    return await import(url);
  } catch (error) {
    if (codeOf(error) !== "ERR_UNKNOWN_FILE_EXTENSION") throw error;
    return await importByTsx(url);
  }
}

/** This Node does not read TypeScript; the user's project usually has tsx, which does. */
async function importByTsx(url: string): Promise<Readonly<Record<string, unknown>>> {
  let found: string;
  try {
    found = createRequire(join(process.cwd(), "package.json")).resolve("tsx/esm/api");
  } catch {
    throw new Error("this Node does not read TypeScript: `npm install --save-dev tsx`, or lint the compiled file");
  }
  // The shape is that of tsx's own declarations; it is not a dependency of ours.
  const tsx = (await import(pathToFileURL(found).href)) as {
    tsImport(specifier: string, parent: string): Promise<Readonly<Record<string, unknown>>>;
  };
  return await tsx.tsImport(url, import.meta.url);
}

/** The findings that a declaration was refused with, across copies of the package; `null`: it is another error. */
function refusedWith(error: unknown): readonly Finding[] | null {
  if (codeOf(error) !== "DEFINITION_INVALID" || !(error instanceof Error)) return null;
  const details = "details" in error ? (error as RepriseError).details : {};
  const findings = details["findings"];
  if (Array.isArray(findings)) return findings as readonly Finding[]; // `refuseErrors` puts nothing else there
  const one = { level: "error", code: "DEFINITION_INVALID", saga: null, state: null, step: null } as const;
  return [{ ...one, message: error.message.replace(/\.$/, ""), fix: "Mend the declaration" }];
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

/** A syntax error names its place in the first lines of its stack; everything else is said by its message. */
function describeImport(error: unknown): string {
  if (error instanceof SyntaxError) return (error.stack ?? error.message).split("\n    at ")[0] ?? error.message;
  return codeOf(error) === "ERR_MODULE_NOT_FOUND" && error instanceof Error
    ? (error.message.split("\n")[0] ?? error.message)
    : error instanceof RepriseError || !(error instanceof Error)
      ? describeError(error)
      : error.message;
}

function exitCode(reports: readonly FileReport[]): ExitCode {
  if (reports.some(({ findings }) => findings.some(({ level }) => level === "error"))) return exitCodes.findings;
  return reports.some(({ problem }) => problem !== null) ? exitCodes.usage : exitCodes.ok;
}

function printJson(reports: readonly FileReport[]): void {
  const data = { files: reports, errors: countOf(reports, "error"), warnings: countOf(reports, "warning") };
  console.log(JSON.stringify({ apiVersion: "v1", kind: "LintReport", data }));
}

function printText(reports: readonly FileReport[]): void {
  const colors = colorsFor(process.stdout);
  for (const { file, sagas, findings, problem } of reports) {
    console.log(colors.bold(file));
    if (problem !== null) console.log(`  ${colors.red("error")}    ${problem.replaceAll("\n", "\n           ")}`);
    for (const finding of findings) {
      const level = finding.level === "error" ? colors.red("error") : colors.yellow("warning");
      console.log(`  ${level}${finding.level === "error" ? "  " : ""}  ${formatFinding(finding)}`);
    }
    if (findings.length === 0 && problem === null) console.log(`  ${colors.dim(nothingFound(sagas))}`);
  }
  const [errors, warnings] = [countOf(reports, "error"), countOf(reports, "warning")];
  console.log(`${errors} error${errors === 1 ? "" : "s"}, ${warnings} warning${warnings === 1 ? "" : "s"}`);
}

function nothingFound(sagas: number): string {
  if (sagas === 0) return "exports no saga";
  return sagas === 1 ? "one saga, nothing to say" : `${sagas} sagas, nothing to say`;
}

/** A module that could not be read counts as an error. */
function countOf(reports: readonly FileReport[], level: Finding["level"]): number {
  return reports.reduce((sum, { findings, problem }) => {
    return sum + findings.filter((finding) => finding.level === level).length + (level === "error" && problem ? 1 : 0);
  }, 0);
}
