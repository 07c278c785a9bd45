/** Owns: what the outcome looks like to a person: the table of both sides, what differs, and one sentence at the end. */
import Table from "cli-table3";
import type { Colors } from "../colors.ts";
import type { Claim } from "./claims.ts";
import type { Difference, Joined } from "./compare.ts";
import type { ChapterReport, Report } from "./report.ts";
import type { Observed } from "./witness.ts";

/** What nobody reads to its end is cut; `--json` holds all of it. */
const maxRowsShown = 60;
const maxProblemsShown = 20;
/** No lines: a chapter's title stands out, and what can be copied holds no frame. */
const noLines = Object.fromEntries(
  ["top", "top-mid", "top-left", "top-right", "bottom", "bottom-mid", "bottom-left", "bottom-right"]
    .concat(["left", "left-mid", "mid", "mid-mid", "right", "right-mid"])
    .map((part) => [part, ""]),
);

/** The table *claimed by the ledger / observed by the world*, the problems, and the verdict. */
export function renderReport(report: Report, colors: Colors): string {
  const problems = report.chapters.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`));
  const wrong = [...report.differences.map(describe), ...problems];
  const hidden = wrong.length - maxProblemsShown;
  const lines = [
    renderTable(report, colors),
    "",
    ...wrong.slice(0, maxProblemsShown).map((sentence) => colors.red(`✗ ${sentence}`)),
    ...(hidden > 0 ? [colors.dim(`  and ${hidden} more`)] : []),
    verdict(report, problems.length, colors),
  ];
  return lines.join("\n");
}

function renderTable(report: Report, colors: Colors): string {
  const table = new Table({
    head: ["  operation", "claimed by the ledger", "observed by the world", ""].map((title) => colors.bold(title)),
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    chars: { ...noLines, middle: "   " },
  });
  let left = maxRowsShown;
  for (const section of [...report.chapters, ...strangersOf(report)]) {
    const shown = section.rows.slice(0, left);
    left -= shown.length;
    table.push([{ colSpan: 4, content: `\n${titleOf(section, colors)}` }]);
    for (const row of shown) table.push(cells(row, colors));
    const hidden = section.rows.length - shown.length;
    if (hidden > 0) table.push([{ colSpan: 4, content: colors.dim(`  and ${hidden} more operations`) }]);
  }
  return table.toString().replace(/ +$/gm, "");
}

type Section = Pick<ChapterReport, "name" | "ok" | "rows">;

function strangersOf({ strangers }: Report): readonly Section[] {
  return strangers.length === 0 ? [] : [{ name: "in no ledger of this story", ok: false, rows: strangers }];
}

function titleOf({ name, ok }: Section, colors: Colors): string {
  return ok ? `${colors.green("✓")} ${colors.bold(name)}` : `${colors.red("✗")} ${colors.bold(name)}`;
}

function cells({ operationId, claimed, observed, difference }: Joined, colors: Colors): string[] {
  const mark = difference === null ? colors.green("=") : colors.red("≠");
  return [`  ${shortId(operationId)}`, claimText(claimed), observedText(observed), mark];
}

/** Namespace and tenant are the same on every row of a story. */
function shortId(operationId: string): string {
  return operationId.split("/").slice(2).join("/") || operationId;
}

function claimText(claim: Claim | null): string {
  if (claim === null) return "-";
  if (!claim.certain) return `0 or ${claim.effects} × ${claim.state}`;
  if (claim.effects > 0) return `${claim.effects} × ${claim.side === "undo" ? "undone" : "happened"}`;
  if (claim.sends === 0) return "0 × never sent";
  return claim.state === "succeeded" ? "0 × changes nothing" : "0 × did not happen";
}

function observedText(observed: Observed | null): string {
  if (observed === null) return "-";
  const { actions, arrivals, effects } = observed;
  const asked = arrivals === effects ? "" : ` (asked ${arrivals === 1 ? "once" : `${arrivals} times`})`;
  return `${effects} × ${actions.join(", ")}${asked}`;
}

function describe({ operationId, difference }: Difference): string {
  return operationId === null ? difference : `${operationId}: ${difference}`;
}

function verdict(report: Report, problems: number, colors: Colors): string {
  const operations = report.chapters.reduce((sum, { rows }) => sum + rows.length, report.strangers.length);
  if (report.ok) {
    return colors.green(`Ledger and world agree on all ${operations} operations, and every chapter went as it should.`);
  }
  const differences = report.differences.length;
  return colors.red(`${count(differences, "difference")} in ${operations} operations, ${count(problems, "problem")}.`);
}

function count(of: number, what: string): string {
  return `${of} ${what}${of === 1 ? "" : "s"}`;
}
