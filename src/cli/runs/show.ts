/** `reprise runs show`: the three answers first, then what there is to know of the run. */
import type { RunView } from "../../client/index.ts";
import { type CallVerdict, type Explanation, hasEnded, type Verdict } from "../../core/index.ts";
import type { Cli } from "../base/cli.ts";
import { command } from "../base/command.ts";
import { type Ink, ink, type Line, type Style } from "../base/ink.ts";
import { tableLines } from "../base/table.ts";
import { agoText, timeText } from "../base/words.ts";
import { exitCodes } from "../exit.ts";
import { headOf } from "./print.ts";
import { nameOf, reach } from "./reach.ts";

export const runsShow = command<[id: string], object>({
  name: "runs show",
  summary: "A run: where it stopped, its last act outside, what is safe now; then everything else",
  args: [["<id>", "of the run, or <tenant>/<id>"]],
  examples: [
    "reprise runs show order-o-1",
    "reprise runs show acme/order-o-1 --json",
    "reprise runs show order-o-1 --reveal",
  ],
  kinds: ["Run"],
  run: async (cli, _, id) => {
    const run = await reach(cli, id);
    const [view, told] = [await run.get(), await run.explain()];
    const data = { ...view, ...answersOf(told), calls: told.verdict.calls };
    cli.out.document("Run", data, { id: view.id, lines: () => linesOf(cli, view, told) });
    const next = nextFor(await nameOf(cli, run), view);
    if (next !== null) cli.out.note(`Next: ${next}`);
    return exitCodes.ok;
  },
});

/** The three answers, as every document has them. */
export function answersOf({ stoppedAt, lastAct, verdict }: Explanation) {
  const { verdict: word, reasons } = verdict;
  return { stoppedAt, lastAct, safeNow: { verdict: word, reasons } };
}

const verdictStyles: Readonly<Record<Verdict, Style>> = {
  RESUME_SAFE: "green",
  RETRY_SAFE: "green",
  PROBE_FIRST: "yellow",
  HUMAN_REQUIRED: "red",
  BLOCKED: "red",
};

const verdictWords: Readonly<Record<Verdict, string>> = {
  RESUME_SAFE: "✓ it can go on",
  RETRY_SAFE: "✓ it can go on; what is in doubt may be repeated",
  PROBE_FIRST: "? nothing is repeated before the other side was asked",
  HUMAN_REQUIRED: "✗ nothing is repeated before a person has decided",
  BLOCKED: "✗ nothing can go on before what is missing is there",
};

/** One line each. */
export function answerLines({ out }: Cli, told: Explanation): readonly Line[] {
  const { stoppedAt, lastAct, verdict } = told;
  const now = verdict.at;
  const what = lastAct === null ? "" : lastAct.side === "undo" ? `the compensation of ${lastAct.step}` : lastAct.step;
  return [
    [ink("bold", "Stopped at         "), ...stoppedText(stoppedAt, now), out.text(reasonOf(told))],
    [
      ink("bold", "Last external act  "),
      ...(lastAct === null
        ? ["nothing was sent that changes anything"]
        : [
            ink("bold", what),
            ` ${agoText(lastAct.at, now)}: `,
            knownInk(lastAct.known),
            ink("dim", `  ${lastAct.operationId}`),
          ]),
    ],
    [
      ink("bold", "Safe now           "),
      hasEnded(stoppedAt.status)
        ? ink("dim", "– nothing goes on")
        : ink(verdictStyles[verdict.verdict], `${verdictWords[verdict.verdict]} (${verdict.verdict})`),
    ],
    ...verdict.reasons.map((reason): Line => `                   ${out.text(reason)}`),
  ];
}

function stoppedText(
  { status, step, side, attempt, waitingFor, since }: Explanation["stoppedAt"],
  now: number,
): readonly (string | Ink)[] {
  const where =
    step === null ? [ink("bold", status)] : [ink("bold", side === "undo" ? `the compensation of ${step}` : step)];
  const tried = attempt === null || attempt === 0 ? "" : `attempt ${attempt}, `;
  const waits = waitingFor === null ? "" : `, waits for ${waitingFor}`;
  const ago = since === null ? "" : `, ${agoText(since, now)}`;
  return [...where, step === null ? `${waits}${ago}` : ` (${tried}${status}${waits}${ago})`];
}

