/** `reprise effects list` and `show`: what was tried outside, and what is known of it. */
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { ink, type Line } from "../base/ink.ts";
import { type FilterFlags, filterOf, filterOptions, findRuns, limitOf } from "../base/select.ts";
import type { Column } from "../base/table.ts";
import { oneOf } from "../base/values.ts";
import { agoText, counted, runText, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";
import { nameOf, reach } from "../runs/reach.ts";
import { type Effect, effectsOf, findEffect } from "./find.ts";
import { effectStates, stateInk } from "./words.ts";

interface Flags extends FilterFlags {
  readonly run?: string;
  readonly state?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

export const effectsList = command<[], Flags>({
  name: "effects list",
  summary: "What was tried outside, of one run or of the newest runs, and what is known of it",
  details:
    "Without --run the ledgers of the newest runs are read, 200 unless --limit says otherwise; the cursor goes on with older runs.",
  options: [
    ["--run <id>", "of this run alone"],
    ["--state <state>", `only these: ${effectStates.join(", ")}`],
    ...filterOptions,
    ["--limit <n>", "how many runs are looked at"],
    ["--cursor <cursor>", "nextCursor of the page before"],
  ],
  examples: [
    "reprise effects list --run order-o-1",
    "reprise effects list --state unknown",
    "reprise effects list --status needs_review --jsonl",
  ],
  kinds: ["EffectList", "Effect", "Cursor"],
  run: async (cli, flags) => {
    const tenant = await cli.tenant();
    const { effects, cursor } = await effectsFor(cli, flags, tenant);
    const state = flags.state === undefined ? undefined : oneOf(flags.state, "--state", effectStates);
    cli.out.list("Effect", {
      items: state === undefined ? effects : effects.filter((effect) => effect.state === state),
      nextCursor: cursor,
      id: ({ operationId }) => operationId,
      columns: columnsAt(Date.now(), await cli.usualTenant()),
      empty: "No effect fits. All of one run: reprise effects list --run <id>",
    });
    return exitCodes.ok;
  },
});

async function effectsFor(cli: Cli, flags: Flags, tenant: string) {
  if (flags.run !== undefined) {
    const run = await reach(cli, flags.run);
    return { effects: effectsOf(run, await run.ledger()), cursor: null };
  }
  const filter = filterOf(flags, Date.now());
  const found = await findRuns(cli, { filter, tenant, limit: limitOf(flags.limit, 200), cursor: flags.cursor });
  const client = await cli.client();
  const effects: Effect[] = [];
  for (const { id } of found.runs) {
    const run = client.run(id, { tenant });
    effects.push(...effectsOf(run, await run.ledger()));
  }
  return { effects, cursor: found.cursor };
}

function columnsAt(now: number, tenant: string): readonly Column<Effect>[] {
  return [
    { title: "state", cell: ({ state }) => stateInk(state) },
    { title: "effect", cell: (effect) => ink("bold", shortName(effect, tenant)) },
    { title: "step", cell: ({ side, step }) => (side === "undo" ? `↶ ${step}` : step) },
    { title: "class", cell: ({ effect }) => effect },
    { title: "undo", cell: ({ undo }) => undo ?? "-" },
    { title: "known by", cell: ({ proof }) => proof ?? "-" },
    { title: "sent", cell: ({ sentAt }) => (sentAt === null ? "-" : agoText(sentAt, now)) },
    { title: "sends", cell: ({ send }) => String(send), align: "right" },
    { title: "operation id", cell: ({ operationId }) => operationId, wide: true },
    { title: "reference", cell: ({ reference }) => reference ?? "-", wide: true },
    { title: "sent at", cell: ({ sentAt }) => (sentAt === null ? "-" : timeText(sentAt)), wide: true },
  ];
}

/** As `findEffect` takes it. */
function shortName({ tenant, run, seq, side }: Effect, usual: string): string {
  return `${runText({ tenant, id: run }, usual)}#${seq}${side === "undo" ? "/undo" : ""}`;
}

export const effectsShow = command<[id: string], object>({
  name: "effects show",
  summary: "One effect: what was sent, what is known of it and how",
  args: [["<id>", "its operation id, or <run>#<row>, or <run>#<row>/undo"]],
  examples: [
    "reprise effects show order-o-1#2",
    "reprise effects show shop/default/order-o-1/charge/1",
    "reprise effects show order-o-1#2/undo --json",
  ],
  kinds: ["Effect"],
  run: async (cli, _, id) => {
    const { run, effect, row } = await findEffect(cli, id);
    const given = effect.side === "undo" && row.undo?.input !== undefined ? row.undo.input : row.input;
    const data = { ...effect, input: given, output: effect.side === "action" ? row.output : null };
    const name = await nameOf(cli, run);
    cli.out.document("Effect", data, { id: effect.operationId, lines: () => linesOf(cli, data, name) });
    return exitCodes.ok;
  },
});

function linesOf(
  { out }: Cli,
  effect: Effect & { readonly input: unknown; readonly output: unknown },
  run: string,
): readonly Line[] {
  const { operationId, state, step, side, seq, send, proof, error, intent, reference, undo, sentAt } = effect;
  const facts: readonly (readonly [string, string | null])[] = [
    ["of", `${side === "undo" ? "the compensation of " : ""}${step} (row ${seq}) of run ${run}`],
    ["class", effect.effect],
    ["sent", sentAt === null ? "never" : `${timeText(sentAt)}, ${counted(send, "time")} in all`],
    ["known by", proof],
    ["error", error === null ? null : out.text(`${error.kind}: ${error.message}`)],
    ["unwind", undo],
    ["intent", intent === null ? null : out.value(intent)],
    ["reference", reference],
    ["input", out.value(effect.input)],
    ["output", effect.output === null ? null : out.value(effect.output)],
  ];
  return [
    [stateInk(state), "  ", ink("bold", operationId)],
    ...facts.flatMap(([name, value]): readonly Line[] =>
      value === null ? [] : [[ink("dim", `  ${name.padEnd(11)}`), value]],
    ),
  ];
}
