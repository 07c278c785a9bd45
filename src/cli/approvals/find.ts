/** Owns: how something that people are asked is named on a command line (`<run>#<row>` or `<run>#<row>.<n>`), found, and shown. */
import type { PendingApproval, RunHandle } from "../../client/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Cli } from "../base/cli.ts";
import { ink, type Line } from "../base/ink.ts";
import { agoText, timeText } from "../base/words.ts";
import { UsageError } from "../exit.ts";
import { reach } from "../runs/reach.ts";

export interface Asked {
  readonly run: RunHandle;
  readonly approval: PendingApproval;
}

/** With its tenant where that is not `usual`. */
export function approvalName(
  { tenant, run, seq, n }: Pick<PendingApproval, "tenant" | "run" | "seq" | "n">,
  usual: string,
): string {
  return `${tenant === usual ? "" : `${tenant}/`}${run}#${seq}.${n}`;
}

/** Throws APPROVAL_GONE, RUN_NOT_FOUND, UsageError. */
export async function findApproval(cli: Cli, name: string): Promise<Asked> {
  const [, id, seq, n] = /^([^#]+)(?:#(\d{1,9})(?:\.(\d{1,9}))?)?$/.exec(name) ?? [];
  if (id === undefined) throw new UsageError(`${name} is not <run>, <run>#<row> or <run>#<row>.<n>`);
  const run = await reach(cli, id);
  const asked = (await run.approvals()).filter((each) => seq === undefined || each.seq === Number(seq));
  const [approval, other] = n === undefined ? asked : asked.filter((each) => each.n === Number(n));
  if (other !== undefined) throw new UsageError(`${id} asks ${asked.length} things: name one, like ${id}#${other.seq}`);
  if (approval !== undefined) return { run, approval };
  throw new RepriseError("APPROVAL_GONE", `nobody is asked ${name} (any more)`, {
    details: { tenant: run.tenant, run: run.id },
  });
}

/** What is decided on, before it is decided. */
export function factsOf({ out }: Cli, approval: PendingApproval, now: number): readonly Line[] {
  const { question, saga, version, step, kind, rule, requester, input, roles, quorum, votes, talk, allowed } = approval;
  const { since, expiresAt, otherwise, escalations, form, edits, shown } = approval;
  const facts: readonly (readonly [string, string | null])[] = [
    ["of", `${saga}@${version}, ${kind === "gate" ? `before ${step} is carried out` : step}`],
    ["why a person", rule === null ? null : out.text(rule)],
    ["asked by", requester],
    ["would be carried out with", out.value(input)],
    ["may decide", roles.length === 0 ? "anybody but who asked" : roles.join(", ")],
    [
      "needed",
      quorum === 1 ? null : `${quorum} people; ${votes.filter(({ decision }) => decision !== "reject").length} so far`,
    ],
    ["answers", allowed.join(", ")],
    ["form to fill in (--form)", form === null ? null : out.value(form)],
    ["may be edited (--edit)", edits === null ? null : out.value(edits)],
    ["asked", agoText(since, now)],
    [
      "otherwise",
      expiresAt === null ? otherwise : `${otherwise} at ${timeText(expiresAt)} (${agoText(expiresAt, now)})`,
    ],
    [
      "later also",
      escalations.length === 0
        ? null
        : escalations.map(({ at, to }) => `${to.join(", ")} ${agoText(at, now)}`).join("; "),
    ],
    ["shown", shown],
  ];
  return [
    ink("bold", out.text(question)),
    ...facts.flatMap(([name, value]): readonly Line[] =>
      value === null ? [] : [[ink("dim", `  ${name.padEnd(26)}`), value]],
    ),
    ...votes.map(
      ({ by, decision, reason }): Line => `  ${by} ${decision}${reason === null ? "" : `: ${out.text(reason)}`}`,
    ),
    ...talk.map(({ is, by, text }): Line => `  ${is} by ${by}: ${out.text(text)}`),
  ];
}
