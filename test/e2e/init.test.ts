/**
 * `reprise init` from the packed package, in an empty folder: the project it makes type-checks, runs and passes its tests. What npm would
 * install is linked, so that no registry is asked.
 */
import { execFile, execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);
let dir: string;
/** What `npm install` would make. */
let installed: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "reprise-init-"));
  const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", dir];
  const tarball = execFileSync("npm", pack, { cwd: root, encoding: "utf8" }).trim();
  installed = join(dir, "node_modules");
  const home = join(installed, "reprise");
  await mkdir(home, { recursive: true });
  execFileSync("tar", ["-xzf", join(dir, tarball), "-C", home, "--strip-components=1"]);
  for (const name of await readdir(join(root, "node_modules"))) {
    if (name !== ".cache") await symlink(join(root, "node_modules", name), join(installed, name));
  }
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const reprise = (cwd: string, ...args: readonly string[]) =>
  run(process.execPath, [join(installed, "reprise/dist/cli/main.js"), ...args], { cwd });

async function script(cwd: string, name: "start" | "test"): Promise<string> {
  const { REDIS_URL: _, ...env } = process.env;
  const { stdout } = await run("npm", ["run", "--silent", name], {
    cwd,
    env: { ...env, NO_COLOR: "1", NODE_ENV: "test" },
  });
  return stdout;
}

describe.each(["order", "agent-refund", "batch"])("a project of the template %s", (template) => {
  test("runs and passes its tests, with a saga that was added", async () => {
    const { stdout } = await reprise(dir, "init", template, "--template", template);
    expect(stdout.split("\n")).toContain("sagas/index.ts");
    const project = join(dir, template);
    await reprise(project, "new", "saga", "extra");
    expect(await readFile(join(project, "sagas/index.ts"), "utf8")).toContain('export { extra } from "./extra.ts";\n');
    const [started, tested] = await Promise.all([script(project, "start"), script(project, "test")]);
    expect(started).toMatch(/^result: \{.*\}$/m);
    expect(tested).toMatch(/Tests +[45] passed/);
    const again = reprise(project, "init", ".", "--template", template);
    await expect(again).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("nothing is written over") });
  });
});

test("what was made type-checks", async () => {
  const compilerOptions = { typeRoots: [join(installed, "@types")] };
  const config = { extends: "./order/tsconfig.json", compilerOptions, include: ["order", "agent-refund", "batch"] };
  await writeFile(join(dir, "tsconfig.json"), JSON.stringify(config));
  await run(process.execPath, [join(installed, "typescript/bin/tsc"), "--project", dir], { cwd: dir });
});

test("a dry run names the files and writes none", async () => {
  const { stdout } = await reprise(dir, "init", "nothing", "--dry-run", "--json");
  expect(JSON.parse(stdout)).toMatchObject({
    kind: "NewFiles",
    data: { dryRun: true, files: expect.arrayContaining(["worker.ts"]) },
  });
  expect(await readdir(dir)).not.toContain("nothing");
});
