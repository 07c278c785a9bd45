/** `reprise runs signal`: sends an event to a run. */
import type { RunView } from "../../client/index.ts";
import type { Json } from "../../saga/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { jsonOf } from "../base/values.ts";
import { exitCodes } from "../exit.ts";
import { findDeclared } from "../sagas/find.ts";
import { reach } from "./reach.ts";

interface Flags {
  readonly input?: string;
  readonly id?: string;
}

/** As sending it would refuse it. Throws RUN_ENDED, SAGA_UNKNOWN, EVENT_UNKNOWN, EVENT_INVALID. */
async function checkEvent(cli: Cli, view: RunView, event: string, payload: Json): Promise<void> {
  const [{ checkedPayload, ended }, { hasEnded }] = await Promise.all([
    import("../../client/index.ts"),
    import("../../core/index.ts"),
  ]);
  const saga = await findDeclared(cli, `${view.saga}@${view.version}`);
  checkedPayload(saga, event, payload, Number.POSITIVE_INFINITY);
  if (hasEnded(view.status)) throw ended(view, view.status);
}

export const runsSignal = command<[run: string, event: string], Flags>({
  name: "runs signal",
  summary: "Send an event to a run; it is kept until a state takes it",
  details: "The payload is checked by the saga's schema for the event, so the saga has to be known (reprise.config).",
  args: [
    ["<run>", "its id"],
    ["<event>", "its name"],
  ],
  options: [
    ["-i, --input <json>", "the payload: JSON, @file, or - for stdin; {} unless given"],
    ["--id <id>", "of the event: sending again with it changes nothing; a new one unless given"],
  ],
  examples: [
    `reprise runs signal order-o-1 PAID -i '{"cents":4200}'`,
    "reprise runs signal order-o-1 PAID --id payment-77 -i @payment.json --reason 'paid by cheque'",
    "reprise runs signal order-o-1 PAID --dry-run",
  ],
  kinds: ["Signal"],
  changes: {},
  run: async (cli, flags, id, event) => {
    // It was parsed: what JSON.parse gives is JSON.
    const payload = (await jsonOf(flags.input ?? "{}", "--input", cli.io)) as Json;
    const run = await reach(cli, id);
    const { dryRun, reason } = cli.globals;
    const send = () =>
      run.signal(event, payload, {
        by: cli.by,
        ...(flags.id === undefined ? {} : { id: flags.id }),
        ...(reason === undefined ? {} : { reason }),
      });
    const answer = dryRun ? "would" : await send();
    const view = await run.get();
    if (dryRun) await checkEvent(cli, view, event, payload);
    const data = { tenant: run.tenant, run: run.id, event, answer, status: view.status };
    const line = `${event} ${dryRun ? "would be sent" : answer}; run ${run.id} is ${view.status}`;
    cli.out.document("Signal", data, { id: run.id, lines: () => [line] });
    return exitCodes.ok;
  },
});
