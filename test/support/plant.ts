/**
 * Plants a known bug: while `REPRISE_PLANT` names one, its module (or script) is read with one place replaced. Nothing on
 * disk changes, and nothing in production code knows of it. A place that is not there any more fails loudly, so a planted
 * bug cannot rot into a test of nothing.
 */
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Plugin } from "vite";
import { type PlantedBug, plantedBugs } from "../planted/bugs.ts";

const root = new URL("../../", import.meta.url).pathname;

/** The vitest plugin for the bug that `REPRISE_PLANT` names; none otherwise. */
export function plant(name = process.env["REPRISE_PLANT"]): Plugin[] {
  if (name === undefined) return [];
  const bug = plantedBugs.find((candidate) => candidate.name === name);
  if (bug === undefined) throw new Error(`no planted bug is called ${name}`);
  return [{ name: `plant ${name}`, enforce: "pre", transform: (code, id) => planted(bug, code, id) }];
}

function planted(bug: PlantedBug, code: string, id: string): string | null {
  let text = code;
  for (const change of bug.changes) {
    if (change.file.endsWith(".lua")) text = withScripts(change, text, id);
    else if (id === join(root, change.file)) text = replaced(change, text);
  }
  return text === code ? null : text;
}

type Change = PlantedBug["changes"][number];

function replaced({ file, find, replace }: Change, text: string): string {
  if (!text.includes(find)) throw new Error(`planted bug: ${file} has no "${find}" any more`);
  return text.replace(find, () => replace);
}

/** The scripts are read from a copy of their folder in which one is patched. */
function withScripts(change: Change, text: string, id: string): string {
  if (id !== join(root, "src/store/scripts.ts")) return text;
  const copy = mkdtempSync(join(tmpdir(), "reprise-planted-"));
  cpSync(join(root, "src/store/lua"), copy, { recursive: true });
  const path = join(copy, basename(change.file));
  writeFileSync(path, replaced(change, readFileSync(path, "utf8")));
  const place = ["new URL(`./lua/", "{file}.lua`, import.meta.url)"].join("$");
  const copied = [`new URL(\`file://${copy}/`, "{file}.lua`)"].join("$");
  return replaced({ file: "src/store/scripts.ts", find: place, replace: copied }, text);
}
