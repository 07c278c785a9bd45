/**
 * The command line on a real Redis with a real worker, as an operator uses it: what it says, how it ends, and what the world saw. The
 * documents are held to their shapes (`__snapshots__/cli.test.ts.snap`): those are public.
 */
import { resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { asking, order, sagas } from "../fixtures/cli/sagas.ts";
import { type CliOptions, cli, startCli, type Told } from "../support/cli.ts";
import { shapeOf } from "../support/shape.ts";
import { effectsOf, type Top, top, until } from "./top.ts";

const config = resolve(import.meta.dirname, "../fixtures/cli/reprise.config.mjs");
const input = { id: "o-1", cents: 700 };

beforeEach(() => void vi.stubEnv("REPRISE_SHARDS", String(inject("shards"))));
afterEach(() => void vi.unstubAllEnvs());

/** The command line of a scene. */
function commandLine({ namespace }: Top) {
  const where = ["--redis", inject("redisUrl"), "--namespace", namespace, "--config", config, "--by", "ann"];
  const start = (argv: readonly string[], options?: CliOptions) => startCli([...argv, ...where], options);
  const run = (...argv: readonly string[]): Promise<Told> => cli([...argv, ...where]);
  /** Must end so; answers its document. */
  const json = async (code: number, ...argv: readonly string[]) => {
    const told = await run(...argv, "--json");
    expect([told.code, told.stderr]).toEqual([code, expect.anything()]);
    return JSON.parse(told.stdout);
  };
  return { start, run, json };
}

async function waiting({ client }: Top, id: string) {
  const run = await client.start(order, input, { id });
  await until(async () => (await run.get()).waitingFor === "event");
  return run;
}

/** Parked: the mail may be out, and nobody can be asked. */
async function parked(scene: Top, id = "r1") {
  scene.world.fault({ service: "mail", action: "send", kind: "reset-after-apply", times: 1 });
  const run = await waiting(scene, id);
  await run.signal("GO", {});
  await until(async () => (await run.get()).status === "needs_review");
  return run;
}

describe("an order from its start to its end", () => {
  test("is started, listed, shown, signalled, waited for, drawn and told, by commands alone", async () => {
    const scene = top(sagas);
    const { run, json, start } = commandLine(scene);
    await scene.worker({ allowForgetfulStore: true });

    const started = await json(0, "runs", "start", "order", "-i", JSON.stringify(input), "--id", "r1");
    expect(started).toMatchObject({ apiVersion: "v1", kind: "Run", data: { id: "r1", saga: "order" } });
    expect(shapeOf(started)).toMatchSnapshot("Run");
    expect(await json(0, "runs", "start", "order", "-i", JSON.stringify(input), "--id", "r1")).toMatchObject({
      data: { id: "r1" },
    });
    const other = await run("runs", "start", "order", "-i", '{"id":"o-2","cents":1}', "--id", "r1");
    expect([other.code, other.stderr]).toEqual([5, expect.stringContaining("RUN_CONFLICT")]);
    await until(async () => (await scene.client.run("r1").get()).waitingFor === "event");

    const listed = await json(
      0,
      "runs",
      "list",
      "--status",
      "waiting",
      "--saga",
      "order",
      "--tag",
      "owner=o-1",
      "--since",
      "1h",
    );
    expect(listed).toMatchObject({
      kind: "RunList",
      data: [{ id: "r1", status: "waiting", attributes: { owner: "o-1" } }],
      nextCursor: null,
    });
    expect(shapeOf(listed)).toMatchSnapshot("RunList");
    for (const none of [
      ["--tag", "owner=x"],
      ["--since", "0s"],
      ["--step", "mail"],
      ["--saga", "asking"],
    ]) {
      expect((await json(0, "runs", "list", ...none)).data).toEqual([]);
    }
    expect((await run("runs", "list", "-o", "id")).stdout).toBe("r1\n");

    const text = (await run("runs", "show", "r1")).stdout.split("\n");
    expect(text.slice(0, 3)).toEqual([
      expect.stringMatching(/^Stopped at +waiting, waits for event/),
      expect.stringMatching(/^Last external act +charge .*: ✓ happened +t[0-9a-f]+\/default\/r1\/charge\/1$/),
      expect.stringMatching(/^Safe now +✓ it can go on \(RESUME_SAFE\)/),
    ]);
    expect(shapeOf(await json(0, "runs", "show", "r1"))).toMatchSnapshot("Run, as shown");

    expect(await json(0, "runs", "signal", "r1", "GO", "--dry-run")).toMatchObject({ data: { answer: "would" } });
    const watched = start(["runs", "watch", "r1", "--jsonl"]);
    await until(() => watched.stdout().includes('"status":"waiting"'));
    const signalled = await json(0, "runs", "signal", "r1", "GO", "-i", '{"note":"now"}', "--id", "e1");
    expect(shapeOf(signalled)).toMatchSnapshot("Signal");
    const { code, stdout } = await watched.told;
    expect(code).toBe(0);
    expect(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      kind: "Run",
      data: { status: "completed" },
    });

    const gantt = (await run("runs", "timeline", "r1", "--no-color")).stdout;
    expect(gantt).toMatch(/1 charge +.*█.* ✓ /);
    expect(gantt).toMatch(/2 mail +.*█.* ✓ /);
    expect(gantt).toContain("▸ event GO");
    expect(shapeOf(await json(0, "runs", "timeline", "r1"))).toMatchSnapshot("Timeline");

    const history = await json(0, "runs", "history", "r1");
    expect(shapeOf(history.data[0])).toMatchSnapshot("LogEntry");
    const last = history.data.length;
    const difference = await json(0, "runs", "history", "r1", "--diff", `1..${last}`);
    expect(difference.data).toMatchObject({ problem: null, from: { state: null }, to: { status: "completed" } });
    expect(shapeOf(difference)).toMatchSnapshot("RunDifference");
    expect((await run("runs", "history", "r1", "--diff", `1..${last}`)).stdout).toContain('- "running"');
    expect((await run("runs", "history", "r1", "--diff", "1..99")).code).toBe(2);
    expect((await run("runs", "logs", "r1", "-f")).stdout.split("\n")).toHaveLength(last + 1);
    const bundle = JSON.parse((await run("runs", "bundle", "r1")).stdout);
    expect(bundle).toMatchObject({ kind: "reprise.run", run: { id: "r1" }, log: { length: last } });
    const file = await json(0, "runs", "bundle", "r1", "--to", "r1.json", "--dry-run");
    expect(shapeOf(file)).toMatchSnapshot("BundleFile");
    expect(effectsOf(scene.world)).toEqual(["payments.charge", "mail.send"]);
  });

  test("is waited for with an exit code for how it ends, and left alone by Ctrl-C and by a time-out", async () => {
    const scene = top(sagas);
    const { start, run } = commandLine(scene);
    await scene.worker({ allowForgetfulStore: true });
    const argv = ["runs", "start", "order", "-i", JSON.stringify(input), "--wait"];
    const late = await run(...argv, "--id", "r0", "--timeout", "100ms", "--json");
    expect([late.code, JSON.parse(late.stderr.trimEnd().split("\n").at(-1) ?? "")]).toMatchObject([
      8,
      { error: { code: "RESULT_TIMEOUT" } },
    ]);

    const ctrlC = new AbortController();
    const waited = start([...argv, "--id", "r1"], { signal: ctrlC.signal });
    await until(
      async () =>
        (
          await scene.client
            .run("r1")
            .get()
            .catch(() => null)
        )?.waitingFor === "event",
    );
    ctrlC.abort();
    const { code, stderr } = await waited.told;
    expect([code, stderr]).toEqual([
      130,
      expect.stringContaining("The run goes on. Look at it again: reprise runs watch r1"),
    ]);
    expect((await scene.client.run("r1").get()).status).toBe("waiting");

    const failing = start(["runs", "watch", "r1"]);
    await scene.client.run("r1").cancel({ by: "bob", reason: "no" });
    expect((await failing.told).code).toBe(1);
  });
});

