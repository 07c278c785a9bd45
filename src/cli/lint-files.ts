/**
 * Owns: printing what is wrong, or doubtful, about the sagas they export. The findings are those that
 * `saga()` refuses with, so a module that throws them is read like one that is merely warned about.
 */
import type { RepriseError } from "../errors.ts";
import { type Finding, formatFinding, lintExports } from "../saga/index.ts";
import { colorsFor } from "./colors.ts";
import { type ExitCode, exitCodes } from "./exit.ts";
import { codeOf, describeImport, importModule, sagasOf } from "./modules.ts";

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
    const exported = await importModule(file);
    return { file, sagas: sagasOf(exported).length, findings: lintExports(exported), problem: null };
  } catch (error) {
    const findings = refusedWith(error);
    return findings === null
      ? { file, sagas: 0, findings: [], problem: describeImport(error) }
      : { file, sagas: 0, findings, problem: null };
  }
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
