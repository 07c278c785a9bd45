/** `reprise runs cancel`, `pause`, `resume`: what may be asked of many runs at once. */
import type { RunHandle } from "../../client/index.ts";
import { hasEnded, type Verb } from "../../core/index.ts";
import { type Act, actOnRuns, type Item, type SelectFlags, selectOptions, selectRuns } from "../base/bulk.ts";
import { type AnyCommand, command } from "../base/command.ts";

interface Wish extends Omit<Act, "refusal"> {
  readonly summary: string;
  readonly details: string;
}

function actCommand({ summary, details, ...act }: Wish): AnyCommand {
  const { verb } = act;
  return command<[ids: readonly string[]], SelectFlags>({
    name: `runs ${verb}`,
    summary,
    details: `${details}\nSeveral runs, or a filter: they are listed first and confirmed (--yes; above 20 by their number, --expect). Exit 10 if it was\ndone for some of them only.`,
    args: [["[ids...]", "of the runs, or <tenant>/<id>"]],
    options: selectOptions,
    examples: [
      `reprise runs ${verb} order-o-1 --reason 'the customer called'`,
      `reprise runs ${verb} --saga order --since 1h --dry-run`,
      `reprise runs ${verb} --saga order --status running --reason 'wrong price' --expect 31 --json`,
    ],
    kinds: ["ActList", "Act"],
    changes: {},
    run: async (cli, flags, ids) => {
      const refusal = await (verb === "cancel" ? overRefusal() : endedRefusal());
      return await actOnRuns(cli, await selectRuns(cli, ids, flags), { ...act, refusal }, flags);
    },
  });
}

/** Nothing is asked of a run that has ended. */
async function endedRefusal(): Promise<Act["refusal"]> {
  const { ended } = await import("../../client/index.ts");
  return (item: Item) => (hasEnded(item.status) ? ended(item, item.status) : null);
}

/** A run that was cancelled may be cancelled again: it is said whose cancel counts. */
export async function overRefusal(): Promise<Act["refusal"]> {
  const refusal = await endedRefusal();
  return (item: Item) => (item.status === "cancelled" ? null : refusal(item));
}

/** A verb is asked of a run whose review takes it. */
export async function verbRefusal(verb: Verb): Promise<Act["refusal"]> {
  const { refusalOf } = await import("../../client/index.ts");
  return (item: Item) => refusalOf(item, item.review, verb);
}

/** What has come of it so far: a request is recorded, and its run's worker does the rest. */
async function standing(run: RunHandle, what: string): Promise<string> {
  return `${what}; it is ${(await run.get()).status} now`;
}

export const runsCancel = actCommand({
  verb: "cancel",
  summary: "Ask runs to stop and to undo what they did",
  details:
    "The request is recorded; the run's worker undoes in reverse and ends it cancelled. Follow it with `reprise runs watch`.",
  question: (runs) => `Cancel ${runs}? What they did is undone.`,
  perform: async (run, as) => {
    const { by, mode } = await run.cancel(as);
    return await standing(run, `the ${mode === "compensate" ? "cancel" : mode} of ${by} is recorded`);
  },
});

export const runsPause = actCommand({
  verb: "pause",
  summary: "Begin nothing more of runs until they are resumed",
  details: "What is under way ends and is recorded; timers and events wait. A run that goes back is not held up.",
  question: (runs) => `Pause ${runs}?`,
  perform: async (run, as) => {
    await run.pause(as);
    return await standing(run, "the pause is recorded");
  },
});

export const runsResume = actCommand({
  verb: "resume",
  summary: "Let paused runs go on",
  details:
    "What fell due meanwhile is done now. A parked run is no paused one: `reprise replay plan` says what would be safe for it.",
  question: (runs) => `Resume ${runs}?`,
  perform: async (run, as) => {
    await run.resume(as);
    return await standing(run, "the resume is recorded");
  },
});
