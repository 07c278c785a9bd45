/** What the command line says of sagas without a store: the documents of `sagas`, `schema`, `diff`, `lint`, of this repository's examples. */
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { saga, step } from "../../src/index.ts";
import { simulate } from "../../src/testing/index.ts";
import { cli } from "../support/cli.ts";
import { shapeOf } from "../support/shape.ts";

const cwd = resolve(import.meta.dirname, "../..");
const data = async (...argv: readonly string[]) => JSON.parse((await cli([...argv, "--json"], { cwd })).stdout);

test("the sagas of a project are listed with what lint says of each, and nothing of a store that nobody named", async () => {
  const { kind, data: sagas, nextCursor } = await data("sagas", "list");
  expect([kind, nextCursor]).toEqual(["SagaVersionList", null]);
  expect(sagas[3]).toEqual({
    ...{ saga: "order", version: 1, hash: expect.any(String), inCode: true },
    ...{ registered: null, open: null, workers: null, steps: 4, findings: 1 },
  });
  expect(shapeOf(sagas)).toMatchSnapshot("SagaVersionList");
  const { stdout, stderr } = await cli(["sagas", "list", "-o", "id"], { cwd });
  expect(stdout).toBe("agent@1\nbatch@1\nloan@1\norder@1\nrefund@1\nsupport@1\ntrip@1\n");
  expect(stderr).toContain("No Redis was named");
});

test("a saga is shown with the effect class of every step, and of the tools that they call", async () => {
  const { kind, data: refund } = await data("sagas", "show", "refund@1");
  expect([kind, Object.keys(refund)]).toMatchInlineSnapshot(`
    [
      "Saga",
      [
        "saga",
        "version",
        "hash",
        "from",
        "steps",
        "events",
        "schemas",
        "pool",
        "deadlineMs",
        "unwind",
        "migratesFrom",
        "findings",
        "changes",
      ],
    ]
  `);
  expect(shapeOf(refund)).toMatchSnapshot("Saga");
  expect(refund.steps).toMatchInlineSnapshot(`
    [
      {
        "asks": false,
        "attempts": 5,
        "child": null,
        "effect": "none",
        "kind": "call",
        "name": "readCase",
        "noCompensation": null,
        "pivot": false,
        "probe": false,
        "queue": null,
        "timeoutMs": 5000,
        "toolOf": null,
        "undo": null,
      },
      {
        "asks": false,
        "attempts": 5,
        "child": null,
        "effect": "none",
        "kind": "call",
        "name": "settleCase",
        "noCompensation": null,
        "pivot": false,
        "probe": false,
        "queue": null,
        "timeoutMs": 120000,
        "toolOf": null,
        "undo": null,
      },
      {
        "asks": true,
        "attempts": 5,
        "child": null,
        "effect": "keyed",
        "kind": "call",
        "name": "refundOrder",
        "noCompensation": null,
        "pivot": false,
        "probe": true,
        "queue": null,
        "timeoutMs": 10000,
        "toolOf": "settleCase",
        "undo": "keyed",
      },
      {
        "asks": false,
        "attempts": 5,
        "child": null,
        "effect": "once",
        "kind": "call",
        "name": "tellCustomer",
        "noCompensation": "a mail that was read cannot be unread",
        "pivot": false,
        "probe": false,
        "queue": null,
        "timeoutMs": 5000,
        "toolOf": null,
        "undo": null,
      },
    ]
  `);
});

test("a schema is printed as it stands, to be written to a file", async () => {
  const { stdout } = await cli(["schema", "order", "--of", "chargeCard output"], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ type: "object", required: ["chargeId"] });
  const { kind, data: schemas } = await data("schema", "order");
  expect([kind, Object.keys(schemas.schemas)]).toEqual([
    "SagaSchemas",
    expect.arrayContaining(["input", "ship input"]),
  ]);
  expect(shapeOf({ ...schemas, schemas: Object.keys(schemas.schemas) })).toMatchSnapshot("SagaSchemas");
  expect((await cli(["schema", "order", "--of", "nothing"], { cwd })).code).toBe(2);
});

test("two sagas are told apart in words, and a saga that is nowhere is said to be, with what there is", async () => {
  const { kind, data: diff } = await data("diff", "order@1", "trip@1");
  expect([kind, diff.same, diff.before.from]).toEqual(["SagaDiff", false, "code"]);
  expect(shapeOf(diff)).toMatchSnapshot("SagaDiff");
  expect(diff.changes).toContain("step chargeCard is gone");
  expect((await data("diff", "order", "order")).data).toMatchObject({ same: true, changes: [] });
  const { code, stderr } = await cli(["sagas", "show", "nope"], { cwd });
  expect([code, stderr]).toEqual([3, expect.stringContaining("order@1")]);
});

