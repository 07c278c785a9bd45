/** The table of planted bugs in `docs/proof.md`: written from what a run has found, and read back by a test. */
import { readFileSync, writeFileSync } from "node:fs";
import type { PlantedBug } from "./bugs.ts";

const file = new URL("../../docs/proof.md", import.meta.url);
const begin = "<!-- planted bugs: written by `npm run test:planted -- --write` -->\n";
const end = "<!-- end of planted bugs -->\n";

/** A bug and what has found it. `seeds`: how many it took; `null`: it was no seed that found it. */
export interface Found {
  readonly bug: string;
  readonly by: string;
  readonly seeds: number | null;
}

export function foundInTable(): readonly Found[] {
  const [, table = ""] = readFileSync(file, "utf8").split(begin);
  const rows = (table.split(end)[0] ?? "").split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => {
    const [, bug = "", , by = "", seeds = ""] = row.split("|").map((cell) => cell.trim().replaceAll("`", ""));
    return { bug, by, seeds: seeds === "" ? null : Number(seeds) };
  });
}

/** Writes what was found now beside what was found before. */
export function writeTable(bugs: readonly PlantedBug[], found: readonly Found[]): void {
  const known = new Map([...foundInTable(), ...found].map((each) => [each.bug, each]));
  const rows = bugs.map(({ name, harm }) => {
    const { by = "not found", seeds = null } = known.get(name) ?? {};
    return `| \`${name}\` | ${harm} | \`${by}\` | ${seeds ?? ""} |\n`;
  });
  const table = ["\n| bug | what it would cost | found by | seeds |\n|---|---|---|--:|\n", ...rows, "\n"].join("");
  const text = readFileSync(file, "utf8");
  const [before = ""] = text.split(begin);
  const [, after = ""] = text.split(end);
  writeFileSync(file, `${before}${begin}${table}${end}${after}`);
}
