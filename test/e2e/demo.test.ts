import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Exit, spawnProgram } from "../support/processes.ts";

const root = resolve(import.meta.dirname, "../..");
const built = join(root, "dist/cli/main.js");

interface Row {
  readonly operationId: string | null;
  readonly difference: string;
}
interface Side {
  readonly operationId: string;
  readonly effects: number;
}
interface Outcome {
  readonly chapters: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly problems: readonly string[];
    readonly claimed: readonly (Side & { readonly step: string; readonly state: string })[];
    readonly observed: readonly (Side & { readonly actions: readonly string[]; readonly arrivals: number })[];
  }[];
  readonly differences: number;
  readonly differenceRows: readonly Row[];
  readonly inputErrors?: readonly { readonly line: number; readonly field: string | null; readonly message: string }[];
  readonly repeatedLines?: readonly { readonly line: number }[];
  readonly dir: string | null;
}

interface Ended extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

let scratch: string;
const left: string[] = [];

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "reprise-e2e-"));
});
afterAll(async () => {
  for (const dir of [scratch, ...left]) await rm(dir, { recursive: true, force: true });
});

async function run(command: string, args: readonly string[]): Promise<Ended> {
  const started = await spawnProgram(command, args, { env: { REDIS_URL: "", NO_COLOR: "1" } });
  const exit = await started.exit;
  return { ...exit, stdout: started.stdout, stderr: started.stderr };
}

const reprise = (...args: readonly string[]) => run(process.execPath, [built, ...args]);

/** The one object that `--json` ends with. */
function outcomeOf({ stdout, stderr }: Ended): Outcome {
  const last = stdout.trimEnd().split("\n").at(-1) ?? "";
  expect(last, stderr).toMatch(/^\{.*\}$/);
  const outcome = JSON.parse(last) as Outcome;
  if (outcome.dir !== null) left.push(outcome.dir);
  return outcome;
}

async function fileOf(name: string, lines: readonly string[]): Promise<string> {
  const path = join(scratch, name);
  await writeFile(path, `${lines.join("\n")}\n`);
  return path;
}

