/** `reprise effects probe` and `resolve`: finding out, or saying, what became of an effect that a run is parked for. */
import type { Resolution } from "../../client/index.ts";
import type { Json } from "../../saga/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink } from "../base/ink.ts";
import { jsonOf, oneOf } from "../base/values.ts";
import { type ExitCode, exitCodes, UsageError } from "../exit.ts";
import { type FoundEffect, findEffect, reviewOf } from "./find.ts";

const idArg = ["<id>", "its operation id, or <run>#<row>, or <run>#<row>/undo"] as const;

export const effectsProbe = command<[id: string], object>({
  name: "effects probe",
  summary: "Have the other side asked whether an effect happened",
  details:
    "Where its run is parked for it and its step has a probe. The run's worker asks; the answer stands in the log.",
  args: [idArg],
  examples: [
    "reprise effects probe order-o-1#2",
    "reprise effects probe shop/default/order-o-1/charge/1",
    "reprise effects probe order-o-1#2 --dry-run",
  ],
  kinds: ["EffectAct"],
  changes: { noReason: "it asks the outside, and decides nothing" },
  run: async (cli, _, id) => {
    const found = await findEffect(cli, id);
    const review = await reviewOf(found, "probe");
    if (!cli.globals.dryRun) await found.run.operator.probe({ by: cli.by, review });
    return print(cli, found, "probe");
  },
});

interface ResolveFlags {
  readonly as?: string;
  readonly ref?: string;
  readonly evidence?: string;
  readonly result?: string;
}

export const effectsResolve = command<[id: string], ResolveFlags>({
  name: "effects resolve",
  summary: "Say what became of an effect that nobody else can find out",
  details:
    "As happened it wants what the action would have returned (--result), which is checked by the step's schema; as absent it was\nproven that nothing happened, and it may be sent again. The evidence stands in the log. It is confirmed (--yes).",
  args: [idArg],
  options: [
    ["--as <what>", "happened or absent"],
    ["--evidence <text>", "how it is known"],
    ["--ref <text>", "how the outside calls it: a charge id, a message id"],
    ["--result <json>", "what the action would have returned: JSON, @file, or -"],
  ],
  examples: [
    `reprise effects resolve order-o-1#2 --as happened --ref ch_77 --result '{"chargeId":"ch_77"}' --evidence 'seen at the bank'`,
    "reprise effects resolve order-o-1#2 --as absent --evidence 'the bank has nothing' --yes",
    "reprise effects resolve order-o-1#2/undo --as happened --evidence 'refunded by hand' --yes --json",
    "reprise effects resolve order-o-1#2 --as absent --evidence 'the bank has nothing' --dry-run",
  ],
  kinds: ["EffectAct"],
  changes: { noReason: "--evidence is the reason" },
  run: async (cli, flags, id) => {
    const resolution = await resolutionOf(cli, flags);
    const found = await findEffect(cli, id);
    const review = await reviewOf(found, "resolve");
    const { operationId } = found.effect;
    if (!cli.globals.dryRun) {
      if (!cli.globals.yes)
        await cli.ask.confirm(
          `Record that ${operationId} ${resolution.as === "happened" ? "happened" : "did not happen"}?`,
          "--yes",
        );
      await found.run.operator.resolve(resolution, { by: cli.by, review });
    }
    return print(cli, found, `resolve as ${resolution.as}`);
  },
});

async function resolutionOf(cli: Cli, flags: ResolveFlags): Promise<Resolution> {
  if (flags.as === undefined) throw new UsageError("what became of it? Give --as happened or --as absent");
  const as = oneOf(flags.as, "--as", ["happened", "absent"]);
  const evidence =
    flags.evidence ??
    cli.globals.reason ??
    (await cli.ask.text("How is it known? It stands in the log.", "--evidence"));
  const reference = flags.ref === undefined ? {} : { reference: flags.ref };
  if (as === "absent") {
    if (flags.result !== undefined)
      throw new UsageError("--result is for --as happened: what did not happen has returned nothing");
    return { as, evidence, ...reference };
  }
  // It was parsed: what JSON.parse gives is JSON.
  const output = flags.result === undefined ? {} : { output: (await jsonOf(flags.result, "--result", cli.io)) as Json };
  return { as, evidence, ...reference, ...output };
}

async function print(cli: Cli, { run, effect }: FoundEffect, act: string): Promise<ExitCode> {
  const { status } = await run.get();
  const result = cli.globals.dryRun ? "would" : "done";
  const data = { tenant: run.tenant, run: run.id, operationId: effect.operationId, act, result, status };
  const line = cli.globals.dryRun
    ? `${act} of ${effect.operationId} would be recorded`
    : `${act} of ${effect.operationId} is recorded; run ${run.id} is ${status}`;
  cli.out.document("EffectAct", data, { id: effect.operationId, lines: () => [ink("green", line)] });
  return exitCodes.ok;
}
