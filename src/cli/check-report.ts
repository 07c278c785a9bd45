/** Owns: what a check looks like to a person: a table of versions, then what is to be done about each. */
import type { CheckedVersion, CheckFate, CheckFinding, CheckReport } from "../client/index.ts";
import { ink, type Line } from "./base/ink.ts";
import { type Column, tableLines } from "./base/table.ts";
import { counted as countedOf, runText } from "./base/words.ts";
import { colorsIn } from "./colors.ts";

/** The lines are coloured when they are printed. */
const plain = colorsIn({}, {}, false);

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

export function reportLines(report: CheckReport, usualTenant: string): readonly Line[] {
  const lines: Line[] = report.versions.length === 0 ? [] : [...tableOf(report), ""];
  for (const version of report.versions) lines.push(...linesOf(version, usualTenant));
  return [...lines, verdictOf(report)];
}

function tableOf({ versions }: CheckReport): readonly string[] {
  const shown = columns.filter(([fate], at) => at < 3 || versions.some(({ fates }) => fates[fate] > 0));
  const counts = shown.map(([fate, title]): Column<CheckedVersion> => {
    return {
      title,
      align: "right",
      cell: ({ fates }) => (fates[fate] === 0 ? "-" : coloured(fate, String(fates[fate]))),
    };
  });
  const heads: readonly Column<CheckedVersion>[] = [
    { title: "saga", cell: ({ saga }) => saga },
    { title: "version", align: "right", cell: ({ version }) => String(version) },
    { title: "open runs", align: "right", cell: ({ runs }) => String(runs) },
  ];
  return tableLines(versions, [...heads, ...counts], plain);
}

function coloured(fate: CheckFate, text: string): Line {
  if (fate === "goes_on" || fate === "elsewhere") return text;
  return ink(fate === "moves" ? "yellow" : "red", text);
}

/** Of a version of which there is something to say. */
function linesOf(version: CheckedVersion, usual: string): readonly Line[] {
  const { saga, changes, findings, untold } = version;
  if (findings.length === 0 && changes.length === 0) return [];
  const shown = findings.slice(0, maxShown);
  const hidden = findings.slice(maxShown).reduce((sum, { runs }) => sum + runs, untold);
  return [
    ink("bold", `${saga}@${version.version}`),
    ...(changes.length === 0
      ? []
      : ["  changed since it was registered:", ...changes.map((change) => `    ${change}`)]),
    ...shown.flatMap((finding) => findingLines(finding, usual)),
    ...(hidden > 0 ? [ink("dim", `  and ${counted(hidden)} more of other kinds (--jsonl names every run)`)] : []),
    ...adviceFor(version).map((advice): Line => ["  ", ink("bold", "what to do:"), ` ${advice}`]),
    "",
  ];
}

function findingLines(finding: CheckFinding, usual: string): readonly Line[] {
  const { fate, state, at, problem, runs, examples } = finding;
  const mark = fate === "moves" || fate === "elsewhere" ? ink("yellow", "→") : ink("red", "✗");
  const where = [state === null ? [] : [`in ${state}`], at === null ? [] : [`at ${at}`]].flat().join(", ");
  const what = `${counted(runs)} ${wordOf(fate, runs)}${where === "" ? "" : ` ${where}`}`;
  const names = examples.map((run) => runText(run, usual)).join(", ");
  const more = runs > examples.length ? ` and ${runs - examples.length} more` : "";
  return [["  ", mark, ` ${what}${problem === null ? "" : `: ${problem}`}`], ink("dim", `      ${names}${more}`)];
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

function verdictOf({ ok, runs, fates }: CheckReport): Line {
  if (runs === 0) return [ink("green", "✓"), " no run is open"];
  const parts = columns.flatMap(([fate]) => (fates[fate] === 0 ? [] : [`${fates[fate]} ${wordOf(fate, fates[fate])}`]));
  return [ok ? ink("green", "✓") : ink("red", "✗"), ` ${counted(runs)} open: ${parts.join(", ")}`];
}

function counted(runs: number): string {
  return countedOf(runs, "run");
}