test("lint reads what the configuration names, and exits 2 for a module that is not there", async () => {
  const { kind, data: report } = await data("lint");
  expect([kind, report.errors, report.warnings, report.files.length]).toEqual(["LintReport", 0, 6, 1]);
  expect(shapeOf(report)).toMatchSnapshot("LintReport");
  const { code, stdout } = await cli(["lint", "sagas/nowhere.ts"], { cwd });
  expect([code, stdout]).toEqual([2, expect.stringContaining("1 error, 0 warnings")]);
});

test("a client tells which versions have open runs and living workers, with what is registered of each", async () => {
  const pack = step("pack", { input: z.object({}), effect: "none", action: () => undefined });
  const box = saga("box", { version: 3, input: z.object({}), events: { GO: z.object({}) } })
    .waitFor("GO")
    .step(pack, () => ({}))
    .build();
  const run = await simulate(box, { input: {} });
  const [open, ...others] = await run.client.served();
  expect(open).toMatchObject({ saga: "box", version: 3, open: true, workers: 1, registered: { hash: open?.hash } });
  expect(others).toEqual([]);
  await run.signal("GO", {});
  expect(await run.client.served()).toMatchObject([{ saga: "box", open: false, workers: 1 }]);
  expect(await run.client.registered("box", 2)).toBeNull();
});

const order = JSON.stringify({ id: "o-1", sku: "A", cents: 4_200, email: "ada@example.org" });

test("a saga is simulated without a Redis: what happened, and what another outcome of a step leads to", async () => {
  const { kind, data: run } = await data("simulate", "order", "-i", order);
  expect([kind, run.status, run.happened]).toEqual([
    "Simulation",
    "completed",
    ["reserveStock", "chargeCard", "ship", "sendMail"],
  ]);
  expect(shapeOf(run)).toMatchSnapshot("Simulation");
  const other = await data("simulate", "order", "-i", order, "--outcome", 'ship={"shipmentId":"s-9"}');
  expect(other.data.output).toMatchObject({ shipmentId: "s-9" });
  const argv = ["simulate", "order", "-i", order];
  const [watched, unwatched] = await Promise.all([cli(argv, { cwd, isWatched: true }), cli(argv, { cwd })]);
  expect([watched.stderr, unwatched.stderr]).toEqual([expect.stringContaining("simulate  1  "), ""]);
  // The line is gone when it is done.
  expect(watched.stderr.endsWith("\r\u001b[2K")).toBe(true);
  expect(watched.stdout).toBe(unwatched.stdout);
  const wrong = await cli(["simulate", "order", "-i", "{}", "--json"], { cwd });
  expect([wrong.code, JSON.parse(wrong.stderr).error.code]).toEqual([2, "INPUT_INVALID"]);
});

test("one case of a crash sweep is played, and a case that is not there is refused with those that are", async () => {
  const sweep = ["simulate", "order", "-i", order, "--crash-at"];
  const { kind, data: report } = await data(...sweep, "store.commit 4: kill after");
  expect([kind, report.cases, report.failures, report.missed]).toEqual(["SweepReport", 1, [], []]);
  expect(shapeOf(report)).toMatchSnapshot("SweepReport");
  const { code, stderr } = await cli([...sweep, "nowhere"], { cwd });
  expect([code, stderr]).toEqual([2, expect.stringContaining("store.commit 4")]);
});

test("what says nothing of runs has its document too", async () => {
  const files = await data("init", "nowhere", "--dry-run");
  expect(files).toMatchObject({
    kind: "NewFiles",
    data: { dryRun: true, files: expect.arrayContaining(["worker.ts"]) },
  });
  expect(shapeOf(files)).toMatchSnapshot("NewFiles");
  expect(shapeOf(await data("completion", "bash"))).toMatchSnapshot("Completion");
  expect(shapeOf(await data("version"))).toMatchSnapshot("Version");
});

test("completion completes groups, commands and flags in a real shell", async () => {
  const { stdout } = await cli(["completion", "bash"]);
  const ask = (...words: readonly string[]) => {
    const line = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _reprise; echo "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", `${stdout}\n${line}`], { encoding: "utf8" }).trim();
  };
  expect(ask("reprise", "sched")).toBe("schedules");
  expect(ask("reprise", "sagas", "")).toBe("list show");
  expect(ask("reprise", "simulate", "order", "--cr")).toBe("--crash-at");
  expect((await cli(["completion", "fish"])).stdout).toContain(
    "complete -c reprise -f -n '__reprise_at runs' -a start\n",
  );
  expect((await cli(["completion", "tcsh"])).code).toBe(2);
});
