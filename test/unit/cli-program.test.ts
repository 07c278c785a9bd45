/** What holds for every command of `reprise`: its help, its examples, how it refuses, and that it ends with a code of its own. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { PassThrough } from "node:stream";
import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { addCommand } from "../../src/cli/base/command.ts";
import { errorDocument } from "../../src/cli/base/error-shape.ts";
import { addGlobals } from "../../src/cli/base/globals.ts";
import { commands, groups } from "../../src/cli/commands.ts";
import { verbHint } from "../../src/cli/dlq/show.ts";
import { exitCodeOf, exitCodes, exitMeanings, Interrupted, UsageError } from "../../src/cli/exit.ts";
import { programFor } from "../../src/cli/program.ts";
import type { Verb } from "../../src/core/index.ts";
import { errorCodes, RepriseError } from "../../src/errors.ts";
import { cli } from "../support/cli.ts";
import { cliReference } from "../support/cli-reference.ts";

const named = commands.map((spec) => [spec.name, spec] as const);
/** Commands that change nothing, at Redis or outside. Whoever adds one that does adds `changes` to it, and nothing here. */
const looks: ReadonlySet<string> = new Set([
  ...[
    "runs list",
    "runs show",
    "runs watch",
    "runs timeline",
    "runs history",
    "runs logs",
    "approvals list",
    "approvals show",
  ],
  ...[
    "dlq list",
    "dlq groups",
    "dlq show",
    "effects list",
    "effects show",
    "sagas list",
    "sagas show",
    "lint",
    "check",
    "diff",
  ],
  ...[
    "schema",
    "diagram",
    "simulate",
    "schedules list",
    "schedules show",
    "health",
    "doctor",
    "slo",
    "batch list",
    "batch show",
    "audit",
  ],
  ...["notifications list", "completion", "top", "workers list", "version"],
]);
/** Tables are padded by the formatter. */
const docs = readFileSync(resolve(import.meta.dirname, "../../docs/cli.md"), "utf8").replaceAll(/ +/g, " ");

/** The rows of the table of documents: kinds, and the commands that print them (a group is said once). */
const documented = [...docs.matchAll(/^\| ((?:`\w+`(?:, )?)+) \| ((?:`[^`]+`(?:, )?)+) \|/gm)].map(
  ([, kinds = "", of = ""]) => {
    let group = "";
    const names = quoted(of).map((words) => {
      const name = words.replace(/ --.*$/, "");
      if (name.includes(" ")) group = `${name.split(" ").slice(0, -1).join(" ")} `;
      return commands.some((spec) => spec.name === name) ? name : `${group}${name}`;
    });
    return [quoted(kinds).join(", "), quoted(kinds), names] as const;
  },
);

function quoted(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
}

test.each(documented)("%s is what the commands print that the documentation names for it", (_, kinds, names) => {
  const printed = names.flatMap((name) => commands.find((spec) => spec.name === name)?.kinds ?? [`no ${name}`]);
  expect(printed).toEqual(expect.arrayContaining([...kinds]));
  expect(printed.filter((kind) => kind.startsWith("no "))).toEqual([]);
});

describe.each(named)("reprise %s", (name, spec) => {
  test("has a help with what it does and at least three examples", async () => {
    const { code, stdout, stderr } = await cli([...name.split(" "), "--help"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(spec.summary);
    expect(spec.examples.length).toBeGreaterThanOrEqual(3);
    for (const example of spec.examples) expect(stdout).toContain(`  ${example}\n`);
    const prose = stdout.slice(0, stdout.indexOf("\nExamples:")).split("\n");
    expect(prose.filter((line) => line.length > 80 && line.trim().includes(" "))).toEqual([]);
  });

  test.each(spec.examples)("takes its own example: %s", async (example) => {
    let taken = "";
    const program = new Command("reprise").exitOverride().configureOutput({ writeErr: () => {} });
    addGlobals(program);
    addCommand(program, spec, groups, async () => {
      taken = name;
    });
    await program.parseAsync(wordsOf(example), { from: "user" });
    expect(taken).toBe(name);
  });

  test("prints documents whose kinds are documented", () => {
    expect(spec.kinds.length).toBeGreaterThan(0);
    for (const kind of spec.kinds) expect(docs).toContain(`\`${kind}\``);
  });

  test("shows --dry-run and --reason where it changes something, or says why it has them not", () => {
    expect([name, spec.changes === undefined]).toEqual([name, looks.has(name)]);
    const { noDryRun, noReason } = spec.changes ?? { noDryRun: "it only looks", noReason: "it only looks" };
    const shown = spec.examples.join("\n");
    for (const [flag, why] of Object.entries({ "--dry-run": noDryRun, "--reason": noReason })) {
      expect([flag, why === undefined ? shown : why]).toEqual([
        flag,
        why === undefined ? expect.stringContaining(flag) : why,
      ]);
      expect(why).not.toBe("");
    }
  });

  test("stands in groups that say what they are for", () => {
    const words = name.split(" ");
    for (let at = 1; at < words.length; at += 1) expect(groups.get(words.slice(0, at).join(" "))).toBeTruthy();
  });
});

