/** `reprise replay plan`: says call by call what replaying would do, and keeps that as a plan; no run is changed. */
import type { Batch, BatchFilter, PlanOptions } from "../../client/index.ts";
import type { ReplayPlan, ReviewReason } from "../../core/index.ts";
import type { Json } from "../../saga/index.ts";
import type { Cli } from "../base/cli.ts";
import { onlyOne } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import type { Progress } from "../base/progress.ts";
import { statuses } from "../base/select.ts";
import { durationOf, jsonOf, oneOf, wholeOf } from "../base/values.ts";
import { agoText, counted, runText } from "../base/words.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit.ts";
import { reach } from "../runs/reach.ts";
import { callTable } from "../runs/show.ts";

interface ModeFlags {
  readonly retry?: string;
  readonly from?: string;
  readonly asNew?: true;
  readonly compensateOnly?: true;
  readonly patch?: string;
  readonly occurrence?: string;
  readonly newId?: string;
  readonly despitePivot?: true;
  readonly expires?: string;
}

interface FilterFlags {
  readonly saga?: string;
  readonly status?: string;
  readonly why?: string;
  readonly step?: string;
}

type Flags = ModeFlags & FilterFlags & { readonly limit?: string };

export const replayPlan = command<[ids: readonly string[]], Flags>({
  name: "replay plan",
  summary: "Say call by call what replaying would do, and keep that as a plan; no run is changed",
  details:
    "A parked run goes on (the default), tries a step again (--retry), is undone (--compensate-only), is run once more (--as-new), or\nforked from a step (--from). A plan is bound to the revision that the run has now, and expires. With a filter the selection is\nfrozen as a batch with a plan for each run. Exit 7 if a plan is not safe.",
  args: [["[ids...]", "of the runs"]],
  options: [
    ["--retry <step>", "try this step again"],
    ["--from <step>", "a new run from where this one stood before this step; what had happened is reused"],
    ["--as-new", "a new run of the same input"],
    ["--compensate-only", "undo what it did"],
    ["--patch <json>", "another input, for --retry and --as-new: JSON, @file, or -"],
    ["--occurrence <n>", "which row of the step; the last one unless given"],
    ["--new-id <id>", "of the new run"],
    ["--despite-pivot", "undo although a point of no return was passed"],
    ["--expires <duration>", "until when it may be executed; 15m unless given, of a batch 24h"],
    ["--saga <name>", "all runs of this saga"],
    ["--status <status>", "needs_review unless given"],
    ["--why <reason>", "that are parked for this reason"],
    ["--step <name>", "that are parked for this step"],
    ["--limit <n>", "so many runs at most"],
  ],
  examples: [
    "reprise replay plan order-o-1",
    "reprise replay plan order-o-1 --from ship --new-id order-o-1b",
    "reprise replay plan --saga order --why unknown_outcome --json",
    `reprise replay plan order-o-1 --retry charge --patch '{"orderId":"o-1","cents":4100}'`,
  ],
  kinds: ["ReplayPlan", "ReplayPlanList", "Batch"],
  changes: { noDryRun: "it is the dry run of `replay run`", noReason: "nothing is done to a run" },
  run: async (cli, flags, ids) => {
    const { saga, status, why, step } = flags;
    if (onlyOne(ids, { saga, status, why, step }) === "filter") return await planBatch(cli, flags);
    const plans: ReplayPlan[] = [];
    const progress = cli.out.progress("plan", ids.length);
    try {
      for (const id of ids) {
        plans.push(await (await reach(cli, id)).plan(await optionsOf(cli, flags)));
        progress.at(plans.length);
      }
    } finally {
      progress.end();
    }
    printPlans(cli, plans, await cli.usualTenant());
    return plans.every(({ safe }) => safe) ? exitCodes.ok : exitCodes.unsafe;
  },
});

async function optionsOf(cli: Cli, flags: Flags): Promise<PlanOptions> {
  const { retry, from, asNew, compensateOnly, despitePivot, newId } = flags;
  const modes = [retry, from, asNew, compensateOnly].filter((mode) => mode !== undefined);
  if (modes.length > 1) throw new UsageError("one of --retry, --from, --as-new and --compensate-only");
  const expiring = flags.expires === undefined ? {} : { expiresIn: durationOf(flags.expires, "--expires") };
  // It was parsed: what JSON.parse gives is JSON.
  const input = flags.patch === undefined ? {} : { input: (await jsonOf(flags.patch, "--patch", cli.io)) as Json };
  const occurrence =
    flags.occurrence === undefined ? {} : { occurrence: wholeOf(flags.occurrence, "--occurrence", 1, 1e9) };
  const id = newId === undefined ? {} : { id: newId };
  if (flags.patch !== undefined && retry === undefined && asNew === undefined)
    throw new UsageError("--patch goes with --retry or --as-new");
  if (retry !== undefined) return { mode: "retry_step", step: retry, ...occurrence, ...input, ...expiring };
  if (from !== undefined) return { mode: "fork", step: from, ...occurrence, ...id, ...expiring };
  if (asNew) return { mode: "new_run", ...id, ...input, ...expiring };
  if (compensateOnly) return { mode: "compensate_only", despitePivot: despitePivot ?? false, ...expiring };
  return { mode: "resume", ...expiring };
}

