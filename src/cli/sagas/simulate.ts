/** `reprise simulate`: one run of a saga of this project in memory and in virtual time, or one for every crash there can be. */
import { resolve } from "node:path";
import type { Saga } from "../../saga/index.ts";
import type { Simulation, SweepReport } from "../../testing/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import type { Progress } from "../base/progress.ts";
import { jsonOf, pairOf } from "../base/values.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit.ts";
import { findDeclared } from "./find.ts";

interface Flags {
  readonly input?: string;
  readonly crashAt?: string;
  readonly services?: string;
  readonly outcome?: readonly string[];
}

export const simulateCommand = command<[name: string], Flags>({
  name: "simulate",
  summary:
    "Run a saga of this project in memory and in virtual time; with --crash-at all once for every crash there can be",
  details:
    "No Redis, no waiting, no effect outside: services are the fake world's unless --services names a module whose default export makes\nthem of the world, `(world) => services`. A run that waits for people or events is shown as it waits; to drive one through, write a test\n(docs/testing.md). Exit 1 where it failed, 7 where a person must decide, 9 where the sweep found something.",
  args: [["<name>", "a saga of this project: its newest version, or name@version"]],
  options: [
    ["-i, --input <json>", "the input: JSON, @file, or - for stdin; {} unless given"],
    ["--crash-at <case>", "all, or one case as a report names it"],
    ["--services <module>", "default export: (world) => services"],
    ["--outcome <step=json>", "what a step comes to instead of calling its action, one a call", "many"],
  ],
  examples: [
    `reprise simulate order -i '{"id":"o-1","sku":"A","cents":4200,"email":"ada@example.org"}'`,
    "reprise simulate order -i @order.json --crash-at all --json",
    `reprise simulate order -i @order.json --outcome 'ship={"shipmentId":"s-1"}'`,
  ],
  kinds: ["Simulation", "SweepReport"],
  run: async (cli, flags, name) => {
    const saga = await findDeclared(cli, name);
    const { worldClient } = await import("../../testing/index.ts");
    // Of the saga that was found by name; what does not fit its schema is refused.
    const input = (await jsonOf(flags.input ?? "{}", "--input", cli.io)) as never;
    const services = flags.services === undefined ? worldClient : await servicesIn(cli, flags.services);
    const options = { input, services, outcomes: outcomesOf(flags.outcome ?? []) };
    return flags.crashAt === undefined
      ? await runOnce(cli, saga, options)
      : await sweep(cli, saga, options, flags.crashAt);
  },
});

type Options = Parameters<typeof import("../../testing/index.ts").crashSweep<Saga>>[1];

async function servicesIn(cli: Cli, module: string): Promise<NonNullable<Options["services"]>> {
  const { importOrExplain } = await import("../modules.ts");
  const { default: made } = await importOrExplain(resolve(cli.io.cwd, module));
  if (typeof made === "function") return made as NonNullable<Options["services"]>; // what it makes is the user's own
  throw new UsageError(`${module} has no function as its default export: export default (world) => ({ ... })`);
}

function outcomesOf(given: readonly string[]): Readonly<Record<string, readonly unknown[]>> {
  const outcomes: Record<string, unknown[]> = {};
  for (const [step, value] of given.map((text) => pairOf(text, "--outcome")))
    outcomes[step] = [...(outcomes[step] ?? []), value];
  return outcomes;
}

async function runOnce(cli: Cli, saga: Saga, options: Options): Promise<ExitCode> {
  const { simulate } = await import("../../testing/index.ts");
  // How many steps it will take nobody knows.
  const progress = cli.out.progress("simulate", null);
  const run = await simulate(saga, { ...options, onCommit: (commits) => progress.at(commits) }).finally(() =>
    progress.end(),
  );
  try {
    const view = await viewOf(saga, run);
    cli.out.document("Simulation", view, { lines: () => linesOf(cli, view) });
    if (view.status === "needs_review") return exitCodes.unsafe;
    return view.status === "failed" ? exitCodes.failed : exitCodes.ok;
  } finally {
    await run.close();
  }
}

async function viewOf({ name, version }: Saga, run: Simulation) {
  const { status, waitingFor, state, output, happened, compensated, seen } = run;
  const { cause, review } = seen.record;
  const calls = seen.rows.map(({ seq, step, call, undo }) => ({
    seq,
    step,
    state: call.state,
    attempt: call.attempt,
    undo: undo?.state ?? null,
  }));
  const why = { cause: cause?.message ?? null, review: review?.message ?? null };
  return { saga: name, version, status, waitingFor, state, output, happened, compensated, ...why, calls };
}

function linesOf({ out }: Cli, view: Awaited<ReturnType<typeof viewOf>>): readonly Line[] {
  const { saga, version, status, waitingFor, output, happened, compensated, cause, review } = view;
  const facts: readonly (readonly [string, string | null])[] = [
    ["waits for", waitingFor],
    ["happened", happened.length === 0 ? "nothing" : happened.join(", ")],
    ["undone", compensated.length === 0 ? null : compensated.join(", ")],
    ["cause", cause === null ? null : out.text(cause)],
    ["asks", review === null ? null : out.text(review)],
    ["output", output === null ? null : out.value(output)],
  ];
  const style = status === "completed" ? "green" : status === "failed" || status === "needs_review" ? "red" : "yellow";
  return [
    [ink("bold", `${saga}@${version}`), "  ", ink(style, status)],
    ...facts.flatMap(([name, value]): readonly Line[] =>
      value === null ? [] : [[ink("dim", `  ${name.padEnd(10)}`), value]],
    ),
  ];
}

async function sweep(cli: Cli, saga: Saga, options: Options, crashAt: string): Promise<ExitCode> {
  const { crashSweep } = await import("../../testing/index.ts");
  let progress: Progress | null = null;
  const onProgress = (done: number, cases: number): void => {
    progress ??= cli.out.progress("crash", cases);
    progress.at(done);
  };
  const watched = { ...options, onProgress };
  const sweeping = crashSweep(saga, crashAt === "all" ? watched : { ...watched, only: crashAt });
  const report = await sweeping.finally(() => progress?.end());
  if (report.cases === 0)
    throw new UsageError(`--crash-at ${crashAt}: there is no such case; the points are ${report.points.join(", ")}`);
  const { text, ...data } = report;
  cli.out.document("SweepReport", data, { lines: () => [...text.split("\n"), ...adviceFor(report)] });
  return report.failures.length === 0 ? exitCodes.ok : exitCodes.findings;
}

function adviceFor({ failures }: SweepReport): readonly Line[] {
  const [first] = failures;
  return first === undefined ? [] : [ink("dim", `this case alone: --crash-at '${first.case}'`)];
}