describe("asking things of runs", () => {
  test("a cancel undoes, of many after a dry run and with their number; what does not fit is skipped and said", async () => {
    const scene = top(sagas);
    const { run, json } = commandLine(scene);
    await scene.worker({ allowForgetfulStore: true });
    for (const id of ["r1", "r2", "r3"]) await waiting(scene, id);
    const filter = ["runs", "cancel", "--saga", "order", "--status", "waiting"];
    expect(await json(0, ...filter, "--dry-run")).toMatchObject({
      kind: "ActList",
      data: Array(3).fill({ result: "would" }),
    });
    const unasked = await run(...filter);
    expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringContaining("there is nobody to ask: give --yes")]);
    expect((await run(...filter, "--yes")).stderr).toContain("give --reason");
    expect((await run(...filter, "--expect", "2", "--reason", "x")).stderr).toContain("3 runs would be concerned");
    const done = await json(0, ...filter, "--yes", "--reason", "wrong price");
    expect(done.data.map(({ run: id, result }: { run: string; result: string }) => `${id} ${result}`).sort()).toEqual([
      "r1 done",
      "r2 done",
      "r3 done",
    ]);
    expect(shapeOf(done)).toMatchSnapshot("ActList");
    await until(async () => (await scene.client.list({ status: "cancelled" })).runs.length === 3);
    expect(effectsOf(scene.world).filter((effect) => effect === "payments.refund")).toHaveLength(3);
    expect(await json(0, "runs", "cancel", "r1", "--reason", "again")).toMatchObject({
      data: [{ note: expect.stringContaining("of ann is recorded") }],
    });
    const over = await run("runs", "pause", "r1", "--reason", "again");
    expect([over.code, over.stderr]).toEqual([5, expect.stringContaining("RUN_ENDED")]);
    await waiting(scene, "r4");
    const mixed = await json(10, "runs", "pause", "r1", "r4", "--yes", "--reason", "both");
    expect(mixed.data).toMatchObject([
      { run: "r1", result: "failed" },
      { run: "r4", result: "done" },
    ]);
    expect((await run("runs", "cancel", "r1", "--status", "waiting")).code).toBe(2);
    expect((await run("runs", "show", "nobody")).code).toBe(3);
  });

  test("a dry run ends as the act would: it refuses what is refused, and says of the rest that it would be done", async () => {
    const scene = top(sagas);
    const { run, json } = commandLine(scene);
    await scene.worker({ allowForgetfulStore: true });
    await parked(scene, "p1");
    const over = await waiting(scene, "r1");
    await over.signal("GO", {});
    await over.result({ timeout: "10s" });
    await waiting(scene, "r2");
    const refused: readonly (readonly [code: number, error: string, ...argv: string[]])[] = [
      ...["cancel", "pause", "resume"].map((verb) => [5, "RUN_ENDED", "runs", verb, "r1"] as const),
      [5, "RUN_ENDED", "runs", "kill", "r1", "--really", "r1"],
      ...["skip", "probe", "discard-event"].map((verb) => [5, "REVIEW_GONE", "runs", verb, "r2"] as const),
      ...["skip", "probe", "discard-event"].map((verb) => [7, "VERB_REFUSED", "runs", verb, "p1"] as const),
      [7, "VERB_REFUSED", "runs", "raise", "p1", "steps", "9"],
      [7, "VERB_REFUSED", "effects", "probe", "p1#2"],
      [5, "REVIEW_GONE", "dlq", "discard", "r2"],
      [5, "RUN_ENDED", "runs", "signal", "r1", "GO"],
      [2, "EVENT_UNKNOWN", "runs", "signal", "r2", "NOPE"],
      [2, "INPUT_INVALID", "runs", "start", "order", "-i", '{"id":1}'],
      [3, "SAGA_UNKNOWN", "runs", "start", "nothing"],
      [3, "WORKER_NOT_FOUND", "workers", "drain", "nobody"],
    ];
    for (const [code, error, ...argv] of refused) {
      for (const flags of [["--dry-run"], ["--yes", "--reason", "x"]]) {
        const told = await run(...argv, ...flags);
        expect([argv, flags, told.code, told.stderr]).toEqual([
          argv,
          flags,
          code,
          expect.stringContaining(`[${error}]`),
        ]);
      }
    }
    const mixed = await json(10, "runs", "pause", "r1", "r2", "r2", "--dry-run");
    expect(mixed.data).toMatchObject([
      { run: "r1", result: "skipped", note: expect.stringContaining("RUN_ENDED") },
      { run: "r2", result: "would" },
    ]);
    const filtered = await run("runs", "cancel", "--saga", "order", "--dry-run", "-o", "id");
    expect(filtered).toMatchObject({ code: 0, stdout: "r2\np1\n", stderr: "" });
    const ended = await run("runs", "cancel", "--status", "completed", "--reason", "x");
    expect([ended.code, ended.stderr]).toEqual([0, expect.stringContaining("1 run that the filter finds")]);
    expect((await run("runs", "start", "order@1", "-i", "{}")).stderr).toContain("by the name alone");
    expect((await run("runs", "show", "r1")).stdout).toMatch(/Safe now +– nothing goes on/);
    expect(await run("runs", "bundle", "r1", "--to", "/nowhere/r1.json")).toMatchObject({ code: 2, stdout: "" });
  });

  test("a run of another tenant is named so that what is printed can be used as it stands", async () => {
    const scene = top(sagas);
    const { run, start } = commandLine(scene);
    await scene.client.start(order, input, { id: "r1", tenant: "acme" });
    await scene.client.start(order, input, { id: "r2" });
    const acme = { env: { REPRISE_TENANT: "acme" } };
    expect((await run("runs", "list", "--tenant", "acme", "-o", "id")).stdout).toBe("acme/r1\n");
    expect((await start(["runs", "list", "-o", "id"], acme).told).stdout).toBe("r1\n");
    expect((await run("runs", "show", "r1", "--tenant", "acme")).stderr).toContain("reprise runs watch acme/r1");
    expect((await start(["runs", "show", "default/r2"], acme).told).stderr).toContain("reprise runs watch default/r2");
    const paused = ["runs", "pause", "r1", "--tenant", "acme", "--reason", "look", "-o", "id"];
    expect((await run(...paused)).stdout).toBe("acme/r1\n");
    const gone = await run("runs", "show", "acme/r2");
    expect(gone.stderr).toContain("there is no run r2 of tenant acme");
  });

  test("of more than 20 nothing is done before their number was said", async () => {
    const scene = top(sagas);
    const { run, json } = commandLine(scene);
    await scene.client.startMany(
      order,
      Array.from({ length: 21 }, (_, at) => ({ id: `r${at}`, input })),
    );
    const cancel = ["runs", "cancel", "--saga", "order", "--reason", "all of them"];
    const asked = await run(...cancel, "--yes");
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining("give --expect 21")]);
    expect((await json(0, ...cancel, "--expect", "21")).data).toHaveLength(21);
  });

  test("a pause holds it, a resume lets it go on, a kill is asked twice and undoes nothing", async () => {
    const scene = top(sagas);
    const { run } = commandLine(scene);
    await scene.worker({ allowForgetfulStore: true });
    const handle = await waiting(scene, "r1");
    expect((await run("runs", "pause", "r1", "--reason", "look")).code).toBe(0);
    await until(async () => (await handle.get()).status === "paused");
    expect((await run("runs", "resume", "r1", "--reason", "looked")).code).toBe(0);
    await until(async () => (await handle.get()).status === "waiting");
    const kill = ["runs", "kill", "r1", "--reason", "enough"];
    expect((await run(...kill)).stderr).toContain("give --yes");
    expect((await run(...kill, "--yes")).stderr).toContain("give --really r1");
    expect((await run(...kill, "--yes", "--really", "r2")).code).toBe(2);
    expect((await run(...kill, "--yes", "--really", "r1")).code).toBe(0);
    await until(async () => (await handle.get()).status === "cancelled");
    expect(effectsOf(scene.world)).toEqual(["payments.charge"]);
  });
});

