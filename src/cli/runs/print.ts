/** Owns: a run as text in a few lines. */
import type { RunView } from "../../client/index.ts";
import type { Cli } from "../base/cli.ts";
import { ink, type Line } from "../base/ink.ts";
import { statusInk } from "../base/words.ts";

export function printRun(cli: Cli, view: RunView): void {
  cli.out.document("Run", view, { id: view.id, lines: () => [headOf(view), ...endOf(cli, view)] });
}

export function headOf({ id, saga, version, status, rollback, revision }: RunView): Line {
  const back = rollback === "none" ? "" : `, rollback ${rollback}`;
  return [statusInk(status), "  ", ink("bold", id), ` of ${saga}@${version}${back}, revision ${revision}`];
}

function endOf({ out }: Cli, { cause, output, status, review }: RunView): readonly Line[] {
  return [
    ...(cause === null ? [] : [`  cause: ${out.text(cause.message)}${cause.step === null ? "" : ` (${cause.step})`}`]),
    ...(review === null ? [] : [`  parked: ${out.text(review.message)}`]),
    ...(status === "completed" ? [`  output: ${out.value(output)}`] : []),
  ];
}
