/**
 * What is measured is what a user installs: the package as `npm run build` leaves it, and the measured programs compiled
 * beside it, so that no loader stands between them and Node. Owns: when a build is too old.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = ["src", "package.json", "tsdown.config.ts"];
const program = fileURLToPath(new URL("./subjects/main.ts", import.meta.url));

/** Builds the package, when its build is missing or older than what it is made of. */
export function buildPackage(): void {
  const door = join(root, "dist/index.js");
  if (existsSync(door) && newest(sources) <= statSync(door).mtimeMs) return;
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
}

/** Compiles the measured program; answers where it is. */
export async function buildProgram(): Promise<string> {
  const { build } = await import("tsdown"); // takes a while, and is not needed to refuse an argument
  const outDir = join(root, ".cache/bench");
  await build({
    config: false,
    cwd: root,
    entry: [program],
    root: join(root, "bench"),
    outDir,
    format: "esm",
    platform: "node",
    target: "node20",
    unbundle: true,
    fixedExtension: false,
    dts: false,
    logLevel: "silent",
    deps: { neverBundle: [/^reprise(\/|$)/, /^@opentelemetry\//] },
  });
  return join(outDir, "subjects/main.js");
}

function newest(paths: readonly string[]): number {
  return Math.max(...paths.flatMap((path) => filesOf(join(root, path))).map((file) => statSync(file).mtimeMs));
}

function filesOf(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