describe("a parked run", () => {
  test("is found, grouped, shown, and its effect resolved by what somebody has seen", async () => {
    const scene = top(sagas);
    const { run, json } = commandLine(scene);
    await scene.worker({ allowForgetfulStore: true });
    const handle = await parked(scene);
    const letters = await json(0, "dlq", "list");
    expect(letters.data).toMatchObject([{ id: "r1", reason: "unknown_outcome", step: "mail" }]);
    expect(shapeOf(letters)).toMatchSnapshot("DeadLetterList");
    const groups = await json(0, "dlq", "groups");
    expect(groups.data).toMatchObject([
      { saga: "order", step: "mail", reason: "unknown_outcome", count: 1, examples: [{ id: "r1" }] },
    ]);
    expect(shapeOf(groups)).toMatchSnapshot("DeadLetterGroupList");
    const shown = (await run("dlq", "show", "r1")).stdout;
    expect(shown).toMatch(/^Stopped at +mail \(attempt 1, needs_review/);
    expect(shown).toContain("? may have happened");
    expect(shown).toMatch(/Safe now +✗ nothing is repeated before a person has decided \(HUMAN_REQUIRED\)/);
    expect(shown).toContain("reprise effects resolve r1#2 --as happened|absent --evidence ...");
    expect(shapeOf(await json(0, "dlq", "show", "r1"))).toMatchSnapshot("DeadLetter");

    const effects = await json(0, "effects", "list", "--state", "unknown");
    expect(effects.data).toMatchObject([{ run: "r1", step: "mail", state: "unknown", effect: "once" }]);
    expect(shapeOf(effects)).toMatchSnapshot("EffectList");
    const { operationId } = effects.data[0];
    expect(shapeOf(await json(0, "effects", "show", operationId))).toMatchSnapshot("Effect");
    const refused = await run("effects", "probe", "r1#2");
    expect([refused.code, refused.stderr]).toEqual([7, expect.stringContaining("VERB_REFUSED")]);
    const about = await run("effects", "resolve", "r1#1", "--as", "absent", "--evidence", "x", "--yes");
    expect([about.code, about.stderr]).toEqual([5, expect.stringContaining("parked for something else")]);
    const resolve = ["effects", "resolve", "r1#2", "--as", "happened", "--evidence", "the outbox", "--ref", "m-1"];
    expect((await run(...resolve, "--yes")).code).toBe(2); // what it would have returned does not fit
    expect(await json(0, ...resolve, "--result", '{"messageId":"m-1"}', "--dry-run")).toMatchObject({
      data: { result: "would" },
    });
    const resolved = await json(0, ...resolve, "--result", '{"messageId":"m-1"}', "--yes");
    expect(shapeOf(resolved)).toMatchSnapshot("EffectAct");
    expect(await handle.result({ timeout: "10s", through: "review" })).toEqual({ messageId: "m-1" });
    expect(effectsOf(scene.world)).toEqual(["payments.charge", "mail.send"]);
    expect((await run("dlq", "show", "r1")).code).toBe(5);
  });

  test("is replayed by a plan alone, which is refused where it is not safe; or given up", async () => {
    const scene = top(sagas);
    const { run, json } = commandLine(scene);
    await scene.worker({ allowForgetfulStore: true });
    await parked(scene);
    const plan = await json(7, "replay", "plan", "r1");
    expect(plan).toMatchObject({ kind: "ReplayPlan", data: { run: "r1", safe: false } });
    expect(shapeOf(plan)).toMatchSnapshot("ReplayPlan");
    const refused = await run("replay", "run", plan.data.id, "--reason", "go");
    expect([refused.code, refused.stderr]).toEqual([7, expect.stringContaining("PLAN_REFUSED")]);
    const batch = await json(7, "replay", "plan", "--saga", "order", "--why", "unknown_outcome");
    expect(batch).toMatchObject({ kind: "Batch", data: { items: [{ run: "r1" }] } });
    expect(shapeOf(batch)).toMatchSnapshot("Batch");
    const left = await json(10, "replay", "run", batch.data.id, "--only-safe", "--reason", "go", "--yes");
    expect(left).toMatchObject({ kind: "BatchReport", data: { results: [{ result: "skipped" }] } });
    expect(shapeOf(left)).toMatchSnapshot("BatchReport");
    const listed = await json(0, "batch", "list");
    expect(listed.data).toMatchObject([{ id: batch.data.id, by: "ann", runs: 1, done: 0, skipped: 1, failed: 0 }]);
    expect(shapeOf(listed)).toMatchSnapshot("BatchSummaryList");
    const anew = await json(7, "replay", "plan", "r1", "--as-new", "--new-id", "r2");
    const twice = ["--override", "the mail may go twice"];
    // A dry run ends as the act would.
    expect((await run("replay", "run", anew.data.id, "--dry-run")).code).toBe(7);
    const would = await json(0, "replay", "run", anew.data.id, ...twice, "--dry-run");
    expect(would.data).toMatchObject({ run: "r2", mode: "new_run", isRepeated: false, dryRun: true });
    const replayed = await json(0, "replay", "run", anew.data.id, "--reason", "once more", ...twice);
    expect(replayed).toMatchObject({ kind: "Replayed", data: { run: "r2", mode: "new_run" } });
    expect(shapeOf(replayed)).toMatchSnapshot("Replayed");
    const taken = await run("replay", "run", anew.data.id, ...twice, "--dry-run");
    expect([taken.code, taken.stderr]).toEqual([5, expect.stringContaining("PLAN_TAKEN")]);
    for (const flags of [["--reason", "x"], ["--dry-run"]]) {
      const gone = await run("replay", "run", "nothing", ...flags);
      expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining("there is no plan or batch nothing")]);
    }
    expect((await run("dlq", "discard", "r1", "--reason", "by hand")).stderr).toContain("give --yes");
    expect((await run("dlq", "discard", "r1", "--reason", "by hand", "--yes")).code).toBe(0);
    await until(async () => (await scene.client.run("r1").get()).status === "failed");
  });
});

