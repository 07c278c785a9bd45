/** `reprise check` as a deploy pipeline calls it: the built command line, a real Redis with open runs, modules of new code. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createClient, createWorker, type Saga } from "../../src/index.ts";
import { owned, spawnProgram, waitFor } from "../support/processes.ts";
import { type RedisServer, startRedisServer } from "../support/redis-server.ts";
import { shapeOf } from "../support/shape.ts";

const root = resolve(import.meta.dirname, "../..");
const { own, release } = owned();
let redis: RedisServer;
let modules: string;
let same: Told;
let moved: Told;
let changed: Told;
let json: Told;
let jsonl: Told;
let elsewhere: Told;

const head = `
import { saga, step } from "reprise";
import { z } from "zod";
const rest = { effect: "keyed", action: () => undefined, noCompensation: "a test" };
const ship = step("ship", { input: z.object({ sku: z.string() }), ...rest });
const pack = step("pack", { input: z.object({ sku: z.string() }), ...rest });
const events = { PAID: z.object({}) };
const order = (version, options = {}) => saga("order", { version, input: z.object({ sku: z.string() }), events, ...options }).waitFor("PAID");
`;
const migrate =
  "{ migrate: { 1: (run) => { if (run.input.sku === 'odd') throw new Error('odd is odd'); return run; } } }";
const sources = {
  "v1.mjs": "export const v1 = order(1).step(ship, ({ input }) => input).build();",
  "changed.mjs": "export const v1 = order(1).step(pack, ({ input }) => input).build();",
  "v2.mjs": `export const all = [order(2, ${migrate}).step(pack, ({ input }) => input).step(ship, ({ input }) => input).build()];`,
  "none.mjs": "export const nothing = 1;",
};

beforeAll(async () => {
  // Beside the package, so that `reprise` is found as a user's project finds it.
  modules = await mkdtemp(join(root, "test/e2e/.check-"));
  for (const [name, source] of Object.entries(sources)) await writeFile(join(modules, name), head + source);
  redis = own(await startRedisServer());
  const { v1 } = (await import(join(modules, "v1.mjs"))) as { readonly v1: Saga };
  const place = { redis: redis.url, sagas: [v1] };
  const client = own(createClient(place));
  const worker = createWorker({ ...place, settings: { shutdownMs: 2_000 } });
  await worker.start();
  for (const sku of ["a", "b", "odd"]) await client.start(v1, { sku }, { id: sku });
  const waiting = async () => (await client.list({ status: "waiting" })).runs.length === 3;
  await waitFor(waiting, { what: "three runs to wait", timeoutMs: 30_000 });
  await worker.stop();
  await redis.ask("CONFIG", "RESETSTAT");
  [same, moved, changed, json, jsonl, elsewhere] = await Promise.all([
    check("--sagas", "v1.mjs"),
    check("--sagas", "v2.mjs"),
    check("--sagas", "changed.mjs"),
    check("--sagas", "v2.mjs", "--json"),
    check("--sagas", "v2.mjs", "--jsonl"),
    check("--sagas", "v1.mjs", "--namespace", "nobody-was-here"),
  ]);
});
afterAll(async () => {
  await release();
  await rm(modules, { recursive: true, force: true });
});

interface Told {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function check(...args: readonly string[]): Promise<Told> {
  const files = args.map((arg) => (arg.endsWith(".mjs") ? join(modules, arg) : arg));
  const env = { REDIS_URL: redis.url, NO_COLOR: "1" };
  const started = await spawnProgram(process.execPath, [join(root, "dist/cli/main.js"), "check", ...files], { env });
  const { code } = await started.exit;
  return { code, stdout: started.stdout, stderr: started.stderr };
}

describe("reprise check", () => {
  test("says that all runs go on by the same code, and exits 0", () => {
    const { code, stdout, stderr } = same;
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/order +1 +3 +3 +- +-\n/);
    expect(stdout).toContain("✓ 3 runs open: 3 go on");
  });

  test("names what would break, where and why, and exits 9", () => {
    const { code, stdout } = moved;
    expect(code).toBe(9);
    expect(stdout).toContain("→ 2 runs would move in await_PAID\n      b, a");
    expect(stdout).toContain(
      "✗ 1 run breaks in await_PAID, at migration: the migration from version 1 to 2 threw: odd is odd\n      odd",
    );
    expect(stdout).toContain("✗ 3 runs open: 2 would move, 1 breaks");
  });

  test("says what changed under the same version", () => {
    const { code, stdout } = changed;
    expect(code).toBe(9);
    expect(stdout).toMatch(/changed since it was registered:\n {4}step ship is gone\n/);
    expect(stdout).toContain("✗ 3 runs break in await_PAID, at structure: order@1 is another in this code");
    expect(stdout).toContain("make it version 2, and keep order@1 as it was beside it");
  });

  test("prints one JSON document of a stable shape, and a line for each run where that is asked for", () => {
    const { code, stdout } = json;
    const report = JSON.parse(stdout);
    expect(code).toBe(9);
    expect(Object.keys(report)).toEqual(["apiVersion", "kind", "data"]);
    expect(report).toEqual({
      apiVersion: "v1",
      kind: "CheckReport",
      data: {
        ok: false,
        runs: 3,
        fates: { goes_on: 0, moves: 2, breaks: 1, unread: 0, unserved: 0, elsewhere: 0 },
        versions: [
          {
            saga: "order",
            version: 1,
            hash: expect.any(String),
            changes: [],
            runs: 3,
            fates: { goes_on: 0, moves: 2, breaks: 1, unread: 0, unserved: 0, elsewhere: 0 },
            findings: [
              { fate: "moves", state: "await_PAID", at: null, problem: null, runs: 2, examples: expect.any(Array) },
              {
                fate: "breaks",
                state: "await_PAID",
                at: "migration",
                problem: "the migration from version 1 to 2 threw: odd is odd",
                runs: 1,
                examples: [{ tenant: "default", id: "odd" }],
              },
            ],
            untold: 0,
          },
        ],
      },
    });
    const lines = jsonl.stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).kind)).toEqual([...Array(3).fill("CheckedRun"), "CheckReport"]);
    expect(shapeOf(report)).toMatchSnapshot("CheckReport");
    expect(shapeOf(JSON.parse(lines[0] ?? ""))).toMatchSnapshot("CheckedRun");
  });

  test("writes nothing, and asks Redis for nothing but to read", async () => {
    expect([elsewhere.code, elsewhere.stdout]).toEqual([0, "✓ no run is open\n"]);
    const stats = String(await redis.ask("INFO", "commandstats"));
    const commands = [...stats.matchAll(/^cmdstat_([^:]+):/gm)].map(([, name = ""]) => name);
    const info = JSON.parse(JSON.stringify(await redis.ask("COMMAND", "INFO", ...commands))) as [
      string,
      number,
      string[],
    ][];
    expect(commands).toContain("evalsha");
    expect(info.filter((each) => each?.[2]?.includes("write")).map(([name]) => name)).toEqual([]);
  });

  test("says in a sentence what is wrong with how it is called", async () => {
    const [none, lost] = await Promise.all([check("--sagas", "none.mjs"), check("--sagas", "lost.mjs")]);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("none.mjs exports no saga")]);
    expect([lost.code, lost.stderr]).toEqual([2, expect.stringContaining("lost.mjs")]);
    expect(lost.stderr).not.toContain("    at ");
  });
});
