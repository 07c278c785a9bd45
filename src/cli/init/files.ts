/** Owns: what a new project and a new saga are made of. The sagas of a template are the package's own examples, as they are tested there. */
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const templates = ["order", "agent-refund", "batch"] as const;
export type Template = (typeof templates)[number];

/** Path in the project, and text. */
export type Files = ReadonlyMap<string, string>;

/** Examples that a template is made of, and those of them whose saga it exports. */
const sagasOf: Readonly<Record<Template, { readonly files: readonly string[]; readonly exported: readonly string[] }>> =
  {
    order: { files: ["services", "order"], exported: ["order"] },
    "agent-refund": { files: ["services", "refund"], exported: ["refund"] },
    batch: { files: ["services", "order", "batch"], exported: ["order", "batch"] },
  };

const home = fileURLToPath(new URL("../../../", import.meta.url));

export interface ProjectOptions {
  readonly name: string;
  readonly template: Template;
  /** What npm installs `reprise` from; `null`: the version that this is. */
  readonly reprise: string | null;
}

export async function projectFiles({ name, template, reprise }: ProjectOptions): Promise<Files> {
  const files = new Map<string, string>();
  for (const part of ["common", template]) {
    const folder = join(home, "templates", part);
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      const text = await readFile(file, "utf8");
      files.set(relative(folder, file).replace("_gitignore", ".gitignore"), text.replaceAll("{{name}}", name));
    }
  }
  const { files: examples, exported } = sagasOf[template];
  for (const example of examples)
    files.set(`sagas/${example}.ts`, await readFile(join(home, "sagas", `${example}.ts`), "utf8"));
  files.set("sagas/index.ts", exported.map(exportLine).join(""));
  files.set("package.json", await packageJson(name, reprise));
  return files;
}

/** Of `sagas/index.ts`, which exports every saga of the project and nothing else. */
export function exportLine(name: string): string {
  return `export { ${name} } from "./${name}.ts";\n`;
}

interface Package {
  readonly version: string;
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

async function packageJson(name: string, reprise: string | null): Promise<string> {
  // Our own: what it holds is known.
  const ours = JSON.parse(await readFile(join(home, "package.json"), "utf8")) as Package;
  const of = (all: Readonly<Record<string, string>>, names: readonly string[]) =>
    Object.fromEntries(names.map((each) => [each, all[each] ?? "*"]));
  const made = {
    name,
    version: "0.0.0",
    private: true,
    type: "module",
    engines: ours.engines,
    scripts: {
      start: "node --import tsx main.ts",
      worker: "node --import tsx worker.ts",
      test: "vitest run",
      check: "tsc",
    },
    dependencies: { reprise: reprise ?? ours.version, ...of(ours.dependencies, ["xstate", "zod"]) },
    devDependencies: of(ours.devDependencies, ["@types/node", "tsx", "typescript", "vitest"]),
  };
  return `${JSON.stringify(made, null, 2)}\n`;
}

/** A saga of one step, and its test. */
export function sagaFiles(name: string): Files {
  return new Map([
    [`sagas/${name}.ts`, sagaSource(name)],
    [`test/${name}.test.ts`, testSource(name)],
  ]);
}

function sagaSource(name: string): string {
  return `/** What it does, and what must never happen twice. */
import { saga, step } from "reprise";
import { z } from "zod";

/** \`keyed\`: the other side knows a call again by \`operationId\`. What else there is: docs/guarantees.md. */
const doIt = step("doIt", {
  input: z.object({ id: z.string() }),
  output: z.object({ ref: z.string() }),
  effect: "keyed",
  // Call your service here, and give it the operation id as its idempotency key.
  action: ({ operationId }) => ({ ref: operationId }),
  // And here undo what was done.
  compensate: () => undefined,
});

export const ${name} = saga("${name}", { version: 1, input: z.object({ id: z.string() }) })
  .step(doIt, ({ input }) => input)
  .build({ output: ({ results }) => results.doIt });
`;
}

function testSource(name: string): string {
  return `import { crashSweep, simulate } from "reprise/testing";
import { expect, test } from "vitest";
import { ${name} } from "../sagas/${name}.ts";

const input = { id: "1" };

test("${name} completes", async () => {
  const run = await simulate(${name}, { input });
  expect([run.status, run.happened]).toEqual(["completed", ["doIt"]]);
});

test("no crash of ${name} loses, doubles or leaves anything", async () => {
  const report = await crashSweep(${name}, { input });
  expect(report.failures, report.text).toEqual([]);
}, 60_000);
`;
}