describe("a batch that somebody else suspends", () => {
  test("ends whoever executes it, is refused to everybody, and goes on once it is resumed", async () => {
    const scene = top(sagas);
    const { run, json, start } = commandLine(scene);
    const worker = await scene.worker({ allowForgetfulStore: true });
    for (const id of ["r1", "r2", "r3"]) await (await waiting(scene, id)).signal("GO", {});
    await until(async () => (await scene.client.list({ status: "completed" })).runs.length === 3);
    await worker.stop();
    const planned = await json(0, "replay", "plan", "--saga", "order", "--status", "completed", "--compensate-only");
    const { id } = planned.data;
    const would = await json(0, "batch", "suspend", id, "--dry-run");
    expect(would.data).toEqual({ batch: id, was: null, suspended: null, dryRun: true });

    // Nobody does what the canary asks for, so it is watched for as long as nobody suspends the batch.
    const flags = ["--canary", "1", "--canary-within", "1h", "--reason", "wrong price", "--yes", "--json"];
    const executed = start(["replay", "run", id, ...flags]);
    await until(async () => (await scene.client.batch(id)).results.some((result) => result !== null));
    expect((await run("batch", "suspend", id)).stderr).toContain("--reason");
    const suspended = await json(0, "batch", "suspend", id, "--reason", "the wrong runs");
    expect(suspended).toMatchObject({ kind: "BatchSuspension", data: { was: null, suspended: { by: "ann" } } });
    expect(shapeOf(suspended)).toMatchSnapshot("BatchSuspension");
    const { code, stdout, stderr } = await executed.told;
    const { data } = JSON.parse(stdout);
    expect([code, data.stopped]).toEqual([10, "suspended by ann: the wrong runs"]);
    expect(data).toMatchObject({ results: [{ result: "done" }, null, null], suspended: suspended.data.suspended });
    expect(stderr).toContain(`reprise batch resume ${id} --reason`);

    const refused = await run("replay", "run", id, "--reason", "again", "--yes");
    expect([refused.code, refused.stdout]).toEqual([7, ""]);
    expect(refused.stderr).toMatch(/suspended by ann: the wrong runs .*reprise batch resume .*BATCH_SUSPENDED/);
    expect((await run("replay", "run", id, "--dry-run")).code).toBe(7);
    const again = await run("batch", "suspend", id, "--reason", "me too");
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringContaining("Nothing was changed: it is suspended by ann"),
    ]);
    expect((await run("batch", "suspend", id, "--dry-run")).stdout).toContain("nothing would be changed");
    expect((await run("batch", "show", id)).stdout).toMatch(/‖ suspended by ann, .*: the wrong runs/);
    expect((await run("batch", "list")).stdout).toContain("‖ ann");
    expect(shapeOf(await json(0, "batch", "list"))).toMatchSnapshot("BatchSummaryList");
    expect(shapeOf(await json(0, "batch", "show", id))).toMatchSnapshot("BatchReport");

    expect((await run("batch", "resume", id, "--dry-run")).stdout).toContain("it would be resumed");
    const resumed = await json(0, "batch", "resume", id, "--reason", "they are right");
    expect(resumed.data).toMatchObject({ was: suspended.data.suspended, suspended: null });
    const idle = await run("batch", "resume", id, "--reason", "again");
    expect([idle.code, idle.stdout]).toEqual([0, expect.stringContaining("it is not suspended")]);
    // All of them are asked for by now, and it stops all the same: nobody has done it.
    const watched = ["--canary", "3", "--canary-within", "100ms", "--reason", "go on", "--yes"];
    const { data: stopped } = await json(10, "replay", "run", id, ...watched);
    expect(stopped).toMatchObject({ suspended: null, stopped: expect.stringContaining("nothing has come of it yet") });
    expect(stopped.results).toMatchObject([{ result: "done" }, { result: "done" }, { result: "done" }]);
    await scene.worker({ allowForgetfulStore: true });
    expect((await run("replay", "run", id, "--reason", "go on", "--yes")).code).toBe(0);
    await until(async () => (await scene.client.list({ status: "cancelled" })).runs.length === 3);
    expect(effectsOf(scene.world).filter((effect) => effect === "payments.refund")).toHaveLength(3);
    const { data: acts } = await json(0, "audit");
    expect(acts.filter(({ about }: { about: string | null }) => about === `batch ${id}`)).toMatchObject([
      { act: "resume_batch", by: "ann", reason: "they are right" },
      { act: "suspend_batch", by: "ann", reason: "the wrong runs" },
      { act: "execute_batch", by: "ann", reason: "wrong price" },
    ]);
    expect((await run("batch", "suspend", "nothing", "--reason", "x")).code).toBe(3);
    const { data: plan } = await json(7, "replay", "plan", "r1");
    expect((await run("batch", "suspend", plan.id, "--reason", "x")).code).toBe(2);
  });
});

