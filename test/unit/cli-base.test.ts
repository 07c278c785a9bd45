/** What every command is made of: what reaches a terminal, what is read from a command line, where the runs are. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askingOn } from "../../src/cli/base/ask.ts";
import { selectRuns } from "../../src/cli/base/bulk.ts";
import type { Cli } from "../../src/cli/base/cli.ts";
import type { Globals } from "../../src/cli/base/globals.ts";
import { clean, draw, ink } from "../../src/cli/base/ink.ts";
import { Out, type OutOptions } from "../../src/cli/base/out.ts";
import { placeOf } from "../../src/cli/base/place.ts";
import { durationOf, jsonOf, pairOf, timeOf, wholeOf } from "../../src/cli/base/values.ts";
import { agoText, clockText, lengthText, momentText, timeText } from "../../src/cli/base/words.ts";
import { colorsIn } from "../../src/cli/colors.ts";
import type { RunsQuery } from "../../src/client/index.ts";
import { settingNames } from "../../src/config.ts";
import { projectJsonSchema, readProject } from "../../src/project.ts";

const plain = colorsIn({}, {}, false);
const coloured = colorsIn({}, { FORCE_COLOR: "1" }, true);
const signal = new AbortController().signal;

function printed(options: Partial<OutOptions>, print: (out: Out) => void) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const rest = { quiet: false, verbose: false, reveal: false, colors: plain, noteColors: plain };
  print(new Out({ stdout, stderr, env: {}, format: "table", ...rest, ...options }));
  return { stdout: String(stdout.read() ?? ""), stderr: String(stderr.read() ?? "") };
}

describe("what reaches a terminal", () => {
  test("holds no control character of anybody else, whatever they write", () => {
    const control = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;
    const nasty = fc.string({
      unit: fc.oneof(fc.constantFrom("\u001b", "\u009b", "\n", "\u202e", "[2J"), fc.string()),
    });
    fc.assert(fc.property(nasty, (text) => !control.test(draw(["a", ink("red", text)], plain))));
  });

  test("shows them as escapes, and its own colours around", () => {
    expect(clean("a\u001b[2Jb\nc\u202e")).toBe("a\\x1b[2Jb\\nc\\u202e");
    expect(draw([ink("red", "\u001b"), "x"], coloured)).toBe("\u001b[31m\\x1b\u001b[39mx");
  });

  test("in JSON too", () => {
    const { stdout } = printed({ format: "json" }, (out) =>
      out.document("Run", { a: "\u001b\u009b" }, { lines: () => [] }),
    );
    expect(stdout).toBe('{"apiVersion":"v1","kind":"Run","data":{"a":"\\u001b\\u009b"}}\n');
  });

  test("has no colours where NO_COLOR or --no-color says so, or nobody looks", () => {
    expect(colorsIn({ isTTY: true }, {}, true).isColorSupported).toBe(true);
    expect(colorsIn({ isTTY: true }, { NO_COLOR: "1" }, true).isColorSupported).toBe(false);
    expect(colorsIn({ isTTY: true }, { TERM: "dumb" }, true).isColorSupported).toBe(false);
    expect(colorsIn({ isTTY: true }, {}, false).isColorSupported).toBe(false);
    expect(colorsIn({}, {}, true).isColorSupported).toBe(false);
  });
});

describe("a listing", () => {
  const items = [
    { id: "a", token: "secret-1" },
    { id: "b", token: "secret-2" },
  ];
  const print = (out: Out) =>
    out.list("Thing", {
      items,
      nextCursor: "c1",
      id: ({ id }) => id,
      columns: [
        { title: "name", cell: ({ id }) => id },
        { title: "all", cell: (item) => out.value(item), wide: true },
      ],
      empty: "there is none",
    });

  test("is one document, or one a line, with the cursor", () => {
    const masked = items.map(({ id }) => ({ id, token: "[redacted]" }));
    expect(JSON.parse(printed({ format: "json" }, print).stdout)).toEqual({
      ...{ apiVersion: "v1", kind: "ThingList", data: masked, nextCursor: "c1" },
    });
    const lines = printed({ format: "jsonl" }, print).stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      ...masked.map((data) => ({ apiVersion: "v1", kind: "Thing", data })),
      { apiVersion: "v1", kind: "Cursor", nextCursor: "c1" },
    ]);
  });

  test("is a table, with more columns where that is asked for, and the cursor on stderr", () => {
    expect(printed({}, print)).toEqual({ stdout: "name\na\nb\n", stderr: "More: --cursor c1\n" });
    expect(printed({ format: "wide" }, print).stdout).toContain('a     {"id":"a","token":"[redacted]"}');
    expect(printed({ format: "wide", reveal: true }, print).stdout).toContain("secret-1");
    expect(printed({ format: "id" }, print).stdout).toBe("a\nb\n");
  });

  test("is as wide as the terminal, else as COLUMNS says; a terminal without a size is none", () => {
    const widthOf = (columns: number | undefined, env: OutOptions["env"] = {}) => {
      let width = 0;
      const stdout = Object.assign(new PassThrough(), columns === undefined ? {} : { columns });
      printed({ stdout, env }, (out) => {
        width = out.width;
      });
      return width;
    };
    expect([widthOf(60, { COLUMNS: "40" }), widthOf(undefined, { COLUMNS: "40" })]).toEqual([60, 40]);
    expect([widthOf(0), widthOf(undefined), widthOf(undefined, { COLUMNS: "many" })]).toEqual([100, 100, 100]);
  });

  test("that is empty says what to do next, on stderr, unless it is to be quiet", () => {
    const none = (out: Out) => out.list("Thing", { items: [], id: () => "", columns: [], empty: "there is none" });
    expect(printed({}, none)).toEqual({ stdout: "", stderr: "there is none\n" });
    expect(printed({ quiet: true }, none)).toEqual({ stdout: "", stderr: "" });
    expect(JSON.parse(printed({ format: "json" }, none).stdout)).toMatchObject({ data: [], nextCursor: null });
  });
});

describe("what is written on a command line", () => {
  test("durations, times, pairs and JSON are read as they are meant", async () => {
    expect([durationOf("1.5s", "-t"), durationOf("2h", "-t")]).toEqual([1_500, 7_200_000]);
    expect(timeOf("2h", "--since", 10_000_000)).toBe(2_800_000);
    expect(timeOf("2026-01-31T09:00Z", "--since", 0)).toBe(Date.UTC(2026, 0, 31, 9));
    expect([pairOf("a=1", "--tag"), pairOf("a=b=c", "--tag")]).toEqual([
      ["a", 1],
      ["a", "b=c"],
    ]);
    const io = {
      stdin: new PassThrough().end('{"b":2}'),
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      env: {},
      cwd: "/",
      signal,
    };
    expect(await jsonOf('{"a":1}', "-i", io)).toEqual({ a: 1 });
    expect(await jsonOf("-", "-i", io)).toEqual({ b: 2 });
    await expect(jsonOf("{", "-i", io)).rejects.toThrow("-i is not JSON");
    for (const text of ['{"password": hunter2}', `{"password": hunter2, "rest": "${"x".repeat(90)}"}`, "hunter2"]) {
      await expect(jsonOf(text, "-i", io)).rejects.toThrow(/^-i is not JSON: (?!.*unter2)/s);
    }
    await expect(jsonOf("@nowhere.json", "-i", io)).rejects.toThrow("-i @nowhere.json");
  });

  test("whole numbers are taken up to the bound that the refusal names", () => {
    expect(wholeOf("2000000000", "<to>", 1, Number.MAX_SAFE_INTEGER)).toBe(2_000_000_000);
    expect(wholeOf(String(Number.MAX_SAFE_INTEGER), "<to>", 1, Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
    for (const text of ["0", "9007199254740992", "1e3", "-1", "1.5", ""])
      expect(() => wholeOf(text, "<to>", 1, Number.MAX_SAFE_INTEGER)).toThrow("<to>");
  });

  test("moments say their date and their zone", () => {
    const at = Date.UTC(2026, 0, 31, 9, 0, 0, 7);
    expect([momentText(at), timeText(at), clockText(at)]).toEqual([
      "2026-01-31 09:00:00.007Z",
      "2026-01-31 09:00:00Z",
      "09:00:00.007Z",
    ]);
  });

  test("lengths of time read in two units", () => {
    expect([40, 1_500, 59_000, 125_000, 90_000_000].map(lengthText)).toEqual(["40ms", "1.5s", "59s", "2m 5s", "1d 1h"]);
    expect([agoText(1_000, 3_000), agoText(63_000, 3_000)]).toEqual(["2s ago", "in 1m"]);
  });
});

test("a filter finds open runs however many have ended, each once, the newest first", async () => {
  const asked: (string | undefined)[] = [];
  const byStatus: Readonly<Record<string, readonly (readonly [id: string, createdAt: number])[]>> = {
    running: [["old", 1]],
    waiting: [
      ["moved", 3],
      ["new", 4],
    ],
    paused: [["moved", 3]],
  };
  const list = async ({ status }: RunsQuery) => {
    asked.push(status);
    const runs = (byStatus[status ?? ""] ?? []).map(([id, createdAt]) => ({
      tenant: "default",
      id,
      createdAt,
      status,
    }));
    return { runs, unreadable: [], cursor: null };
  };
  // What a selection by filter uses of it.
  const some = { tenant: async () => "default", client: async () => ({ list }), out: {} } as unknown as Cli;
  const { items } = await selectRuns(some, [], { saga: "order" });
  expect(items.map(({ id, status }) => `${id} ${status}`)).toEqual(["new waiting", "moved paused", "old running"]);
  expect(asked).toEqual(["running", "waiting", "paused", "needs_review", "unwinding"]);
  await selectRuns(some, [], { status: "completed" });
  expect(asked.slice(5)).toEqual(["completed"]);
});

test("nobody is asked where nobody sits: a script is told the flag that it lacks", async () => {
  const io = {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    env: {},
    cwd: "/",
    signal,
  };
  const terminal = (stream: PassThrough) => Object.assign(stream, { isTTY: true });
  const silent = { ...io, stdin: terminal(new PassThrough()), stderr: terminal(new PassThrough()) };
  for (const asking of [askingOn(io, false), askingOn(silent, true)]) {
    expect(asking.isPossible).toBe(false);
    await expect(asking.confirm("Sure?", "--yes")).rejects.toThrow("give --yes");
    await expect(asking.typed("Type 21", "21", "--expect 21")).rejects.toThrow("give --expect 21");
    await expect(asking.text("Why?", "--reason")).rejects.toThrow("give --reason");
  }
});

describe("reprise.config", () => {
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "reprise-config-"));
    await mkdir(join(dir, "a/b"), { recursive: true });
    await writeFile(
      join(dir, "reprise.config.json"),
      JSON.stringify({
        redis: "redis://file:1",
        namespace: "filed",
        tenant: "acme",
        shards: 4,
        settings: { leaseMs: 9_000, renewMs: 500 },
      }),
    );
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));

  const globals: Globals = {
    format: "table",
    ...{ quiet: false, verbose: false, color: true, reveal: false, yes: false, dryRun: false, noInput: false },
    ...{
      config: undefined,
      redis: undefined,
      namespace: undefined,
      tenant: undefined,
      by: undefined,
      reason: undefined,
    },
    timeoutMs: undefined,
  };
  const io = (env: Readonly<Record<string, string>> = {}, cwd = join(dir, "a/b")) => {
    const stream = new PassThrough();
    return { stdin: stream, stdout: stream, stderr: stream, env, cwd, signal };
  };

  test("is found upward; the environment wins over it, and a flag over both", async () => {
    expect(await placeOf(globals, io())).toMatchObject({
      ...{ redis: "redis://file:1", namespace: "filed", tenant: "acme", shards: 4, sagas: [] },
      settings: { leaseMs: 9_000, renewMs: 500 },
      file: join(dir, "reprise.config.json"),
    });
    const env = { REDIS_URL: "redis://env:1", REPRISE_NAMESPACE: "env", REPRISE_SHARDS: "2", REPRISE_LEASE: "8s" };
    expect(await placeOf(globals, io(env))).toMatchObject({
      ...{ redis: "redis://env:1", namespace: "env", tenant: "acme", shards: undefined, settings: { renewMs: 500 } },
    });
    const flags = { ...globals, redis: "redis://flag:1", namespace: "flag", tenant: "me" };
    expect(await placeOf(flags, io(env))).toMatchObject({ redis: "redis://flag:1", namespace: "flag", tenant: "me" });
  });

  test("says which step queues workers serve and who is told; what the environment says of queues wins", async () => {
    const file = join(dir, "queues.config.json");
    const notify = { shop: { url: "https://shop.example.com/hook", on: ["end"] } };
    const queues = { mail: { concurrency: 5, limit: { calls: 100, ms: 1_000 } }, gpu: {} };
    await writeFile(file, JSON.stringify({ redis: "redis://file:1", queues, notify }));
    const named = { ...globals, config: file };
    expect(await placeOf(named, io())).toMatchObject({
      notify,
      queues: [
        { name: "mail", concurrency: 5, limit: { max: 100, durationMs: 1_000 } },
        { name: "gpu", concurrency: 1 },
      ],
    });
    expect((await placeOf(named, io({ REPRISE_QUEUES: "mail=1" }))).queues).toBeUndefined();
    const wrong = {
      queues: { "a b": {}, mail: { concurrency: 0 } },
      notify: { shop: { url: "ftp://x", on: ["begin"] } },
    };
    expect(() => readProject(wrong, "f.json")).toThrow(/queues.*notify\.shop\.url: it is no http/s);
  });

  test("that is not there where it was named is said so, and that nothing says where Redis is", async () => {
    await expect(placeOf({ ...globals, config: "no.ts" }, io())).rejects.toThrow(
      "--config no.ts: there is no such file",
    );
    await expect(placeOf(globals, io({}, "/"))).rejects.toThrow("where is Redis? Give --redis, set REDIS_URL");
  });

  test("is refused with every problem that it has", () => {
    const read = () =>
      readProject({ redis: "http://x", shards: 0, nope: 1, sagas: [1], settings: { leaseMs: -1 } }, "f.json");
    expect(read).toThrow(/redis: it is neither.*shards: .*|.*nope.*/s);
    try {
      read();
    } catch (error) {
      expect(error).toMatchObject({ code: "CONFIG_INVALID", details: { file: "f.json", problems: expect.any(Array) } });
      expect((error as { details: { problems: string[] } }).details.problems.join("; ")).toMatch(
        /redis: .*shards: .*settings\.leaseMs: .*nope/s,
      );
    }
  });

  test("has a JSON schema, which is the published one and knows every setting", async () => {
    const schema = `${JSON.stringify(projectJsonSchema(), null, 2)}\n`;
    await expect(schema).toMatchFileSnapshot(resolve(import.meta.dirname, "../../schemas/reprise.config.schema.json"));
    for (const key of Object.keys(settingNames)) expect(schema).toContain(`"${key}"`);
    expect(JSON.parse(await readFile(resolve(import.meta.dirname, "../../package.json"), "utf8")).files).toContain(
      "schemas",
    );
  });
});
