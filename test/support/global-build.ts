import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
const sources = ["src", "sagas", "workers", "package.json", "tsconfig.json", "tsdown.config.ts"];
const built = ["dist/index.js", "build/workers"];

/** e2e tests use what a user installs: the package is built when it is missing or older than what it is made of. */
export default function setup(): void {
  if (!built.every((path) => existsSync(join(root, path))) || newest(sources) > newest(["dist/index.js"])) {
    execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  }
}

function newest(paths: readonly string[]): number {
  return Math.max(...paths.flatMap(filesOf).map((file) => statSync(file).mtimeMs));
}

function filesOf(path: string): string[] {
  const from = join(root, path);
  if (!statSync(from).isDirectory()) return [from];
  return readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
