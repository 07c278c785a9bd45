import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { problemWith } from "../support/cli-words.ts";

/** What somebody types at night from a page must be a command, with flags that it takes. */

const root = resolve(import.meta.dirname, "../..");
const runbooks = readdirSync(join(root, "docs/runbooks")).map((file) => `docs/runbooks/${file}`);
const pages = ["docs/operations.md", "deploy/README.md", ...runbooks];

/** Code that begins with `reprise `, also where a line was wrapped inside it. */
function linesIn(text: string): readonly string[] {
  const spans = [...text.matchAll(/`(reprise\s[^`]+)`/g)].map(([, line = ""]) => line);
  const blocks = [...text.matchAll(/^ *(reprise [^|#\n]+)/gm)].map(([, line = ""]) => line);
  return [...spans, ...blocks].map((line) => line.replaceAll(/\s+/g, " ").trim());
}

test.each(pages)("%s names commands that there are", (page) => {
  const lines = linesIn(readFileSync(join(root, page), "utf8"));
  expect(lines.flatMap((line) => (problemWith(line) === null ? [] : [`${line}: ${problemWith(line)}`]))).toEqual([]);
});

test("pages are read, and a command that there is not is found", () => {
  expect(pages.flatMap((page) => linesIn(readFileSync(join(root, page), "utf8"))).length).toBeGreaterThan(150);
  expect(problemWith("reprise health --nope")).toContain("--nope");
  expect(problemWith("reprise rnus list")).toContain("rnus");
});
