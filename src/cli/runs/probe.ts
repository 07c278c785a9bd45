/** `reprise runs probe`: has the other side asked what became of the call that a run is parked for. */
import { actOnRuns, selectRuns } from "../base/bulk.ts";
import { command } from "../base/command.ts";
import { verbRefusal } from "./acts.ts";

export const runsProbe = command<[id: string], object>({
  name: "runs probe",
  summary: "Have the other side asked what became of the call that a parked run stands at",
  details: "Only where its review takes it (`reprise dlq show`). The run's worker asks; the answer stands in the log.",
  args: [["<id>", "of the run"]],
  examples: [
    "reprise runs probe order-o-1",
    "reprise runs probe order-o-1 --dry-run",
    "reprise runs probe order-o-1 --by ann --json",
  ],
  kinds: ["ActList", "Act"],
  changes: { noReason: "it asks the outside, and decides nothing" },
  run: async (cli, _, id) =>
    await actOnRuns(
      cli,
      await selectRuns(cli, [id], {}),
      {
        verb: "probe",
        needsNoReason: true,
        question: () => "",
        refusal: await verbRefusal("probe"),
        perform: async (run, { by }) => {
          await run.operator.probe({ by });
          return "it is asked; the answer will stand in its log";
        },
      },
      {},
    ),
});