/** Why, in the words of the run. */
function reasonOf({ where, stoppedAt }: Explanation): string {
  if (stoppedAt.review === null && stoppedAt.status !== "failed" && stoppedAt.status !== "cancelled") return "";
  const [, why] = /(?:parked for a person: |ended \w+ )(.*)$/s.exec(where.text) ?? [];
  return why === undefined ? "" : `: ${why.replace(/^\((.*)\)(?=,|$)/s, "$1")}`;
}

function knownInk(known: NonNullable<Explanation["lastAct"]>["known"]): Ink {
  switch (known) {
    case "happened":
      return ink("green", "✓ happened");
    case "did not happen":
      return ink("dim", "– did not happen");
    case "may have happened":
      return ink("yellow", "? may have happened");
    case "under way":
      return ink("cyan", "● under way");
  }
}

function linesOf(cli: Cli, view: RunView, told: Explanation): readonly Line[] {
  return [
    ...answerLines(cli, told),
    "",
    headOf(view),
    ...factsOf(cli, view),
    "",
    ...callTable(cli, told.verdict.calls),
  ];
}

function factsOf({ out }: Cli, view: RunView): readonly Line[] {
  const {
    input,
    output,
    attributes,
    parent,
    replayOf,
    timers,
    savepoints,
    createdAt,
    endedAt,
    cause,
    state,
    deadlineAt,
  } = view;
  const facts: readonly (readonly [string, string | null])[] = [
    ["state", state === null ? "it has not begun" : out.value(state)],
    ["cause", cause === null ? null : out.text(cause.message)],
    ["input", out.value(input)],
    ["output", output === null ? null : out.value(output)],
    ["attributes", Object.keys(attributes).length === 0 ? null : out.value(attributes)],
    ["parent", parent === null ? null : `${parent.run} (row ${parent.seq})`],
    [
      "replay of",
      replayOf === null ? null : `${replayOf.run} (${replayOf.mode}, by ${replayOf.by}: ${replayOf.reason})`,
    ],
    ["timers", timers.length === 0 ? null : timers.map(({ id, at }) => `${id} at ${timeText(at)}`).join(", ")],
    ["deadline", deadlineAt === null ? null : timeText(deadlineAt)],
    ["savepoints", savepoints.length === 0 ? null : savepoints.join(", ")],
    ["created", timeText(createdAt)],
    ["ended", endedAt === null ? null : timeText(endedAt)],
  ];
  return facts.flatMap(([name, value]): readonly Line[] =>
    value === null ? [] : [[ink("dim", `  ${name.padEnd(12)}`), value]],
  );
}

/** What is known of every call, and what going on means for it. */
export function callTable({ out }: Cli, calls: readonly CallVerdict[]): readonly Line[] {
  if (calls.length === 0) return ["  no step was asked for yet"];
  const columns = [
    { title: "row", cell: ({ seq }: CallVerdict) => String(seq) },
    { title: "step", cell: ({ step, side }: CallVerdict) => (side === "undo" ? `↶ ${step}` : step) },
    { title: "last known", cell: ({ state }: CallVerdict) => state },
    { title: "class", cell: ({ effect }: CallVerdict) => effect },
    { title: "decision", cell: ({ course }: CallVerdict) => course },
    { title: "reason", cell: ({ reason }: CallVerdict) => out.text(reason) },
  ];
  return tableLines(calls, columns, out.plain);
}

function nextFor(name: string, { status }: RunView): string | null {
  switch (status) {
    case "needs_review":
      return `reprise dlq show ${name}`;
    case "failed":
    case "cancelled":
      return `reprise runs timeline ${name}`;
    case "running":
    case "waiting":
    case "unwinding":
      return `reprise runs watch ${name}`;
    case "paused":
      return `reprise runs resume ${name} --reason ...`;
    case "completed":
      return null;
  }
}
