import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { errorDocument } from "../../src/cli/base/error-shape.ts";
import { exitCodeOf, exitCodes, runbookFrom } from "../../src/cli/exit.ts";
import { RunNeedsReview } from "../../src/client/errors.ts";
import type { Review, ReviewReason, Verdict } from "../../src/core/index.ts";
import { errorCodes, RepriseError } from "../../src/errors.ts";

/** Every code, reason and verdict has a page, every page is about one of them, and what it says of the code is there. */

const root = resolve(import.meta.dirname, "../..");
const home = join(root, "docs/runbooks");

// Types make both lists complete: a new reason or verdict without a line here does not compile.
const reasons = Object.keys({
  unknown_outcome: 0,
  exhausted: 0,
  halted: 0,
  defect: 0,
  poison: 0,
  after_pivot: 0,
  blocked: 0,
  late_result: 0,
  intent_conflict: 0,
  intent_busy: 0,
  intent_undone: 0,
  missing_artifact: 0,
  store_rollback: 0,
  budget: 0,
  loop: 0,
  deadline: 0,
  approval_expired: 0,
} satisfies Record<ReviewReason, 0>) as readonly ReviewReason[];
const verdicts = Object.keys({
  RESUME_SAFE: 0,
  RETRY_SAFE: 0,
  PROBE_FIRST: 0,
  HUMAN_REQUIRED: 0,
  BLOCKED: 0,
} satisfies Record<Verdict, 0>);

/** What stands in the source where a page says that it comes from. */
const wordOf: ReadonlyMap<string, string> = new Map([
  ...errorCodes.map((code) => [code, code] as const),
  ...reasons.map((reason) => [`REVIEW_${reason}`, reason] as const),
  ...verdicts.map((verdict) => [`VERDICT_${verdict}`, verdict] as const),
  ["UNSERVED", "unserved"],
]);

interface Page {
  readonly name: string;
  readonly text: string;
  readonly sections: ReadonlyMap<string, string>;
}

const headings = ["What it means", "What was done", "What is safe now", "What to do", "Where it comes from"];

function pageOf(name: string): Page {
  const text = readFileSync(join(home, `${name}.md`), "utf8");
  const parts = text.split(/^## /m).slice(1);
  const sections = parts.map((part): [string, string] => {
    const [heading = "", ...lines] = part.split("\n");
    return [heading, lines.join("\n").trim()];
  });
  return { name, text, sections: new Map(sections) };
}

const names = readdirSync(home).map((file) => file.replace(/\.md$/, ""));
const index = pageOf("README");
const alerts = pageOf("ALERTS"); // compared with the rules in deploy.test.ts
const pages = names.filter((name) => name !== "README" && name !== "ALERTS").map(pageOf);

/** Where the relative links of a text lead, without what comes after `#`. */
function linksOf(text: string): readonly string[] {
  const found = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, link = ""]) => link);
  return found.filter((link) => !/^[a-z]+:/.test(link)).map((link) => resolve(home, link));
}

describe("docs/runbooks", () => {
  test("codes, reasons of reviews and verdicts are the pages, no more and no less", () => {
    expect(pages.map(({ name }) => name).sort()).toEqual([...wordOf.keys()].sort());
  });

  test.each(pages)("$name answers the five questions, in 15 to 60 lines, under its own name", ({ name, ...page }) => {
    expect(page.text.split("\n")[0]).toMatch(new RegExp(`^# ${name}: \\S`));
    expect([...page.sections.keys()]).toEqual(headings);
    for (const [heading, text] of page.sections) expect(text.length, heading).toBeGreaterThan(10);
    expect(page.sections.get("What to do")).toMatch(/^- /);
    expect(page.text.split("\n").length).toBeGreaterThan(14);
    expect(page.text.split("\n").length).toBeLessThan(60);
  });

  test("no link is dead", () => {
    const dead = [index, alerts, ...pages].flatMap(({ name, text }) =>
      linksOf(text)
        .filter((path) => !existsSync(path))
        .map((path) => `${name}: ${relative(root, path)}`),
    );
    expect(dead).toEqual([]);
  });

  test.each(pages)("$name comes from where it says", ({ name, sections }) => {
    const sources = linksOf(sections.get("Where it comes from") ?? "").filter((path) => /\/src\//.test(path));
    const word = wordOf.get(name) ?? name;
    expect(sources.some((path) => new RegExp(`\\b${word}\\b`).test(readFileSync(path, "utf8")))).toBe(true);
  });

  test("every code is thrown or answered somewhere: none is a promise that nobody keeps", () => {
    const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.m?ts$|\.mjs$/.test(file) && !/^(errors\.ts|cli\/exit\.ts)$/.test(file))
      .map((file) => readFileSync(join(root, "src", file), "utf8"));
    expect(errorCodes.filter((code) => !sources.some((source) => source.includes(`"${code}"`)))).toEqual([]);
  });

  test("the index names every page once, with its title", () => {
    const listed = [...index.text.matchAll(/^- \[(\w+)\]\(\1\.md\): (.*)$/gm)].map(([, name, title]) => [name, title]);
    expect(listed.map(([name]) => name).sort()).toEqual([...wordOf.keys()].sort());
    const titles = new Map(pages.map(({ name, text }) => [name, text.split("\n")[0]?.slice(`# ${name}: `.length)]));
    for (const [name = "", title = ""] of listed) expect(title).toContain(titles.get(name));
  });
});

describe("an error names its page", () => {
  test.each(errorCodes)("%s, and the command line prints a path that can be opened", (code) => {
    const error = new RepriseError(code, "something is wrong");
    expect(existsSync(join(root, error.runbook))).toBe(true);
    expect(errorDocument(error).error.runbook).toBe(error.runbook);
    expect(resolve(runbookFrom(error.runbook))).toBe(join(home, `${code}.md`));
  });

  test.each(reasons)("a run that is parked (%s) names the page of that reason", (reason) => {
    const review: Review = { n: 1, reason, message: "", seq: null, side: null, since: 0, evidence: null, verbs: [] };
    const error = new RunNeedsReview({ tenant: "default", id: "r" }, review);
    expect(join(root, error.runbook)).toBe(join(home, `REVIEW_${reason}.md`));
    expect(new RunNeedsReview({ tenant: "default", id: "r" }, null).runbook).toBe("docs/runbooks/RUN_NEEDS_REVIEW.md");
  });

  test("one that was raised before anything is built does so as well, and another program's does not", () => {
    const ours = Object.assign(new Error("no server"), { code: "REDIS_NOT_FOUND" });
    const page = "docs/runbooks/REDIS_NOT_FOUND.md";
    expect(errorDocument(ours).error).toMatchObject({ code: "REDIS_NOT_FOUND", message: "no server", runbook: page });
    expect(exitCodeOf(ours)).toBe(exitCodes.unreachable);
    const theirs = Object.assign(new Error("no such file"), { code: "ENOENT" });
    expect(errorDocument(theirs).error).toMatchObject({ message: "no such file", runbook: null });
    expect(exitCodeOf(theirs)).toBe(exitCodes.failed);
  });

  test("the package brings the pages, and what they lead to", () => {
    const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { files: readonly string[] };
    const paths = [index, alerts, ...pages].flatMap(({ text }) => linksOf(text)).map((path) => relative(root, path));
    expect(paths.filter((path) => !files.some((file) => path.startsWith(`${file}/`)))).toEqual([]);
  });
});
