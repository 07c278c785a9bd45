/** `reprise schedules list|show|pause|resume|run-now`: runs that are started by the clock. */
import type { ScheduleBy, ScheduleView } from "../../client/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { agoText, lengthText, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";
import { nameOf } from "../runs/reach.ts";

const idArg = ["<id>", "of the schedule"] as const;

export const schedulesList = command<[], object>({
  name: "schedules list",
  summary: "All schedules of the namespace: what they start, when next, and whether they are paused",
  examples: ["reprise schedules list", "reprise schedules list -o wide", "reprise schedules list --json"],
  kinds: ["ScheduleList", "Schedule"],
  run: async (cli) => {
    const items = await (await cli.client()).schedules.list();
    const now = Date.now();
    cli.out.list("Schedule", {
      items,
      id: ({ id }) => id,
      columns: [
        { title: "schedule", cell: ({ id }) => ink("bold", id) },
        { title: "saga", cell: ({ saga }) => saga },
        { title: "when", cell: whenText },
        { title: "next", cell: (schedule) => nextLine(schedule, now) },
        {
          title: "problem",
          cell: ({ problem }) => (problem === null ? "-" : ink("red", `✗ ${cli.out.text(problem.message)}`)),
        },
        { title: "tenant", cell: ({ tenant }) => tenant, wide: true },
        { title: "overlap", cell: ({ overlap }) => overlap, wide: true },
        { title: "missed", cell: ({ missed }) => missed, wide: true },
      ],
      empty: "There is no schedule. Applications keep them with client.schedules.put (docs/time.md).",
    });
    return exitCodes.ok;
  },
});

export const schedulesShow = command<[id: string], object>({
  name: "schedules show",
  summary: "One schedule: its definition, what it has started, what waits",
  args: [idArg],
  examples: [
    "reprise schedules show nightly",
    "reprise schedules show nightly --json",
    "reprise schedules show nightly --reveal",
  ],
  kinds: ["Schedule"],
  run: async (cli, _, id) => {
    print(cli, await (await cli.client()).schedules.get(id));
    return exitCodes.ok;
  },
});

export const schedulesPause = command<[id: string], object>({
  name: "schedules pause",
  summary: "From now on it starts nothing; what was due before is still started",
  args: [idArg],
  examples: [
    "reprise schedules pause nightly --reason 'the bank is closed'",
    "reprise schedules pause nightly --dry-run",
    "reprise schedules pause nightly --reason INC-7 --json",
  ],
  kinds: ["Schedule"],
  changes: {},
  run: async (cli, _, id) => {
    const { schedules } = await cli.client();
    if (cli.globals.dryRun) return dryRun(cli, await schedules.get(id), "It would be paused.");
    print(cli, await schedules.pause(id, { by: cli.by, reason: await cli.reason() }));
    return exitCodes.ok;
  },
});

export const schedulesResume = command<[id: string], object>({
  name: "schedules resume",
  summary: "It starts again what falls due from now on",
  args: [idArg],
  examples: [
    "reprise schedules resume nightly --reason 'the bank is open'",
    "reprise schedules resume nightly --dry-run",
    "reprise schedules resume nightly --json",
  ],
  kinds: ["Schedule"],
  changes: {},
  run: async (cli, _, id) => {
    const { schedules } = await cli.client();
    if (cli.globals.dryRun) return dryRun(cli, await schedules.get(id), "It would start again what falls due.");
    print(cli, await schedules.resume(id, whoOf(cli)));
    return exitCodes.ok;
  },
});

interface RunNowFlags {
  readonly requestId?: string;
}

export const schedulesRunNow = command<[id: string], RunNowFlags>({
  name: "schedules run-now",
  summary: "Start a run of it now, beside its ticks and whatever runs",
  args: [idArg],
  options: [["--request-id <id>", "asking again with it starts nothing more"]],
  examples: [
    "reprise schedules run-now nightly",
    "reprise schedules run-now nightly --request-id INC-7 --reason 'last night failed'",
    "reprise schedules run-now nightly --dry-run",
  ],
  kinds: ["ScheduledRun", "Schedule"],
  changes: {},
  run: async (cli, { requestId }, id) => {
    const { schedules } = await cli.client();
    if (cli.globals.dryRun) return dryRun(cli, await schedules.get(id), "A run of it would be started.");
    const run = await schedules.runNow(id, {
      ...whoOf(cli),
      ...(requestId === undefined ? {} : { requestId }),
    });
    const data = { schedule: id, tenant: run.tenant, run: run.id };
    const name = await nameOf(cli, run);
    cli.out.document("ScheduledRun", data, { id: run.id, lines: () => [`Started ${name}.`] });
    cli.out.note(`Follow it: reprise runs watch ${name}`);
    return exitCodes.ok;
  },
});

/** For the audit; a reason is not asked for. */
function whoOf({ by, globals: { reason } }: Cli): Partial<ScheduleBy> {
  return reason === undefined ? { by } : { by, reason };
}

function dryRun(cli: Cli, schedule: ScheduleView, what: string) {
  cli.out.note(what);
  print(cli, schedule);
  return exitCodes.ok;
}

function print(cli: Cli, schedule: ScheduleView): void {
  cli.out.document("Schedule", schedule, { id: schedule.id, lines: () => linesOf(cli, schedule) });
}

function linesOf({ out }: Cli, schedule: ScheduleView): readonly Line[] {
  const { id, saga, tenant, input, overlap, missed, paused, pending, current, skipped, problem } = schedule;
  const facts: readonly (readonly [string, string | null])[] = [
    ["starts", `${saga}, tenant ${tenant}`],
    ["when", whenText(schedule)],
    ["next", schedule.nextAt === null ? "not while it is paused" : timeText(schedule.nextAt)],
    ["input", out.value(input)],
    ["overlap", overlap],
    ["missed", missed],
    ["paused", paused === null ? null : `by ${paused.by}, ${timeText(paused.at)}: ${out.text(paused.reason)}`],
    ["last run", current === null ? "none yet" : `${current.run}${current.started ? "" : " (about to start)"}`],
    ["waiting", pending.length === 0 ? null : `${pending.length} ticks`],
    ["skipped", skipped === 0 ? null : `${skipped} ticks`],
    ["problem", problem === null ? null : `${timeText(problem.tick)}: ${out.text(problem.message)}`],
  ];
  return [
    ink("bold", id),
    ...facts.flatMap(([name, value]): readonly Line[] =>
      value === null ? [] : [[ink("dim", `  ${name.padEnd(10)}`), value]],
    ),
  ];
}

function whenText({ cron, everyMs, timeZone }: ScheduleView): string {
  return cron === null ? `every ${lengthText(everyMs ?? 0)}` : `${cron} (${timeZone ?? "UTC"})`;
}

function nextLine({ nextAt, paused }: ScheduleView, now: number): Line {
  return nextAt === null || paused !== null ? ink("yellow", "‖ paused") : agoText(nextAt, now);
}