/** The words of the `reprise` call in an example, as a shell splits them. */
function wordsOf(example: string): readonly string[] {
  const call = /reprise ((?:'[^']*'|"[^"]*"|[^|&>$]|\$(?!\())*)/.exec(example)?.[1] ?? "";
  return [...call.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  );
}

test("every command is there that a person on call was promised", () => {
  const promised = [
    ...["demo", "dev", "worker", "init", "new saga", "lint", "check", "diagram", "diff", "schema", "simulate", "top"],
    ...["start", "list", "show", "watch", "timeline", "history", "signal", "cancel"].map((verb) => `runs ${verb}`),
    ...["kill", "pause", "resume", "probe", "bundle", "logs"].map((verb) => `runs ${verb}`),
    ...["approvals list", "approvals show", "approve", "reject", "respond", "dlq list", "dlq groups", "dlq show"],
    ...["dlq discard", "replay plan", "replay run", "effects list", "effects probe", "effects resolve", "sagas list"],
    ...[
      "sagas show",
      "workers list",
      "workers drain",
      "supervisor",
      "schedules list",
      "slo",
      "batch list",
      "batch show",
      "batch suspend",
      "batch resume",
    ],
    ...["audit", "gc", "migrate", "doctor", "health", "completion", "version"],
  ];
  const program = programFor({
    ...{ stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() },
    ...{ env: {}, cwd: "/", signal: new AbortController().signal },
  });
  const namesIn = (parent: Command): readonly string[] =>
    parent.commands.flatMap((each) => [each.name(), ...namesIn(each).map((name) => `${each.name()} ${name}`)]);
  expect(namesIn(program)).toEqual(expect.arrayContaining(promised));
});

test("the demonstration has three examples, too", async () => {
  const { code, stdout } = await cli(["demo", "--help"]);
  expect(code).toBe(0);
  expect((stdout.match(/^ {2}.*(?:reprise|npm start)/gm) ?? []).length).toBeGreaterThanOrEqual(3);
});

const verbs = ["probe", "resolve", "retry", "skip", "discard", "rewind", "compensate", "raise", "close"] as const;
test.each(verbs)("a parked run that takes %s is told the command for it", (verb: Verb) => {
  const [, words = ""] = /^reprise ([a-z- ]+?) acme\/r1(?:#2)?(?: |$)/.exec(verbHint(verb, "acme/r1", 2)) ?? [];
  expect(commands.map(({ name }) => name)).toContain(words);
});

describe("what is to be done", () => {
  const hintOf = (error: Error) => errorDocument(error).error.hint;

  test("names the run as every command takes it", () => {
    const details = { tenant: "acme", id: "r1", status: "failed" };
    expect(hintOf(new RepriseError("RUN_ENDED", "it has ended", { details }))).toContain("runs show acme/r1`");
    expect(hintOf(new RepriseError("VERB_REFUSED", "no", { details: {} }))).toContain("dlq show <run>`");
  });

  test("is another thing where Redis is there and refuses who asks", () => {
    const refused = hintOf(new RepriseError("STORE_UNAVAILABLE", "it cannot be used: WRONGPASS invalid"));
    expect(refused).toContain("user and password");
    expect(hintOf(new RepriseError("STORE_UNAVAILABLE", "connect ECONNREFUSED"))).toContain("is Redis there?");
  });
});

describe("exit codes", () => {
  test.each(errorCodes)("%s has one, which is not success", (code) => {
    const exit = exitCodeOf(new RepriseError(code, "a test"));
    expect(exit).toBeGreaterThan(0);
    expect(exitMeanings[exit]).toBeTruthy();
  });

  test("are those that scripts rely on, and are documented", () => {
    expect(Object.values(exitCodes)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130]);
    for (const [code, meaning] of Object.entries(exitMeanings)) expect(docs).toContain(`| ${code} | ${meaning} |`);
    expect(exitCodeOf(new Interrupted())).toBe(130);
    expect(exitCodeOf(new UsageError("no"))).toBe(2);
    expect(exitCodeOf(new Error("what is this"))).toBe(1);
  });
});

describe("a line that cannot be read", () => {
  test.each([
    [["runs", "lst"], "unknown command 'lst'"],
    [["runs", "list", "--nope"], "unknown option '--nope'"],
    [["runs", "list", "--limit", "0"], "--limit 0 is not a whole number from 1 to 1000"],
    [["runs", "list", "--status", "gone"], "--status gone: it is running"],
    [["runs", "list", "--timeout", "soon"], "--timeout soon is not a duration"],
    [["runs", "list", "-o", "xml"], "--output is table, wide, json, jsonl, id"],
    [["runs", "list", "--json", "-o", "id"], "one form of output"],
  ])("%j is refused in a sentence, with exit code 2", async (argv, sentence) => {
    const { code, stdout, stderr } = await cli([...argv, "--redis", "redis://127.0.0.1:1"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain("    at ");
  });

  test("is refused without the credentials that it holds, in a sentence and in a document", async () => {
    for (const form of [[], ["--json"]]) {
      const { code, stderr } = await cli(["runs", "list", "--timeout", "password=hunter2", ...form]);
      expect([code, stderr]).toEqual([2, expect.stringContaining("password=[redacted]")]);
    }
  });

  test("is refused in a document where one was asked for", async () => {
    const { code, stdout, stderr } = await cli(["runs", "list", "--nope", "--json"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: "USAGE",
        message: "unknown option '--nope' (reprise runs list --help says more)",
        hint: null,
        runbook: null,
        details: {},
      },
    });
  });

  test("a group without a verb prints what it has", async () => {
    const { code, stdout, stderr } = await cli(["runs"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Usage: reprise runs");
  });
});

test("a Redis that is not there is said with what to do, and exits 6", async () => {
  const argv = ["runs", "list", "--redis", "redis://127.0.0.1:1"];
  const [text, json] = await Promise.all([cli(argv), cli([...argv, "--json"])]);
  expect([text.code, json.code, text.stdout, json.stdout]).toEqual([6, 6, "", ""]);
  expect(text.stderr).toMatch(
    /STORE_UNAVAILABLE\]\n {2}what to do: .*\n {2}Runbook: .*runbooks\/STORE_UNAVAILABLE.md\n/,
  );
  expect(JSON.parse(json.stderr).error).toMatchObject({ code: "STORE_UNAVAILABLE", hint: expect.any(String) });
});

test("every document has a snapshot of its shape, or of all of it, under the name of its kind", () => {
  const root = resolve(import.meta.dirname, "..");
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".snap"));
  const texts = files.map((file) => readFileSync(resolve(root, file), "utf8"));
  const names = texts.flatMap((text) =>
    [...text.matchAll(/^exports\[`.* > ([A-Z]\w+)/gm)].map(([, name = ""]) => name),
  );
  // A list and what it lists are one shape; a cursor is what `cli-base.test.ts` says.
  const known = new Set(["Cursor", ...names.map((name) => name.replace(/List$/, ""))]);
  const kinds = new Set(commands.flatMap((spec) => spec.kinds.map((kind) => kind.replace(/List$/, ""))));
  expect([...kinds].filter((kind) => !known.has(kind))).toEqual([]);
});

test.each([
  ["runs c", ["cancel"]],
  ["--namespace runs r", ["runs", "replay", "reject", "respond"]],
  ["runs --tenant list canc", ["cancel"]],
  ["runs list --sa", ["--saga"]],
  ["runs list --saga ", []],
  ["health --re", ["--reveal", "--redis", "--reason"]],
  ["worker --admin", ["--admin-port"]],
])("in bash, `reprise %s` is completed by %j", async (line, expected) => {
  const { stdout: script } = await cli(["completion", "bash"]);
  const words = ["reprise", ...line.split(" ")];
  const asked = `COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length - 1}; _reprise`;
  const { stdout, stderr } = spawnSync("bash", ["-c", `${script}\n${asked}; printf '%s\n' "\${COMPREPLY[@]}"`], {
    encoding: "utf8",
  });
  expect([
    stderr,
    stdout
      .split("\n")
      .filter((word) => word !== "")
      .sort(),
  ]).toEqual(["", [...expected].sort()]);
});

test("the reference is made from the program", async () => {
  await expect(cliReference()).toMatchFileSnapshot(resolve(import.meta.dirname, "../../docs/cli-reference.md"));
});
