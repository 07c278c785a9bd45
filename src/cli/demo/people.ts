/**
 * Owns: what the story shows of a run that asks people, and the answers it gives in their names: an agent's, which is refused, and a
 * person's. Does not own: who may decide; that is the engine's to say.
 */
import type { PendingApproval, RunHandle } from "../../client/index.ts";
import type { Principal } from "../../core/index.ts";
import { RepriseError } from "../../errors.ts";
import type { Json } from "../../saga/index.ts";
import type { Narrator } from "./narrator.ts";

const agent: Principal = { id: "agent-7", kind: "agent", roles: ["finance"] };
const person: Principal = { id: "ada", kind: "person", roles: ["finance"] };

/** Shows what is asked as a person would be shown it. */
export function tellAsking(pending: PendingApproval, { say, colors }: Narrator): void {
  const { question, input, rule, roles, quorum, requester, expiresAt, otherwise } = pending;
  const until = expiresAt === null ? "" : `until ${time(expiresAt)}; then `;
  const who = `${quorum === 1 ? "one person" : `${quorum} people`} of ${roles.join(" or ")}`;
  const besides = requester === null ? "" : `, not ${requester}, who has asked for it`;
  const rows = [
    ["asks", question],
    ["exactly", `${pending.step} ${JSON.stringify(input)}`],
    ["why", rule ?? "it is always asked"],
    ["who", `${who}${besides}`],
    ["when", `${until}${otherwise}`],
  ] as const;
  say(`    ${colors.yellow("…")} it waits for a person, and holds no worker`);
  for (const [name, text] of rows) say(`      ${colors.dim(name.padEnd(9))}${text}`);
}

/** An agent approves, with the right role: it must be refused. */
export async function tryAsAgent(run: RunHandle, pending: PendingApproval, { say, colors }: Narrator): Promise<void> {
  const refusal = await refusalOf(() => run.decide(pending, { is: "approve" }, { as: agent }));
  if (refusal === null) throw new Error(`${agent.id} has approved, with the credential of an agent`);
  say(`    ${colors.red("✗")} ${agent.id} tries to approve it: refused ${colors.dim(`(${refusal})`)}`);
}

/** A person approves less than was asked for. */
export async function approveLess(
  run: RunHandle,
  pending: PendingApproval,
  { less, reason }: { readonly less: Readonly<Record<string, Json>>; readonly reason: string },
  { say, colors }: Narrator,
): Promise<void> {
  // What a step takes is an object; only a few of its fields are others now.
  const input = { ...(pending.input as Readonly<Record<string, Json>>), ...less };
  const { changes } = await run.decide(pending, { is: "approve", input, reason }, { as: person });
  const edited = changes.map(
    ({ path, before, after }) => `${path} ${JSON.stringify(before)} → ${JSON.stringify(after)}`,
  );
  say(`    ${colors.green("✓")} ${person.id} approves less: ${edited.join(", ")} ${colors.dim(`(${reason})`)}`);
}

/** In the engine's own words; `null`: it was not refused. */
async function refusalOf(act: () => Promise<unknown>): Promise<string | null> {
  try {
    await act();
    return null;
  } catch (error) {
    if (error instanceof RepriseError && error.code === "APPROVAL_FORBIDDEN") return error.message;
    throw error;
  }
}

function time(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
