/** Owns: what a check looks like to a person (a table of versions, then what is to be done about each) and to a program. */
import Table from "cli-table3";
import type { CheckedVersion, CheckFate, CheckFinding, CheckReport } from "../client/index.ts";
import { type Colors, colorsFor } from "./colors.ts";

/** Findings shown of one version; `--json` holds more. */
const maxShown = 10;

const columns: readonly (readonly [CheckFate, string])[] = [
  ["goes_on", "go on"],
  ["moves", "move"],
  ["breaks", "break"],
  ["unread", "unreadable"],
  ["unserved", "no worker"],
  ["elsewhere", "elsewhere"],
];

/** One line: stable, documented in docs/versions.md. */
export function printJson(kind: "CheckReport" | "CheckedRun", data: object): void {
  console.log(JSON.stringify({ apiVersion: "v1", kind, data }));
}

export function printText(report: CheckReport): void {
  const colors = colorsFor(process.stdout);
  const lines = report.versions.length === 0 ? [] : [tableOf(report, colors), ""];
  for (const version of report.versions) lines.push(...linesOf(version, colors));
  lines.push(verdictOf(report, colors));
  console.log(lines.join("\n"));
}

function tableOf({ versions }: CheckReport, colors: Colors): string {
  const shown = columns.filter(([fate], at) => at < 3 || versions.some(({ fates }) => fates[fate] > 0));
  const heads = ["saga", "version", "open runs", ...shown.map(([, title]) => title)];
  const table = new Table({
    head: heads.map((title) => colors.bold(title)),
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    chars: Object.fromEntries([...unused.map((part) => [part, ""]), ["middle", "   "]]),
    colAligns: heads.map((_, at) => (at === 0 ? "left" : "right")),
  });
  for (const { saga, version, runs, fates } of versions) {
    const counts = shown.map(([fate]) => (fates[fate] === 0 ? "-" : coloured(fate, String(fates[fate]), colors)));
    table.push([saga, String(version), String(runs), ...counts]);
  }
  return table.toString().replace(/ +$/gm, "");
}

/** No lines: what can be copied holds no frame. */
const unused = [
  "top",
  "top-mid",
  "top-left",
  "top-right",
  "bottom",
  "bottom-mid",
  "bottom-left",
  "bottom-right",
].concat(["left", "left-mid", "mid", "mid-mid", "right", "right-mid"]);

function coloured(fate: CheckFate, text: string, colors: Colors): string {
  if (fate === "goes_on" || fate === "elsewhere") return text;
  return fate === "moves" ? colors.yellow(text) : colors.red(text);
}

/** Of a version of which there is something to say. */
function linesOf(version: CheckedVersion, colors: Colors): readonly string[] {
  const { saga, changes, findings, untold } = version;
  if (findings.length === 0 && changes.length === 0) return [];
  const shown = findings.slice(0, maxShown);
  const hidden = findings.slice(maxShown).reduce((sum, { runs }) => sum + runs, untold);
  return [
    colors.bold(`${saga}@${version.version}`),
    ...(changes.length === 0
      ? []
      : ["  changed since it was registered:", ...changes.map((change) => `    ${change}`)]),
    ...shown.flatMap((finding) => findingLines(finding, colors)),
    ...(hidden > 0 ? [colors.dim(`  and ${counted(hidden)} more of other kinds (--jsonl names every run)`)] : []),
    ...adviceFor(version).map((advice) => `  ${colors.bold("what to do:")} ${advice}`),
    "",
  ];
}

function findingLines(finding: CheckFinding, colors: Colors): readonly string[] {
  const { fate, state, at, problem, runs, examples } = finding;
  const mark = fate === "moves" || fate === "elsewhere" ? colors.yellow("→") : colors.red("✗");
  const where = [state === null ? [] : [`in ${state}`], at === null ? [] : [`at ${at}`]].flat().join(", ");
  const what = `${counted(runs)} ${wordOf(fate, runs)}${where === "" ? "" : ` ${where}`}`;
  const names = examples.map(({ tenant, id }) => (tenant === "default" ? id : `${tenant}/${id}`)).join(", ");
  const more = runs > examples.length ? ` and ${runs - examples.length} more` : "";
  return [`  ${mark} ${what}${problem === null ? "" : `: ${problem}`}`, colors.dim(`      ${names}${more}`)];
}

function wordOf(fate: CheckFate, runs: number): string {
  const one = runs === 1;
  switch (fate) {
    case "goes_on":
      return one ? "goes on" : "go on";
    case "moves":
      return "would move";
    case "breaks":
      return one ? "breaks" : "break";
    case "unread":
      return "cannot be read";
    case "unserved":
      return one ? "is served by nobody" : "are served by nobody";
    case "elsewhere":
      return one ? "is served by other workers" : "are served by other workers";
  }
}

function adviceFor({ saga, version, fates, findings }: CheckedVersion): readonly string[] {
  const name = `${saga}@${version}`;
  const broken = new Set(findings.flatMap(({ fate, at }) => (fate === "breaks" ? [at] : [])));
  const advice: string[] = [];
  if (broken.has("structure")) {
    advice.push(`make it version ${version + 1}, and keep ${name} as it was beside it until these runs have ended`);
  } else if (broken.size > 0) {
    advice.push(`keep what these runs need, or keep ${name} as it was beside the new version`);
  }
  if (fates.moves > 0) {
    advice.push(
      `deploy, then client.migrateAll({ saga: "${saga}", from: ${version}, ... }); or keep ${name} beside it`,
    );
  }
  if (fates.unserved > 0) advice.push(`start a worker that has ${name}`);
  return advice;
}

function verdictOf({ ok, runs, fates }: CheckReport, colors: Colors): string {
  if (runs === 0) return `${colors.green("✓")} no run is open`;
  const parts = columns.flatMap(([fate]) => (fates[fate] === 0 ? [] : [`${fates[fate]} ${wordOf(fate, fates[fate])}`]));
  return `${ok ? colors.green("✓") : colors.red("✗")} ${counted(runs)} open: ${parts.join(", ")}`;
}

function counted(runs: number): string {
  return runs === 1 ? "1 run" : `${runs} runs`;
}
