/** People's words, as they reach a run that core plays. */
import { type ApprovalWord, approvalSlot, type Decision, type Principal } from "../../src/core/index.ts";
import type { Play } from "./play.ts";

export const person = (id: string, ...roles: string[]): Principal => ({ id, kind: "person", roles });
export const [ann, bob, cfo] = [person("ann", "finance"), person("bob", "finance"), person("cfo", "board")];

export const approve = (more: Partial<Extract<ApprovalWord, { is: "approve" }>> = {}): ApprovalWord => ({
  is: "approve",
  reason: null,
  ...more,
});
export const reject: ApprovalWord = { is: "reject", reason: "too much" };

export interface Said {
  /** What was on the screen; what is asked now unless given. */
  readonly n?: number;
  readonly shown?: string;
  /** The one slot of a decision unless given: what is said, or one of several votes, has a slot of its own. */
  readonly slot?: string;
}

/** `as` says something to what the row of a step asks. */
export function says(play: Play, step: string, as: Principal, word: ApprovalWord, said: Said = {}): Decision {
  const { seq, approval } = play.row(step);
  const n = said.n ?? approval?.n ?? 0;
  const own = word.is === "approve" || word.is === "reject" ? "" : `:say:${as.id}${play.log.length}`;
  const slot = approvalSlot(seq, n) + (said.slot ?? own);
  const shown = said.shown ?? approval?.shown ?? "";
  return play.send(slot, { type: "decide", seq, n, shown, as, decision: word }, as.id);
}

/** What the log says of people's words on a row, as `asking`, `approve ann`, `refused bob`. */
export function wordsOn(play: Play): readonly string[] {
  return play.taken().flatMap((taken) => {
    if (taken.what !== "approval") return [];
    return [taken.by === undefined ? taken.state : `${taken.state} ${taken.by}`];
  });
}
