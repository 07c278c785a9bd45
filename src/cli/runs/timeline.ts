/** `reprise runs timeline`: what a run did with its time, drawn. */
import { command } from "../base/command.ts";
import { exitCodes } from "../exit.ts";
import { ganttLines } from "./gantt.ts";
import { headOf } from "./print.ts";
import { reach } from "./reach.ts";

export const runsTimeline = command<[id: string], object>({
  name: "runs timeline",
  summary: "Attempts, waits, crashes and hand-overs of a run, drawn on one axis of time",
  details:
    "As wide as the terminal (where there is none as COLUMNS says, or 100 columns). Long waits in which nothing was under way are drawn short, as ⋯.",
  args: [["<id>", "of the run"]],
  examples: [
    "reprise runs timeline order-o-1",
    "reprise runs timeline order-o-1 --no-color > timeline.txt",
    "reprise runs timeline order-o-1 --json",
  ],
  kinds: ["Timeline"],
  run: async (cli, _, id) => {
    const run = await reach(cli, id);
    const [view, timeline] = [await run.get(), await run.timeline()];
    const data = { tenant: run.tenant, run: run.id, status: view.status, ...timeline };
    const lines = () => [headOf(view), "", ...ganttLines(timeline, cli.out.width)];
    cli.out.document("Timeline", data, { id: run.id, lines });
    return exitCodes.ok;
  },
});
