/** `reprise gc`: deletes now what workers delete by and by. */
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import { counted } from "../base/words.ts";
import { exitCodes } from "../exit.ts";

export const gcCommand = command<[], object>({
  name: "gc",
  summary: "Delete runs that have ended and whose retention is over; workers do it by and by",
  details:
    "A few runs at a time, so that others wait no longer for Redis than that takes. --dry-run only counts. It is confirmed (--yes).",
  examples: ["reprise gc --dry-run", "reprise gc --yes", "reprise gc --yes --reason 'the disk is full' --json"],
  kinds: ["GcReport"],
  changes: {},
  run: async (cli) => {
    const client = await cli.client();
    const { dryRun, yes } = cli.globals;
    const { due, later } = await client.gc({ dryRun: true });
    if (!dryRun && !yes) await cli.ask.confirm(`Delete ${counted(due, "run")} for good?`, "--yes");
    const progress = cli.out.progress("delete", due);
    const report = dryRun
      ? { purged: 0, due, later }
      : await client
          .gc({ ...reasonOf(cli), by: cli.by, onProgress: (purged) => progress.at(purged) })
          .finally(() => progress.end());
    cli.out.document("GcReport", report, {
      lines: () => [
        [ink("bold", String(report.purged)), " deleted"],
        [ink("bold", String(report.due)), dryRun ? " would be deleted" : " are still there: kept for a parent"],
        [ink("bold", String(report.later)), " have ended and are kept for now"],
      ],
    });
    return exitCodes.ok;
  },
});

function reasonOf({ globals: { reason } }: Cli): { readonly reason?: string } {
  return reason === undefined ? {} : { reason };
}
