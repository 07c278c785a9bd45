/** `reprise runs kill`: ends a run at once, undoing nothing. It is asked twice. */
import { actOnRuns, selectRuns } from "../base/bulk.ts";
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import { UsageError } from "../exit.ts";
import { overRefusal } from "./acts.ts";
import { nameOf, reach } from "./reach.ts";
import { answerLines } from "./show.ts";

export const runsKill = command<[id: string], { readonly really?: string }>({
  name: "runs kill",
  summary: "End a run at once and undo nothing: what is out is accepted as unknown",
  details:
    "`reprise runs cancel` undoes what it did. This does not, and says so in the log: it asks twice (a script gives --yes and --really <id>).",
  args: [["<id>", "of the run"]],
  options: [["--really <id>", "the id of the run once more"]],
  examples: [
    "reprise runs kill order-o-1 --reason 'the shop is gone'",
    "reprise runs kill order-o-1 --dry-run",
    "reprise runs kill order-o-1 --reason 'the shop is gone' --yes --really order-o-1",
  ],
  kinds: ["ActList", "Act"],
  changes: {},
  run: async (cli, { really }, id) => {
    const run = await reach(cli, id);
    const name = await nameOf(cli, run);
    if (really !== undefined && really !== run.id && really !== id)
      throw new UsageError(`--really ${really} is another run than ${id}`);
    const selection = await selectRuns(cli, [id], {});
    const refusal = await overRefusal();
    if (!cli.globals.dryRun) {
      cli.out.warn(...answerLines(cli, await run.explain()), ink("red", "Nothing of this is undone by a kill."));
      if (!cli.globals.yes) await cli.ask.confirm(`Kill ${name}?`, "--yes");
      if (really === undefined) await cli.ask.typed(`Type its id to kill it: ${run.id}`, run.id, `--really ${run.id}`);
    }
    const perform: Parameters<typeof actOnRuns>[2]["perform"] = async (handle, as) => {
      const { by, mode } = await handle.cancel({ ...as, mode: "kill" });
      return `the ${mode} of ${by} is recorded; it is ${(await handle.get()).status} now`;
    };
    return await actOnRuns(cli, selection, { verb: "kill", question: () => "", refusal, perform }, {});
  },
});
