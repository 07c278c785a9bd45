/**
 * Asking that a run be cancelled. Owns which slot a mode goes to, and what is told of a cancel that changes nothing; what it
 * comes to is core's (`core/unwind/cancel.ts`). Invariant: asked again it changes nothing.
 */
import type { Cancel, RunRef } from "../core/index.ts";
import { checkedReason, invalid } from "./checks.ts";
import type { Connection } from "./connection.ts";
import { sendRequest } from "./send.ts";

export interface CancelOptions {
  /**
   * `compensate` (default): what happened is undone. `stop`: nothing is begun or undone, what is out is found out, and then
   * it ends. `kill`: it ends at once, what is out is accepted as unknown. All end it `cancelled`.
   */
  readonly mode?: Cancel["mode"];
  /** Why; of a `kill` never empty. */
  readonly reason: string;
  readonly by: string;
}

/** Whose cancel counts, and how hard it is. */
export interface Cancelled {
  readonly by: string;
  readonly mode: Cancel["mode"];
}

const slots: Readonly<Record<Cancel["mode"], string>> = {
  compensate: "cancel",
  stop: "cancel:stop",
  kill: "cancel:kill",
};
const modes: readonly Cancel["mode"][] = ["compensate", "stop", "kill"];

export async function cancel(
  connection: Connection,
  run: RunRef,
  { mode = "compensate", reason, by }: CancelOptions,
): Promise<Cancelled> {
  if (!modes.includes(mode))
    throw invalid("INPUT_INVALID", "mode", `it is ${JSON.stringify(mode)}, not ${modes.join(", ")}`);
  if (mode === "kill") checkedReason(reason);
  const body = { type: "cancel", mode, reason } as const;
  const commandId = connection.ports.ids.next();
  const answer = await sendRequest(connection, { run, slot: slots[mode], commandId, by, body });
  if (answer.answer !== "TAKEN") return { by, mode };
  return { by: answer.by, mode: modes.find((each) => slots[each] === answer.slot) ?? mode };
}
