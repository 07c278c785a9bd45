/** Owns: telling what becomes of a run while it runs, from its ledger, until it has ended, is parked, or asks people. */
import type { LedgerRow, RunHandle, RunView } from "../../client/index.ts";
import { type Call, hasEnded } from "../../core/index.ts";
import type { Narrator } from "./narrator.ts";
import { patiently, unlessAborted } from "./patience.ts";

/** Does it go no further by itself? */
function isSettled({ status }: RunView): boolean {
  return hasEnded(status) || status === "needs_review";
}

/** Where the telling ends, and what was told before. */
interface Following {
  readonly until?: (view: RunView) => boolean;
  readonly told?: Set<string>;
}

/** Tells each thing that is newly known of the run, and gives its state once it has settled, or stands where the telling ends. */
export async function follow(
  run: RunHandle,
  narrator: Narrator,
  signal: AbortSignal,
  { until = isSettled, told = new Set() }: Following = {},
): Promise<RunView> {
  const changes = run.watch()[Symbol.asyncIterator]();
  for (;;) {
    const { value: view, done } = await unlessAborted(changes.next(), signal);
    if (done === true) throw new Error(`the watch of ${run.id} ended before the run did`);
    const rows = await patiently(() => run.ledger(), signal);
    for (const line of linesOf(rows, narrator)) {
      if (!told.has(line)) narrator.say(line);
      told.add(line);
    }
    if (isSettled(view) || until(view)) {
      narrator.live(null);
      void changes.return?.();
      return view;
    }
    const open = rows.filter(({ call, undo }) => isOpen(call) || undo?.state === "owed" || undo?.state === "sent");
    narrator.live(`${run.id} ${view.status}${open.length === 0 ? "" : `: ${open.map(({ step }) => step).join(", ")}`}`);
  }
}

function isOpen({ state }: Call): boolean {
  return state === "planned" || state === "offered" || state === "sent" || state === "unknown";
}

/** What is known for good, one line for each thing; asked again it says the same again. What was undone comes last. */
function linesOf(rows: readonly LedgerRow[], { colors }: Narrator): readonly string[] {
  const done = rows.flatMap((row) => {
    const known = wordOf(row.call, colors);
    return known === null ? [] : [`${known[0]} ${row.step} ${colors.dim(known[1])}`];
  });
  const undone = rows.filter((row) => row.undo?.state === "done").reverse();
  const lines = [...done, ...undone.map((row) => `${colors.yellow("↶")} ${row.step} ${colors.dim("undone")}`)];
  return lines.map((line) => `    ${line}`);
}

function wordOf(call: Call, colors: Narrator["colors"]): readonly [mark: string, word: string] | null {
  const why = call.error === null ? "" : `: ${call.error.message}`;
  switch (call.state) {
    case "succeeded":
      return [colors.green("✓"), call.proof === "probe" ? "the other side was asked: it had happened" : "happened"];
    case "not_applied":
      return [colors.red("✗"), `did not happen${why}`];
    case "unknown":
      // A probe that is still to be asked may yet tell.
      return call.probeAt === null ? [colors.yellow("?"), `nobody can know whether it happened${why}`] : null;
    case "reused":
      return [colors.green("✓"), "another run had done it already"];
    case "planned":
    case "claiming":
    case "offered":
    case "sent":
    case "withdrawn":
      return null;
  }
}