describe("npm start", () => {
  let told: Ended;
  let outcome: Outcome;

  beforeAll(async () => {
    told = await run("npm", ["start", "--", "--once", "--json"]);
    outcome = outcomeOf(told);
  }, 120_000);

  test("tells nine chapters as they should go, and ledger and world agree", () => {
    expect(outcome.chapters.flatMap(({ problems }) => problems)).toEqual([]);
    expect(outcome.chapters.map(({ ok }) => ok)).toEqual(Array.from({ length: 9 }, () => true));
    expect(outcome).toMatchObject({ differences: 0, differenceRows: [] });
    expect(told.code, told.stderr).toBe(0);
  });

  test("shows one charge although its worker was killed before it was recorded", () => {
    expect(told.stderr).toMatch(/kill -9 \d+ the worker is gone \(SIGKILL\)/);
    const charge = outcome.chapters[1]?.observed.find(({ actions }) => actions.includes("payments.charge"));
    expect(charge).toMatchObject({ effects: 1 });
  });

  test("shows the refund before the release, and the flight cancelled", () => {
    const undone = [2, 4].map((chapter) =>
      outcome.chapters[chapter]?.claimed.filter(({ operationId, effects }) => {
        return operationId.endsWith("/undo") && effects === 1;
      }),
    );
    expect(undone.map((claims) => claims?.map(({ step }) => step).sort())).toEqual([
      ["chargeCard", "reserveStock"],
      ["bookFlight"],
    ]);
  });

  test("claims no more of the mail than anybody can know, and it was sent once", () => {
    const { claimed, observed } = outcome.chapters[3] ?? { claimed: [], observed: [] };
    expect(claimed.find(({ step }) => step === "sendMail")).toMatchObject({ state: "unknown", certain: false });
    expect(observed.find(({ actions }) => actions.includes("mail.send"))).toMatchObject({ arrivals: 1, effects: 1 });
  });

  test("lets an operator say with evidence what became of a parked mail, and the run goes on without another", () => {
    expect(told.stderr).toMatch(/Safe now: nothing is repeated before a person has decided \(HUMAN_REQUIRED\)/);
    expect(told.stderr).toMatch(/ada says it happened: the mail server's list shows msg_\d+/);
    const { claimed, observed } = outcome.chapters[5] ?? { claimed: [], observed: [] };
    expect(claimed.find(({ step }) => step === "sendMail")).toMatchObject({ state: "succeeded", certain: true });
    expect(observed.find(({ actions }) => actions.includes("mail.send"))).toMatchObject({ arrivals: 1, effects: 1 });
  });

  test("asks the CRM what became of the agent's note, and writes it once", () => {
    expect(told.stderr).toContain("updateCrm the other side was asked: it had happened");
    const { observed } = outcome.chapters[6] ?? { observed: [] };
    expect(observed.find(({ actions }) => actions.includes("crm.note"))).toMatchObject({ arrivals: 1, effects: 1 });
  });

  test("shows what a person is asked, refuses an agent, and pays back what the person has approved, once", () => {
    expect(told.stderr).toMatch(/asks +Refund 120\.00 EUR for order-9\?/);
    expect(told.stderr).toContain('refundOrder {"orderId":"order-9","cents":12000,"openedBy":"eve"}');
    expect(told.stderr).toMatch(/who +one person of support-lead or finance, not eve, who has asked for it/);
    expect(told.stderr).toMatch(/when +until \d{4}-\d\d-\d\d \d\d:\d\d UTC; then it is rejected/);
    expect(told.stderr).toContain("agent-7 is an agent: only a person decides");
    expect(told.stderr).toContain("ada approves less: cents 12000 → 9000");
    const { observed } = outcome.chapters[8] ?? { observed: [] };
    expect(observed.find(({ actions }) => actions.includes("bank.refund"))).toMatchObject({ arrivals: 1, effects: 1 });
    expect(observed.find(({ actions }) => actions.includes("mail.send"))).toMatchObject({ arrivals: 1, effects: 1 });
  });

  test.each([
    [
      "an effect that is another operation's",
      (line: string) => line.replace("/chargeCard/1", "/chargeCard/2"),
      "effect",
    ],
    ["an effect that becomes a second arrival", (line: string) => line.replace('"effect"', '"arrival"'), "effect"],
    ["an arrival that becomes a second effect", (line: string) => line.replace('"arrival"', '"effect"'), "arrival"],
    ["a line that is gone", () => "", "effect"],
  ])("exits 1 when one line of the world's file is altered: %s", async (_, alter, kind) => {
    const dir = await mkdtemp(join(scratch, "altered-"));
    for (const name of ["claims.json", "world.jsonl"]) await cp(join(outcome.dir ?? "", name), join(dir, name));
    const lines = (await readFile(join(dir, "world.jsonl"), "utf8")).split("\n");
    const index = lines.findIndex(
      (line) => line.includes(`"kind":"${kind}"`) && line.includes("/order-1/chargeCard/1"),
    );
    const altered = alter(lines[index] ?? "");
    lines.splice(index, 1, ...(altered === "" ? [] : [altered]));
    await writeFile(join(dir, "world.jsonl"), lines.join("\n"));

    const again = await reprise("demo", "--verify", dir, "--json");
    const { differences, differenceRows } = outcomeOf(again);
    expect(again.code).toBe(1);
    expect(differences).toBe(differenceRows.length);
    expect(differenceRows.some(({ operationId }) => operationId?.endsWith("/order-1/chargeCard/1"))).toBe(true);
  });

  test("agrees again when nothing is altered, and says so in a table", async () => {
    const again = await reprise("demo", "--verify", outcome.dir ?? "");
    expect(again.code).toBe(0);
    expect(again.stdout).toContain("claimed by the ledger");
    expect(again.stdout).toContain("Ledger and world agree");
  });

  test("leaves no process behind", () => {
    const pids = [...told.stderr.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
    expect(pids.length).toBeGreaterThanOrEqual(4);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });
});

describe("--input", () => {
  const order = (id: string, more: object = {}) =>
    JSON.stringify({ id, sku: "blue-mug", cents: 1_850, email: "ada@example.com", ...more });

  test("runs the sample that ships", async () => {
    const ended = await reprise("demo", "--once", "--json", "--input", join(root, "samples/orders.jsonl"));
    const { chapters, differences } = outcomeOf(ended);
    expect({ code: ended.code, differences }, ended.stderr).toEqual({ code: 0, differences: 0 });
    expect(chapters).toMatchObject([{ ok: true, problems: [] }]);
    expect(new Set(chapters[0]?.claimed.map(({ operationId }) => operationId.split("/")[2])).size).toBe(5);
  });

  test("names line and field of what cannot be used, says what is repeated, and runs the others", async () => {
    const path = await fileOf("orders.jsonl", [
      order("a-1"),
      order("a-2", { cents: "much" }),
      "{",
      order("a-1"),
      order("a-3"),
    ]);
    const ended = await reprise("demo", "--once", "--json", "--input", path);
    expect(ended.stderr).toContain("line 2, cents: ");
    expect(ended.stderr).toContain("line 3: this is not JSON");
    expect(ended.stderr).toContain('line 4, id: "a-1" repeats line 1');
    const outcome = outcomeOf(ended);
    expect(outcome.inputErrors?.map(({ line, field }) => [line, field])).toEqual([
      [2, "cents"],
      [3, null],
    ]);
    expect(outcome.repeatedLines).toMatchObject([{ line: 4 }]);
    expect(outcome.chapters).toMatchObject([{ ok: true }]);
    expect(new Set(outcome.chapters[0]?.claimed.map(({ operationId }) => operationId.split("/")[2]))).toEqual(
      new Set(["a-1", "a-3"]),
    );
    expect(ended.code).toBe(10);
  });

  test("starts nothing when there is nothing to run", async () => {
    const none = await reprise("demo", "--once", "--json", "--input", await fileOf("none.jsonl", ["[]"]));
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("line 1: ")]);
    expect(none.stderr).not.toContain("workers");
    expect(outcomeOf(none)).toMatchObject({ chapters: [], differences: 0, inputErrors: [{ line: 1 }], dir: null });
    const missing = await reprise("demo", "--once", "--input", join(scratch, "nowhere.jsonl"));
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("nowhere.jsonl cannot be read")]);
    expect(missing.stderr).not.toContain("    at ");
  });
});

