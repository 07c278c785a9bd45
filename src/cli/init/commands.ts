/** `reprise init` and `reprise new saga`: a new project, and a new saga in one. Nothing that is there is written over. */
import { existsSync } from "node:fs";
import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { oneOf } from "../base/values.ts";
import { exitCodes, UsageError } from "../exit.ts";
import { exportLine, type Files, projectFiles, sagaFiles, templates } from "./files.ts";

interface InitFlags {
  readonly template?: string;
  readonly package?: string;
}

export const initCommand = command<[dir?: string], InitFlags>({
  name: "init",
  summary: "Make a new project: sagas, worker, test, compose file; npm start runs it, npm test proves it",
  details: "Nothing is installed and nothing that is there is written over.",
  args: [["[dir]", "where; this folder unless given"]],
  options: [
    ["--template <name>", `${templates.join(", ")}; order unless given`],
    [
      "--package <spec>",
      "what npm installs reprise from: a version, a tarball; the version of this program unless given",
    ],
  ],
  examples: [
    "reprise init shop",
    "reprise init refunds --template agent-refund",
    "reprise init . --template batch --dry-run",
  ],
  kinds: ["NewFiles"],
  changes: { noReason: "it makes files of the caller's" },
  run: async (cli, flags, dir = ".") => {
    const folder = resolve(cli.io.cwd, dir);
    const template = oneOf(flags.template ?? "order", "--template", templates);
    const name =
      basename(folder)
        .toLowerCase()
        .replaceAll(/[^a-z0-9-]+/g, "-")
        .replaceAll(/^-+|-+$/g, "") || "sagas";
    await write(cli, folder, await projectFiles({ name, template, reprise: flags.package ?? null }));
    if (cli.globals.dryRun) cli.out.note("Nothing was written.");
    else cli.out.note(`Now: ${dir === "." ? "" : `cd ${dir} && `}npm install && npm test && npm start`);
    return exitCodes.ok;
  },
});

export const newSaga = command<[name: string], object>({
  name: "new saga",
  summary: "Add a saga and its test to this project",
  details: "sagas/<name>.ts and test/<name>.test.ts; sagas/index.ts exports it.",
  args: [["<name>", "a name in JavaScript: letters and digits"]],
  examples: ["reprise new saga invoice", "reprise new saga invoice --dry-run", "reprise new saga invoice --json"],
  kinds: ["NewFiles"],
  changes: { noReason: "it makes files of the caller's" },
  run: async (cli, _, name) => {
    if (!/^[a-z][A-Za-z0-9]{0,63}$/.test(name))
      throw new UsageError(`${name}: a saga is named by letters and digits, beginning with a small letter`);
    const { cwd } = cli.io;
    const index = join(cwd, "sagas/index.ts");
    if (!existsSync(index)) throw new UsageError("there is no sagas/index.ts here: reprise init makes a project");
    await write(cli, cwd, sagaFiles(name));
    if (cli.globals.dryRun) {
      cli.out.note("Nothing was written.");
      return exitCodes.ok;
    }
    await appendFile(index, exportLine(name));
    cli.out.note(`Now: npm test, and reprise diagram ${name}`);
    return exitCodes.ok;
  },
});

/** All of them, or none: what is there already is named. */
async function write(cli: Cli, folder: string, files: Files): Promise<void> {
  const there = [...files.keys()].filter((file) => existsSync(join(folder, file)));
  if (there.length > 0)
    throw new UsageError(
      `nothing is written over: ${there.toSorted().join(", ")} ${there.length === 1 ? "is" : "are"} there`,
    );
  for (const [file, text] of cli.globals.dryRun ? [] : files) {
    const path = join(folder, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: "wx" });
  }
  const data = { folder, files: [...files.keys()].toSorted(), dryRun: cli.globals.dryRun };
  cli.out.document("NewFiles", data, { id: folder, lines: () => data.files });
}
