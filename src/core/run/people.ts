/**
 * What a run keeps of people: the approvals it asks for, and the budgets that only a person raises. Shapes only; `run.ts` says
 * where they stand, `approvals.ts`, `votes.ts` and `budgets.ts` own what becomes of them.
 */
import type { Json } from "../../saga/index.ts";

/** Who decides. Only a person may: an agent's or a service's credential never approves anything. */
export interface Principal {
  readonly id: string;
  readonly kind: "person" | "agent" | "service";
  readonly roles: readonly string[];
}

/** What a person may answer when an approval is asked for. */
export type DecisionKind = "approve" | "edit" | "reject" | "ask_back";

/** One answer that was taken. */
export interface Vote {
  readonly by: string;
  readonly at: number;
  readonly decision: DecisionKind;
  readonly reason: string | null;
  /** Encoded: the arguments to be carried out instead, where they were edited. */
  readonly input?: Json;
  /** Encoded: what the person filled in. */
  readonly form?: Json;
}

/** A question back, or an answer to one. */
export interface Talk {
  readonly is: "question" | "answer";
  readonly by: string;
  readonly at: number;
  readonly text: string;
}

/** When nobody has decided: who may as well, from then on. */
export interface Escalation {
  readonly at: number;
  readonly to: readonly string[];
}

/**
 * What a row asks people. `asking`: nobody has decided yet. `not_needed`: its rule let it go without one. The last three are
 * what was decided; `expired` is a refusal by time.
 */
export interface RowApproval {
  readonly state: "asking" | "not_needed" | "approved" | "rejected" | "expired";
  /** Numbers the times it was asked: what is decided on another one is void. The slot is `approval:<seq>.<n>`. */
  readonly n: number;
  readonly question: string;
  /** Digest of exactly what would be carried out: the step and its encoded input. */
  readonly shown: string;
  /** The rule that fired (or let it go), in words. */
  readonly rule: string | null;
  /** Who may not approve: whoever asked for it. */
  readonly requester: string | null;
  /** Roles one of which is needed; none: anybody but the requester. Escalations and delegations add to them. */
  readonly roles: readonly string[];
  /** Ids of people it was delegated to. */
  readonly delegates: readonly string[];
  /** How many different people must approve. */
  readonly quorum: number;
  readonly allowed: readonly DecisionKind[];
  readonly since: number;
  readonly expiresAt: number | null;
  readonly onExpire: "reject" | "review";
  readonly escalations: readonly Escalation[];
  readonly votes: readonly Vote[];
  readonly talk: readonly Talk[];
}

/** What a run may use of one thing. `null`: without that bound. */
export interface Budget {
  readonly used: number;
  readonly soft: number | null;
  readonly hard: number | null;
  /** The soft limit was passed, and somebody was told. */
  readonly warned: boolean;
  /** What its parent lets it use; absent: its parent bounds it in nothing here, or it has none. Only grows. */
  readonly share?: number;
  /** It waits for its parent to give it more, and has asked for that at this time. */
  readonly short?: number;
}
