/**
 * `reprise lint`: what is wrong, or doubtful, about the sagas that modules export. The findings are those that `saga()` refuses
 * with, so a module that throws them is read like one that is merely warned about.
 */
import { relative, resolve } from "node:path";
import type { RepriseError } from "../errors.ts";
import { type Finding, formatFinding, lintExports } from "../saga/index.ts";
import type { Cli } from "./base/cli.ts";
import { command } from "./base/command.ts";
import { ink, type Line } from "./base/ink.ts";
import { counted } from "./base/words.ts";
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

export const lintCommand = command<[files: readonly string[]], object>({
  name: "lint",
  summary: "Print what is wrong, or doubtful, about the sagas that modules export",
  details: "Exit 9 where there are errors, 2 where a module could not be read, 0 where there is nothing but warnings.",
  args: [["[files...]", "modules that export sagas, TypeScript or JavaScript; those of reprise.config unless given"]],
  examples: ["reprise lint sagas/order.ts", "reprise lint --json", "reprise lint sagas/*.ts && npm test"],
  kinds: ["LintReport"],
  run: async (cli, _, files) => {
    const reports: FileReport[] = [];
    if (files.length === 0) reports.push(await lintProject(cli));
    for (const file of files) reports.push(await lintFile(file, () => importModule(resolve(cli.io.cwd, file))));
    const data = { files: reports, errors: countOf(reports, "error"), warnings: countOf(reports, "warning") };
    cli.out.document("LintReport", data, { lines: () => linesOf(cli, reports) });
    return exitCode(reports);
  },
});

/** The sagas that the configuration names; where one of its modules cannot be read, that is what is told. */
async function lintProject(cli: Cli): Promise<FileReport> {
  const { fileOf } = await import("./base/place.ts");
  const file = fileOf(cli.globals, cli.io);
  return await lintFile(file === null ? "reprise.config" : relative(cli.io.cwd, file), async () => ({
    sagas: (await cli.project()).sagas,
  }));
}

async function lintFile(file: string, exports: () => Promise<Readonly<Record<string, unknown>>>): Promise<FileReport> {
  try {
    const exported = await exports();
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
  if (!(error instanceof Error)) return null;
  if (codeOf(error) !== "DEFINITION_INVALID") return error.cause === undefined ? null : refusedWith(error.cause);
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

function linesOf({ out }: Cli, reports: readonly FileReport[]): readonly Line[] {
  const [errors, warnings] = [countOf(reports, "error"), countOf(reports, "warning")];
  return [
    ...reports.flatMap(({ file, sagas, findings, problem }): readonly Line[] => [
      ink("bold", file),
      ...(problem ?? "").split("\n").flatMap((line, at): readonly Line[] => problemLine(out.text(line), at)),
      ...findings.map((each): Line => ["  ", levelInk(each.level), "  ", formatFinding(each)]),
      ...(findings.length === 0 && problem === null ? [ink("dim", `  ${nothingFound(sagas)}`)] : []),
    ]),
    `${counted(errors, "error")}, ${counted(warnings, "warning")}`,
  ];
}

function problemLine(line: string, at: number): readonly Line[] {
  if (line === "") return [];
  return [at === 0 ? ["  ", levelInk("error"), "  ", line] : `           ${line}`];
}

function levelInk(level: Finding["level"]) {
  return level === "error" ? ink("red", "error  ") : ink("yellow", "warning");
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
