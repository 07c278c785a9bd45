/** `reprise dlq show`: one parked run: why, what is known, and what may be done about it. */
import type { Review, Verb } from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { agoText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";
import { headOf } from "../runs/print.ts";
import { nameOf, reach } from "../runs/reach.ts";
import { answerLines, answersOf, callTable } from "../runs/show.ts";

export const dlqShow = command<[id: string], object>({
  name: "dlq show",
  summary: "A dead letter: why the run is parked, what is known, and what may be done",
  args: [["<id>", "of the run"]],
  examples: ["reprise dlq show order-o-1", "reprise dlq show acme/order-o-1", "reprise dlq show order-o-1 --json"],
  kinds: ["DeadLetter"],
  run: async (cli, _, id) => {
    const run = await reach(cli, id);
    const view = await run.get();
    const { review } = view;
    if (review === null) {
      const message = `run ${run.id} is not parked: it is ${view.status}`;
      throw new RepriseError("REVIEW_GONE", message, { details: { tenant: run.tenant, run: run.id, review: null } });
    }
    const [told, name] = [await run.explain(), await nameOf(cli, run)];
    const { tenant, saga, version, status, revision, replays } = view;
    const data = {
      tenant,
      id: view.id,
      saga,
      version,
      status,
      revision,
      replays,
      ...review,
      ...answersOf(told),
      calls: told.verdict.calls,
    };
    const lines = (): readonly Line[] => [
      ...answerLines(cli, told),
      "",
      headOf(view),
      ...reviewLines(cli, review, told.verdict.at),
      "",
      ...callTable(cli, told.verdict.calls),
      "",
      ink("bold", "What may be done"),
      ...review.verbs.map((verb): Line => [`  ${verb.padEnd(12)}`, verbHint(verb, name, told.stoppedAt.seq)]),
    ];
    cli.out.document("DeadLetter", data, { id: run.id, lines });
    return exitCodes.ok;
  },
});

function reviewLines({ out }: Cli, { reason, message, since, evidence, n }: Review, now: number): readonly Line[] {
  return [
    [ink("red", `! ${reason}`), `  parked ${agoText(since, now)} (review ${n})`],
    `  ${out.text(message)}`,
    ...(evidence === null ? [] : [`  evidence: ${out.value(evidence)}`]),
  ];
}

/** The command that does it. */
export function verbHint(verb: Verb, run: string, seq: number | null): string {
  const row = `${run}#${seq ?? "<row>"}`;
  switch (verb) {
    case "probe":
      return `reprise runs probe ${run}`;
    case "resolve":
      return `reprise effects resolve ${row} --as happened|absent --evidence ...`;
    case "retry":
      return `reprise replay plan ${run}`;
    case "compensate":
      return `reprise replay plan ${run} --compensate-only`;
    case "close":
      return `reprise dlq discard ${run} --reason ...`;
    case "skip":
      return `reprise runs skip ${run} --reason ...`;
    case "discard":
      return `reprise runs discard-event ${run} --reason ...`;
    case "rewind":
      return `reprise runs rewind ${run} <savepoint> --reason ...`;
    case "raise":
      return `reprise runs raise ${run} <budget> <to> --reason ...`;
  }
}
