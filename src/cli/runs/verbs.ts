/** `reprise runs skip`, `raise`, `rewind`, `discard-event`: verbs that a review takes and no other command says. One run at a time. */
import type { RunHandle, VerbOptions } from "../../client/index.ts";
import type { Verb } from "../../core/index.ts";
import { actOnRuns, selectRuns } from "../base/bulk.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { wholeOf } from "../base/values.ts";
import { type ExitCode, UsageError } from "../exit.ts";
import { verbRefusal } from "./acts.ts";
import { reach } from "./reach.ts";

/** Only the review that is open now, in the revision it has, is answered: somebody else may be quicker. */
async function onReview(
  cli: Cli,
  id: string,
  verb: Verb,
  say: (run: RunHandle, options: VerbOptions & { readonly reason: string }) => Promise<void>,
): Promise<ExitCode> {
  const selection = await selectRuns(cli, [id], {});
  const revision = selection.items[0]?.revision;
  const refusal = await verbRefusal(verb);
  const perform: Parameters<typeof actOnRuns>[2]["perform"] = async (run, { by, reason }) => {
    await say(run, { by, reason, ...(revision === undefined ? {} : { revision }) });
    return "it is recorded; the run's worker does it";
  };
  return await actOnRuns(cli, selection, { verb: commandOf(verb), question: () => "", refusal, perform }, {});
}

/** What it is called on a command line. */
function commandOf(verb: Verb): string {
  return verb === "discard" ? "discard-event" : verb;
}

const idArg = ["<id>", "of the run, or <tenant>/<id>"] as const;
const kinds = ["ActList", "Act"] as const;
const onlyWhere =
  "Only where its review takes it (`reprise dlq show`); exit 7 where not, 5 where somebody was quicker.";

export const runsSkip = command<[id: string], object>({
  name: "runs skip",
  summary: "Leave the effect that a parked run stands at as it is, and go on with the unwind",
  details: `It is on record as kept, with who said so and why. ${onlyWhere}`,
  args: [idArg],
  examples: [
    "reprise runs skip order-o-1 --reason 'the customer keeps the voucher'",
    "reprise runs skip order-o-1 --dry-run",
    "reprise runs skip acme/order-o-1 --reason INC-7 --json",
  ],
  kinds,
  changes: {},
  run: (cli, _, id) => onReview(cli, id, "skip", (run, options) => run.operator.skip(options)),
});

export const runsDiscardEvent = command<[id: string], object>({
  name: "runs discard-event",
  summary: "Throw away the event that a parked run's machine cannot take, and go on",
  details: `The event stays in the log. ${onlyWhere}`,
  args: [idArg],
  examples: [
    "reprise runs discard-event order-o-1 --reason 'sent twice by the shop'",
    "reprise runs discard-event order-o-1 --dry-run",
    "reprise runs discard-event acme/order-o-1 --reason INC-7 --json",
  ],
  kinds,
  changes: {},
  run: (cli, _, id) => onReview(cli, id, "discard", (run, options) => run.operator.discard(options)),
});

export const runsRaise = command<[id: string, budget: string, to: string], object>({
  name: "runs raise",
  summary: "Give a budget of a parked run a new hard limit, and go on",
  details: `What was used is in \`reprise runs show\`. ${onlyWhere}`,
  args: [idArg, ["<budget>", "its name"], ["<to>", "the new limit, in the unit of the budget"]],
  examples: [
    "reprise runs raise agent-7 tokens 200000 --reason 'a long document'",
    "reprise runs raise agent-7 cents 500 --dry-run",
    "reprise runs raise agent-7 seconds 3600 --reason INC-7 --json",
  ],
  kinds,
  changes: {},
  run: async (cli, _, id, budget, text) => {
    const to = wholeOf(text, "<to>", 1, Number.MAX_SAFE_INTEGER);
    return await onReview(cli, id, "raise", (run, options) => run.operator.raise({ ...options, budget, to }));
  },
});

export const runsRewind = command<[id: string, to: string], { readonly despite?: true }>({
  name: "runs rewind",
  summary: "Take a parked run back to a savepoint: what came after it is undone, and it goes on from there",
  details: `Say first what that would undo: \`reprise runs show\` names its savepoints. Where a point of no return was passed since it is parked
again, unless --despite. ${onlyWhere}`,
  args: [idArg, ["<savepoint>", "id of a state tagged savepoint that it was in"]],
  options: [["--despite", "although a point of no return was passed since, or what stays would be made again"]],
  examples: [
    "reprise runs rewind order-o-1 packing --reason 'the wrong box'",
    "reprise runs rewind order-o-1 packing --dry-run",
    "reprise runs rewind order-o-1 packing --despite --reason INC-7 --json",
  ],
  kinds,
  changes: {},
  run: async (cli, { despite = false }, id, to) => {
    const { savepoints } = await (await reach(cli, id)).get();
    if (!savepoints.includes(to)) {
      throw new UsageError(`${id} was in no savepoint ${to}; it was in ${savepoints.join(", ") || "none"}`);
    }
    return await onReview(cli, id, "rewind", (run, options) => run.operator.rewind({ ...options, to, despite }));
  },
});
