import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { leaveEvidence } from "../support/evidence.ts";
import { startRedisServer } from "../support/redis-server.ts";

const root = resolve(import.meta.dirname, "../..");
let project: string;

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), "reprise-user-"));
  const tarball = execFileSync("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", project], {
    cwd: root,
  });
  const home = join(project, "node_modules/reprise");
  await mkdir(home, { recursive: true });
  execFileSync("tar", ["-xzf", join(project, tarball.toString().trim()), "-C", home, "--strip-components=1"]);
  execFileSync("ln", ["-s", join(root, "node_modules"), join(home, "node_modules")]);
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
});

afterAll(() => rm(project, { recursive: true, force: true }));

function node(...args: readonly string[]): string {
  return execFileSync(process.execPath, args, { cwd: project, encoding: "utf8" });
}

describe("the packed package, in a project of its own", () => {
  test.each(["reprise", "reprise/testing"])("`%s` can be imported", (door) => {
    expect(node("--input-type=module", "--eval", `console.log(typeof await import("${door}"))`)).toBe("object\n");
  });

  test("brings every script of the store beside the code that loads it", () => {
    const scripts = readdirSync(join(root, "src/store/lua"));
    expect(readdirSync(join(project, "node_modules/reprise/dist/store/lua")).sort()).toEqual(scripts.sort());
    expect(scripts.length).toBeGreaterThan(0);
  });

  test("has a command line that starts", () => {
    expect(node("node_modules/reprise/dist/cli/main.js", "--help")).toContain("reprise");
  });
});

test("every program that compose and the image run was built", () => {
  const { worker } = parse(readFileSync(join(root, "docker-compose.yml"), "utf8")).services;
  const command = /^CMD (.*)$/m.exec(readFileSync(join(root, "Dockerfile"), "utf8"))?.[1] ?? "[]";
  const programs = [worker.command[0], worker.healthcheck.test[2], ...JSON.parse(command)];
  expect(programs.filter((program) => !existsSync(join(root, program)))).toEqual([]);
});

describe("reprise health", () => {
  const health = (url: string): { readonly code: number; readonly said: string } => {
    const env = { ...process.env, REDIS_URL: url };
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "dist/cli/main.js"), "health"], {
      env,
      encoding: "utf8",
    });
    return { code: status ?? -1, said: `${stdout}${stderr}` };
  };

  test("says so where Redis can be used, and why not where it cannot (R042)", async () => {
    const server = await startRedisServer();
    try {
      expect(health(server.url)).toEqual({ code: 0, said: "healthy\n" });
      await server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
      const evicting = health(server.url);
      expect(evicting.code).toBe(7);
      expect(evicting.said).toMatch(/noeviction.*STORE_EVICTS/s);
      leaveEvidence("R042", {
        checks: ["a Redis that evicts is refused"],
        refusal: { code: "STORE_EVICTS", message: evicting.said.trim() },
      });
    } finally {
      await server.stop();
    }
    const gone = health(server.url);
    expect(gone.code).toBe(6);
    expect(gone.said).toContain("STORE_UNAVAILABLE");
    expect(gone.said).not.toContain("    at ");
  });
});