function printPlans(cli: Cli, plans: readonly ReplayPlan[], tenant: string): void {
  const [plan] = plans;
  if (plans.length === 1 && plan !== undefined) {
    cli.out.document("ReplayPlan", plan, { id: plan.id, lines: () => planLines(cli, plan) });
    if (plan.request !== null)
      cli.out.note(
        `Execute it: reprise replay run ${plan.id}${plan.safe ? "" : " --override <why it is meant>"} --reason ...`,
      );
    return;
  }
  cli.out.list("ReplayPlan", {
    items: plans,
    id: ({ id }) => id,
    columns: [
      { title: "plan", cell: ({ id }) => ink("bold", id) },
      { title: "run", cell: (each) => runText({ tenant: each.tenant, id: each.run }, tenant) },
      { title: "verdict", cell: ({ verdict }) => verdict },
      { title: "", cell: ({ safe }) => safeInk(safe) },
      { title: "why not", cell: ({ problem, unsafe }) => cli.out.text(problem ?? unsafe.join("; ")) },
    ],
    empty: "",
  });
}

function safeInk(safe: boolean) {
  return safe ? ink("green", "✓ safe") : ink("red", "✗ not safe");
}

function planLines(
  cli: Cli,
  { id, run, wish, safe, problem, unsafe, calls, unwind, verdict, revision, at, expiresAt }: ReplayPlan,
): readonly Line[] {
  const { out } = cli;
  return [
    [ink("bold", `plan ${id}`), `: ${wish.mode} of ${run} at revision ${revision}, expires ${agoText(expiresAt, at)}`],
    [safeInk(safe), `  (${verdict})`],
    ...(problem === null ? [] : [ink("red", `  it cannot be done: ${out.text(problem)}`)]),
    ...unsafe.map((why): Line => ink("yellow", `  ${out.text(why)}`)),
    "",
    ...callTable(cli, calls),
    ...(unwind === null
      ? []
      : [
          "",
          ink("bold", "would be undone, in this order"),
          ...(unwind.pivot === null ? [] : [ink("yellow", `  a point of no return was passed: ${unwind.pivot}`)]),
          ...unwind.steps.map(
            (step): Line => `  ${step.step} (row ${step.seq}) ${step.course}: ${out.text(step.reason)}`,
          ),
        ]),
  ];
}

// ---- many

const reasons: readonly ReviewReason[] = [
  ...(["unknown_outcome", "exhausted", "halted", "defect", "poison", "after_pivot", "blocked", "late_result"] as const),
  ...(["intent_conflict", "intent_busy", "intent_undone", "missing_artifact", "store_rollback"] as const),
  ...(["budget", "loop", "deadline", "approval_expired"] as const),
];

async function planBatch(cli: Cli, flags: Flags): Promise<ExitCode> {
  const options = await optionsOf(cli, flags);
  const { mode } = options;
  if (mode === "retry_step" || mode === "fork" || "input" in options) {
    throw new UsageError(
      "many runs go on, are run anew as they were, or are undone: --retry, --from and --patch are for one run",
    );
  }
  const { saga, status, why, step, limit } = flags;
  const filter: BatchFilter = {
    tenant: await cli.tenant(),
    ...(saga === undefined ? {} : { saga }),
    ...(status === undefined ? {} : { status: oneOf(status, "--status", statuses) }),
    ...(why === undefined ? {} : { reason: oneOf(why, "--why", reasons) }),
    ...(step === undefined ? {} : { step }),
  };
  const bounded = limit === undefined ? {} : { limit: wholeOf(limit, "--limit", 1, 1_000) };
  const expiring = options.expiresIn === undefined ? {} : { expiresIn: options.expiresIn };
  let progress: Progress | null = null;
  const onProgress = (done: number, runs: number): void => {
    progress ??= cli.out.progress("plan", runs);
    progress.at(done);
  };
  const planning = (await cli.client()).replayMany({ filter, mode, ...bounded, ...expiring, onProgress });
  const batch = await planning.finally(() => progress?.end());
  cli.out.document("Batch", batch, { id: batch.id, lines: () => batchLines(cli, batch) });
  cli.out.note(`Execute what is safe: reprise replay run ${batch.id} --canary 1 --reason ...`);
  return batch.items.every(({ safe }) => safe) ? exitCodes.ok : exitCodes.unsafe;
}

function batchLines({ out }: Cli, { id, mode, items, unreadable, at, expiresAt }: Batch): readonly Line[] {
  const safe = items.filter((item) => item.safe).length;
  const size = Math.max(0, ...items.map(({ run }) => run.length));
  return [
    [ink("bold", `batch ${id}`), `: ${mode} of ${counted(items.length, "run")}, expires ${agoText(expiresAt, at)}`],
    [
      ink("green", `✓ ${safe} safe`),
      "   ",
      ink("red", `✗ ${items.length - safe} not safe`),
      `   ${unreadable.length} unreadable`,
    ],
    ...items.map(
      (item): Line => [
        item.safe ? ink("green", "  ✓ ") : ink("red", "  ✗ "),
        item.run.padEnd(size),
        `  ${out.text(item.reasons.join("; "))}`,
      ],
    ),
  ];
}