describe("what people are asked", () => {
  test("is listed, shown, answered; only what was looked at is approved, and only by who may", async () => {
    const scene = top(sagas);
    const { run, json } = commandLine(scene);
    await scene.worker();
    const handle = await scene.client.start(asking, input, { id: "a1" });
    await until(async () => (await handle.approvals()).length === 1);
    const listed = await json(0, "approvals", "list", "--role", "finance");
    expect(listed.data).toMatchObject([{ run: "a1", question: "Charge it?", roles: ["finance"] }]);
    expect(shapeOf(listed)).toMatchSnapshot("ApprovalList");
    expect((await run("approvals", "list", "-o", "id")).stdout).toBe("a1#1.1\n");
    const asked = await json(0, "approvals", "show", "a1");
    expect(shapeOf(asked)).toMatchSnapshot("Approval");
    const { shown } = asked.data;

    expect((await run("approve", "a1")).stderr).toContain(`give --shown ${shown}, or --yes`);
    expect((await run("approve", "a1", "--shown", "other", "--role", "finance")).code).toBe(5);
    expect((await run("approve", "a1", "--yes")).code).toBe(4);
    expect((await run("respond", "a1", "Why?", "--role", "finance", "--yes")).code).toBe(0);
    const edit = [
      "approve",
      "a1#1.1",
      "--role",
      "finance",
      "--shown",
      shown,
      "--edit",
      '{"id":"o-1","cents":500}',
      "--reason",
      "less",
    ];
    expect(await json(0, ...edit, "--dry-run")).toMatchObject({ data: { is: "would" } });
    const decided = await json(0, ...edit);
    expect(decided.data).toMatchObject({
      word: "approve",
      by: "ann",
      is: "accepted",
      changes: [{ path: "cents", before: 700, after: 500 }],
    });
    expect(shapeOf(decided)).toMatchSnapshot("Decision");
    await handle.result({ timeout: "10s" });
    expect((await run("approve", "a1", "--yes", "--role", "finance")).code).toBe(5);

    await scene.client.start(asking, input, { id: "a2" });
    await until(async () => (await scene.client.run("a2").approvals()).length === 1);
    expect((await run("reject", "a2", "--yes", "--role", "finance", "--reason", "no")).code).toBe(0);
    await until(async () => (await scene.client.run("a2").get()).status === "failed");
    expect(effectsOf(scene.world)).toEqual(["payments.charge"]);
  });
});
