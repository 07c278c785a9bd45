/** `reprise dlq discard`: gives parked runs up. */
import { actOnRuns, type SelectFlags, selectOptions, selectRuns } from "../base/bulk.ts";
import { command } from "../base/command.ts";
import { UsageError } from "../exit.ts";
import { verbRefusal } from "../runs/acts.ts";

export const dlqDiscard = command<[ids: readonly string[]], SelectFlags>({
  name: "dlq discard",
  summary: "Give parked runs up: what is open stays as it is, on record, and the run ends",
  details:
    "The verb `close`: effects of which nothing is known are accepted as unknown, with who said so and why. It is always confirmed\n(--yes; above 20 by their number, --expect). Undo instead: `reprise replay plan <run> --compensate-only`.",
  args: [["[ids...]", "of the runs"]],
  options: [["--status <status>", "needs_review, and no other: those are parked"], ...selectOptions.slice(1)],
  examples: [
    "reprise dlq discard order-o-1 --reason 'settled by hand'",
    "reprise dlq discard --saga order --step mail --dry-run",
    "reprise dlq discard --saga order --step mail --reason 'mails of March' --expect 31",
  ],
  kinds: ["ActList", "Act"],
  changes: {},
  run: async (cli, flags, ids) => {
    if (flags.status !== undefined && flags.status !== "needs_review")
      throw new UsageError("only runs in needs_review are parked");
    const wanted = ids.length === 0 && hasFilter(flags) ? { ...flags, status: "needs_review" } : flags;
    const selection = await selectRuns(cli, ids, wanted);
    return await actOnRuns(
      cli,
      selection,
      {
        verb: "discard",
        confirmFrom: 1,
        refusal: await verbRefusal("close"),
        question: (runs) => `Give up ${runs}? Nothing is undone.`,
        perform: async (run, as) => {
          await run.operator.close(as);
          return "given up; what is open stays as it is, on record";
        },
      },
      flags,
    );
  },
});

function hasFilter({ expect: _, ...filters }: SelectFlags): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}