describe("reprise lint", () => {
  const linted = async (name: string, source: readonly string[]) => {
    // Beside the package, so that `reprise` is found as a user's project finds it.
    const dir = await mkdtemp(join(root, "test/e2e/.lint-"));
    left.push(dir);
    await writeFile(join(dir, name), source.join("\n"));
    return await reprise("lint", join(dir, name), "--json");
  };
  const head = ['import { saga, step } from "reprise";', 'import { z } from "zod";'];

  test("prints what a saga is refused for, and exits 9", async () => {
    const bad = await linted("bad.mjs", [
      ...head,
      'const pay = step("pay", { input: z.object({}), effect: "keyed", action: () => {} });',
      'export const order = saga("order", { version: 1, input: z.object({}) }).step(pay).build();',
    ]);
    expect(bad.code, bad.stderr).toBe(9);
    expect(JSON.parse(bad.stdout)).toMatchObject({
      kind: "LintReport",
      data: { errors: 1, files: [{ findings: [{ level: "error", code: "COMPENSATION_MISSING", step: "pay" }] }] },
    });
  });

  test("prints warnings, which are no errors", async () => {
    const doubtful = await linted("doubtful.mjs", [
      ...head,
      'const mail = step("mail", { input: z.object({}), effect: "once", action: () => {}, noCompensation: "it is read" });',
      'export const notice = saga("notice", { version: 1, input: z.object({}) }).step(mail).build();',
    ]);
    expect(doubtful.code, doubtful.stderr).toBe(0);
    expect(JSON.parse(doubtful.stdout)).toMatchObject({
      data: { errors: 0, files: [{ sagas: 1, findings: [{ level: "warning", code: "ONCE_WITHOUT_PROBE" }] }] },
    });
  });

  test("says of a file that cannot be read why, without a stack trace", async () => {
    const missing = await reprise("lint", "nowhere.ts");
    expect(missing.code).toBe(2);
    expect(missing.stdout).toContain("nowhere.ts");
    expect(missing.stdout + missing.stderr).not.toContain("    at ");
  });
});

test("a mistake in the command line is said in a sentence and exits 2", async () => {
  const wrong = await reprise("demo", "--onze");
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("unknown option '--onze'");
});
