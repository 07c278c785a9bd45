/**
 * Who may say what to an asking. Read by the client, which refuses, and by core, which is the judge. Invariants: E1 only a
 * person decides, never an agent's or a service's credential. E2 whoever asked for it does not decide on it. E3 nobody decides
 * twice on one asking. E4 who says something counts by the time at which it was sent.
 */

import type { ApprovalWord, DecisionKind, Principal, RowApproval } from "../run/index.ts";

/** Questions and answers, and people to whom one asking was delegated, at most. */
const maxTalk = 100;
const maxDelegates = 50;

/** Why somebody may not say this, for programs and in plain words. */
interface VoterObjection {
  readonly why: "not_a_person" | "requester" | "role" | "voted" | "not_allowed" | "too_much";
  readonly message: string;
}

/** Which decision a word amounts to; `null`: it decides nothing. `isEdited`: what is approved is not what was asked for. */
function kindOf(is: Exclude<ApprovalWord["is"], "answer">, isEdited: boolean): DecisionKind | null {
  switch (is) {
    case "approve":
      return isEdited ? "edit" : "approve";
    case "reject":
    case "ask_back":
      return is;
    case "delegate":
      return null;
  }
}

/** Roles one of which is needed at a time: escalations count from their own on. */
export function rolesAt(
  { roles, escalations }: Pick<RowApproval, "roles" | "escalations">,
  at: number,
): readonly string[] {
  return [...roles, ...escalations.filter((escalation) => escalation.at <= at).flatMap(({ to }) => to)];
}

/** Why `as` may not say `word` at that time; `null`: they may. */
export function objectionToWord(
  approval: RowApproval,
  said: { readonly as: Principal; readonly word: ApprovalWord; readonly isEdited: boolean; readonly at: number },
): VoterObjection | null {
  const { as, word } = said;
  // An answer decides nothing: whoever asked for it is as a rule who can give it.
  if (word.is === "answer") return objectionToTalk(approval, word);
  const kind = kindOf(word.is, said.isEdited);
  if (as.kind !== "person") {
    return { why: "not_a_person", message: `${as.id} is ${nameOf(as.kind)}: only a person decides` };
  }
  if (as.id === approval.requester) {
    return { why: "requester", message: `${as.id} has asked for it, and may not decide on it` };
  }
  if (!isEntitled(approval, as, said.at)) {
    const roles = rolesAt(approval, said.at).join(", ");
    return { why: "role", message: `${as.id} has none of the roles that may decide (${roles})` };
  }
  if (kind !== null && !approval.allowed.includes(kind)) {
    return { why: "not_allowed", message: `${kind} is not allowed here, but ${approval.allowed.join(", ")}` };
  }
  if (approval.votes.some(({ by }) => by === as.id)) {
    return { why: "voted", message: `${as.id} has decided already` };
  }
  return objectionToDelegate(approval, word) ?? objectionToTalk(approval, word);
}

function nameOf(kind: "agent" | "service"): string {
  return kind === "agent" ? "an agent" : "a service";
}

function isEntitled(approval: RowApproval, { id, roles }: Principal, at: number): boolean {
  const wanted = rolesAt(approval, at);
  return wanted.length === 0 || roles.some((role) => wanted.includes(role)) || approval.delegates.includes(id);
}

function objectionToDelegate({ requester, delegates }: RowApproval, word: ApprovalWord): VoterObjection | null {
  if (word.is !== "delegate") return null;
  if (word.to === requester) {
    return { why: "requester", message: `${word.to} has asked for it, so it cannot be delegated to them` };
  }
  if (delegates.length < maxDelegates) return null;
  return { why: "too_much", message: `it was delegated to ${maxDelegates} people already` };
}

function objectionToTalk({ talk }: RowApproval, { is }: ApprovalWord): VoterObjection | null {
  if (is !== "ask_back" && is !== "answer") return null;
  if (is === "answer" && talk.length === 0) return { why: "not_allowed", message: "nobody has asked a question" };
  return talk.length < maxTalk
    ? null
    : { why: "too_much", message: `there are ${maxTalk} questions and answers already` };
}
