/**
 * A run is a value. This file owns its shape: the record (the only truth about a run), the ledger rows, the log and
 * the inbox. It decides nothing. The stored form (short keys) is `store/codec.ts`'s.
 *
 * Invariants: R1 `record.revision` is the number of commits and the length of the log. R2 row `seq` is its 1-based
 * place in the ledger. R3 `record.open` holds exactly the seqs of rows that still owe something (`rowIsOpen`).
 * R4 all times are Redis time in ms. R5 everything here is JSON.
 */
import type { EffectClass, Json } from "../saga/index.ts";
import type { MachineState } from "./machine-port.ts";
import type { Parent, RowChild, RunLimit } from "./run-company.ts";
import type { Budget, DecisionKind, Principal, RowApproval } from "./run-people.ts";
import type { Rollback, RunStatus } from "./run-status.ts";

export type { Rollback, RunStatus } from "./run-status.ts";

/** Which run: tenant and id, each `[A-Za-z0-9_.-]{1,64}`. */
export interface RunRef {
  readonly tenant: string;
  readonly id: string;
}

/** Why a run failed, was cancelled or is parked. */
export interface Cause {
  readonly kind: "step_failed" | "rejected" | "cancelled" | "defect" | "undone" | "closed" | "deadline";
  readonly step: string | null;
  readonly message: string;
  /** Ledger row or outside reference that shows it, e.g. an operation id. */
  readonly reference: string | null;
}

/** A failure as data: what the machine's `onError` sees, and what rows keep. */
export interface Failure {
  readonly kind:
    | "not_applied"
    | "unknown"
    | "fail"
    | "timeout"
    | "interrupted"
    | "unusable_output"
    | "defect"
    /** People said no, or nobody said anything in time (code `REJECTED`, `EXPIRED`). */
    | "rejected"
    /** It was not over in time. */
    | "deadline"
    /** The run that it started did not come to a good end. */
    | "child";
  readonly code: string | null;
  readonly message: string;
  readonly attempts: number;
}

/** How the last word on a call is known. */
export type Proof = "answer" | "probe" | "take_back" | "person" | "late" | "class" | "intent";

/**
 * Where a call (an action or a compensation) stands.
 * `planned` wants a grant at `nextAt`; `claiming` asks for its intent first; `offered` lies in a named queue and can be
 * withdrawn; `sent` may be out there; `unknown` will not be sent again by itself and is being found out. The last four are
 * final; `reused` is the recorded outcome of somebody else's call, made under the same intent.
 */
export type CallState =
  | "planned"
  | "claiming"
  | "offered"
  | "sent"
  | "unknown"
  | "succeeded"
  | "not_applied"
  | "withdrawn"
  | "reused";

/** One external effect and everything that was tried to make it, action or compensation alike. */
export interface Call {
  readonly state: CallState;
  /** What the retry policy counts. 0: never granted. */
  readonly attempt: number;
  /** Raised by every write that makes it offered or sent; never reused. */
  readonly send: number;
  /** The class in force at the first `sent`; the effective class is the stricter of this and today's. */
  readonly effect: EffectClass;
  readonly firstSentAt: number | null;
  /** Revision of the commit that first said `sent`: the order of effects. */
  readonly firstSentRevision: number | null;
  /** While `offered`: when it was offered, the earliest time at which it can have been sent. */
  readonly sentAt: number | null;
  /**
   * After this nobody can still make the outside apply the last send (design section 6, Deadline). `null` where there is
   * none or its outcome is known; so a `planned` call with a deadline is one whose last send is in doubt (`doubtOf`).
   */
  readonly deadline: number | null;
  /** Fence of the lease under which it was last sent; `null` while it was sent by permit. */
  readonly fence: number | null;
  /** Not before this, while `planned`; when to offer it again, while `offered`; when to ask again, while `claiming`. */
  readonly nextAt: number | null;
  /**
   * The latest deadline of sends before the last one whose outcome is unknown, or `null`: while set, the effect may have
   * happened whatever the newest send answered.
   */
  readonly doubtUntil: number | null;
  /** Owner deaths while it was sent, since its last outcome (poison). */
  readonly interruptions: number;
  /** Probes answered without a result since the last send, and when the next is wanted. */
  readonly probes: number;
  readonly probeAt: number | null;
  readonly error: Failure | null;
  readonly proof: Proof | null;
  /** That an older send happened (`{ send, output, unusable }`), learnt while a newer one was out. */
  readonly evidence: Json | null;
  /** 1, raised when a fresh key is taken after a proven absence (`freshKeyAfterAbsent`). */
  readonly generation: number;
}

export type UndoState = "owed" | "sent" | "done" | "not_needed" | "kept" | "skipped" | "halted" | "accepted";

/** What the unwind made of a row. */
export interface Undo {
  readonly state: UndoState;
  /** The compensation's own call; `null` where none is made. */
  readonly call: Call | null;
  readonly reason: string | null;
  /** What a person has the compensation given instead of the row's input, encoded; absent: the row's. */
  readonly input?: Json;
}

/** What a machine can be told of a row. `nothing`: it never will be, the run has turned round or was closed. */
export type Told = "outcome" | "failure" | "nothing";

/**
 * How a row stands to its intent. `free`: it has not got it (nobody has, or the answer is not there). `busy`, `conflict`:
 * another owner has it, or has it with other arguments. `mine`: it makes the effect. `stale`: it had it, and wants it anew
 * with other arguments. `reused`: the owner's outcome was taken. `undone`: the owner has undone that since.
 */
export type IntentState = "free" | "busy" | "conflict" | "mine" | "stale" | "reused" | "undone";

/** What became of the effect that an intent stands for. All but `succeeded` and `unknown` free it. */
export type IntentWord = "succeeded" | "not_applied" | "withdrawn" | "undone" | "unknown";

/** The business key of a row's effect (design section 6, Intents). */
export interface RowIntent {
  readonly key: Json;
  readonly state: IntentState;
  /** Numbers the claims the row has made: the n-th one's owner is `<run>#<seq>.<n>`. 0: none yet. */
  readonly claim: number;
  /** Who has it, or had it, where that is another row. */
  readonly owner: string | null;
  /** The owner's arguments, where they are other ones (`null`: they cannot be read). */
  readonly theirs: Json;
  /** Waiting for the owner since. */
  readonly since: number | null;
  /** What was published of the present claim. */
  readonly said: IntentWord | null;
}

/** What makes a row a tool call: it was asked for by the action of another row, not by the machine. */
export interface RowTool {
  /** The row whose action asked. */
  readonly parent: number;
  /** By what a repeated request is known: a digest of tool and key, or an id of its own where it has no key. */
  readonly match: string;
  /** How often it was asked for; all but the first were absorbed. */
  readonly asks: number;
  /** Digest of what the action asks, where a person has given the call another input since. */
  readonly asked?: string;
}

/** One invocation of a step: a ledger row. */
export interface Row {
  readonly seq: number;
  readonly kind: "call" | "approval" | "child";
  readonly step: string;
  /** Counts the rows of that step in the run, in the order of planning, from 1. */
  readonly occurrence: number;
  /** The machine's invoke id this row answers; empty for a tool call. */
  readonly invoke: string;
  /** Ids of the parallel regions that hold the invoking state, outermost first. */
  readonly region: readonly string[];
  /** The number of that region's entry (design 7.3). */
  readonly regionEntry: number;
  /** Encoded input, as stored. */
  readonly input: Json;
  readonly call: Call;
  /** `null`: its step has no business key. */
  readonly intent: RowIntent | null;
  /** `null`: the machine invoked it. */
  readonly tool: RowTool | null;
  /** What people are asked before it is carried out; `null`: nobody is. */
  readonly approval: RowApproval | null;
  /** The run that it has started; `null`: none, or none yet. */
  readonly child: RowChild | null;
  /** It is to be over by then, with all its attempts; `null`: whenever. */
  readonly dueBy: number | null;
  /** The how-manieth of the same call it is (`loops.ts`); absent: the first. */
  readonly repeat?: number;
  /** Digests of the keys under which its action has said what it used. */
  readonly spent?: readonly string[];
  /** How far the action says it has come; `null`: it has not said. */
  readonly progress: Json;
  /** Encoded output; only read when `call.state` is `succeeded` or `reused`. */
  readonly output: Json;
  /** The output does not fit its schema: the effect happened, its output cannot be used. */
  readonly unusable: boolean;
  /** The machine left the state that invoked it. */
  readonly abandoned: boolean;
  /** What the machine (or the action that asked for it) was told of it; `null`: nothing yet. */
  readonly told: Told | null;
  readonly undo: Undo | null;
  /** A person's reference for a resolved outcome. */
  readonly reference: string | null;
}

/** A durable timer of the machine. */
export interface Timer {
  readonly id: string;
  readonly at: number;
  readonly event: { readonly type: string; readonly [key: string]: Json };
}

export type ReviewReason =
  | "unknown_outcome"
  | "exhausted"
  | "halted"
  | "defect"
  | "poison"
  | "after_pivot"
  | "blocked"
  | "late_result"
  /** Its intent is taken with other arguments; by an owner that does not come to an end; or was undone by its owner. */
  | "intent_conflict"
  | "intent_busy"
  | "intent_undone"
  /** A value that was kept outside the store is gone, or is not what was kept. */
  | "missing_artifact"
  /** The store has forgotten commits that it had acknowledged. */
  | "store_rollback"
  /** A budget is used up. */
  | "budget"
  /** The same call was asked for too often. */
  | "loop"
  /** It was not over in time, and a person is to say what then. */
  | "deadline"
  /** Nobody has decided in time, and a person is to say what then. */
  | "approval_expired";

/** What a person may do with a parked run. */
export type Verb = "probe" | "resolve" | "retry" | "skip" | "discard" | "rewind" | "compensate" | "raise" | "close";

/** Why a run is parked and what a person may do; present exactly while `status` is `needs_review`. */
export interface Review {
  /** Grows every time the run is (still) parked after a verb; the slot is `review:<n>`. */
  readonly n: number;
  readonly reason: ReviewReason;
  /** In plain words, for the person who must act. */
  readonly message: string;
  /** The row it is about, and whether it is about its action or its compensation. */
  readonly seq: number | null;
  readonly side: "action" | "undo" | null;
  /** Id of the event it is about: one whose transition is a defect. Absent where it is about none. */
  readonly event?: string;
  readonly since: number;
  readonly evidence: Json;
  readonly verbs: readonly Verb[];
}

export type WaitingFor = "timer" | "event" | "approval" | "budget" | "child" | "intent" | "limit" | "worker";

/** A cancel that was taken. */
export interface Cancel {
  readonly mode: "compensate" | "stop" | "kill";
  readonly reason: string;
  readonly by: string;
  readonly at: number;
}

/** A running unwind. */
export interface Unwind {
  readonly cause: Cause;
  readonly at: number;
  /** Calls in flight may still answer until then. */
  readonly quiesceUntil: number;
  readonly ends: "failed" | "cancelled";
  /** A person has said that it goes back although a point of no return was passed. */
  readonly despitePivot: boolean;
  /** It ends there, and the run goes on; absent: it undoes everything and ends the run. */
  readonly to?: Savepoint;
  /** Nothing is undone: what is there is left as it is (`leave.ts`). */
  readonly leaves?: true;
}

/** Where a run comes from that replays another one. */
export type ReplayOf = Origin & ({ readonly mode: "new_run" } | { readonly mode: "fork"; readonly start: ForkStart });

/** A timer with what it waits for, not yet set. */
export interface StartTimer {
  readonly id: string;
  readonly delayMs: number;
  readonly event: Timer["event"];
}

/** Where the other run stood when a fork of it began there. */
export interface ForkStart {
  readonly snapshot: MachineState;
  /** Rows that the ledger began with, and those of them that the machine waited for. */
  readonly rows: number;
  readonly waits: readonly number[];
  readonly timers: readonly StartTimer[];
}

interface Origin {
  /** Id of the other run, in the same tenant, and its revision then. */
  readonly run: string;
  readonly revision: number;
  /** The plan that was executed, by whom and why. */
  readonly plan: string;
  readonly by: string;
  readonly reason: string;
}

/** A state tagged `savepoint`, as the run last entered it: an unwind may end there. */
export interface Savepoint {
  /** Id of the state. */
  readonly state: string;
  readonly revision: number;
  readonly start: ForkStart;
}

/** A run as it was before it was moved to another version. */
export interface Migrated {
  readonly version: number;
  readonly hash: string;
  readonly revision: number;
  readonly snapshot: MachineState | null;
}

/**
 * Where the machine stood before a log entry was written (after it had moved, for a migration): with it the log can be read
 * from that entry on, whatever became of those before it.
 */
export interface LogBase {
  /** Digest of the entry before. */
  readonly after: string;
  readonly snapshot: MachineState | null;
  /** Rows asked for by then, those the machine waited for, and of each step the newest row whose output it had. */
  readonly rows: number;
  readonly waits: readonly number[];
  readonly used: readonly number[];
  readonly timers: readonly StartTimer[];
}

/** The run record: everything about a run but its rows, its log and its inbox. */
export interface RunRecord {
  readonly format: 1;
  readonly tenant: string;
  readonly id: string;
  readonly saga: string;
  readonly version: number;
  readonly hash: string;
  readonly pool: string;
  readonly priority: number;
  readonly input: Json;
  readonly inputHash: string;
  readonly revision: number;
  readonly status: RunStatus;
  readonly rollback: Rollback;
  readonly cause: Cause | null;
  /** `null` until the first driver has begun it. */
  readonly snapshot: MachineState | null;
  readonly output: Json;
  /** Number of rows in the ledger. */
  readonly rows: number;
  readonly open: readonly number[];
  /** Seqs of those that ask people now. */
  readonly asks: readonly number[];
  /** Times each parallel region was entered, by region id; only regions entered more than once matter. */
  readonly regionEntries: Readonly<Record<string, number>>;
  readonly timers: readonly Timer[];
  readonly waitingFor: WaitingFor | null;
  readonly review: Review | null;
  /** Reviews so far. */
  readonly reviews: number;
  readonly cancel: Cancel | null;
  readonly paused: boolean;
  readonly unwind: Unwind | null;
  /** Owner deaths with no row sent, since the last outcome (poison). */
  readonly interruptions: number;
  /** Plans executed on it, and on the run that it replays. */
  readonly replays: number;
  /** The run that this one replays; `null`: it was started for itself. */
  readonly replayOf: ReplayOf | null;
  /** `null`: nobody's child. */
  readonly parent: Parent | null;
  /** `null`: it takes turns with nobody. */
  readonly limit: RunLimit | null;
  /** By name of what is used. */
  readonly budgets: Readonly<Record<string, Budget>>;
  /** It is to have ended by then; `null`: whenever. */
  readonly deadlineAt: number | null;
  /** Where it was before it moved to today's version; `null`: it has not moved. */
  readonly migratedFrom: Migrated | null;
  /** The first revision whose log entry is still kept. */
  readonly logFrom: number;
  /** The newest revision whose log entry says where the machine stood; `null`: none does. */
  readonly logMark: number | null;
  /** Where a partial unwind may go back to, oldest first; only of sagas that have such states. */
  readonly savepoints: readonly Savepoint[];
  /** Highest inbox position looked at. */
  readonly seen: number;
  readonly attributes: Readonly<Record<string, Json>>;
  /** Bytes of its input and of the inputs and outputs of its rows, as JSON (`size.ts`). */
  readonly bytes: number;
  readonly createdAt: number;
  readonly startAt: number;
  readonly endedAt: number | null;
  /** Digest of the newest log entry; chains the log. */
  readonly logDigest: string;
}

/**
 * One thing a commit took into account, as the log tells it. `begun`, `told`, `timer` and `event` (unless forbidden) moved
 * the machine, in this order, except where it was `refused`, which then follows at once (`fold.ts`).
 */
export type Taken =
  | {
      readonly what:
        | "created"
        | "begun"
        | "resumed"
        | "restored"
        | "parked"
        | "unwinding"
        | "ended"
        | "defect"
        | "refused"
        | "missing";
      readonly note?: string;
    }
  | {
      readonly what: "sent" | "offered" | "withdrawn" | "abandoned" | "taken_back" | "interrupted" | "progress";
      readonly seq: number;
    }
  /** An action asked for a tool: a new row, or (`again`) one that is there. */
  | { readonly what: "tool"; readonly seq: number; readonly again?: true }
  /** How the row stands to its intent now. */
  | { readonly what: "intent"; readonly seq: number; readonly state: IntentState; readonly owner?: string }
  /** The registry of intents knows what became of the row. */
  | { readonly what: "published"; readonly seq: number; readonly became: IntentWord }
  | {
      readonly what: "outcome";
      readonly seq: number;
      readonly send: number;
      readonly outcome: "succeeded" | "not_applied" | "unknown";
      readonly proof: Proof;
    }
  /** The machine was told that the row succeeded (with the row's output), or failed. */
  | { readonly what: "told"; readonly seq: number; readonly failure: Json }
  | { readonly what: "probed"; readonly seq: number; readonly answer: "happened" | "absent" | "cannot_tell" }
  | { readonly what: "undo"; readonly seq: number; readonly state: UndoState; readonly note?: string }
  | { readonly what: "timer"; readonly id: string }
  | {
      readonly what: "event";
      readonly id: string;
      readonly type: string;
      readonly payload: Json;
      readonly forbidden?: true;
    }
  | {
      readonly what: "verb";
      readonly verb: Verb;
      readonly review: number;
      readonly by: string;
      readonly payload: Json;
      readonly plan?: string;
    }
  | {
      /** An `undo` that was not done is `refused`, which then follows at once and says why. */
      readonly what: "control";
      readonly control: "cancel" | "pause" | "resume" | "undo";
      readonly by: string;
      readonly reason: string;
      readonly despitePivot?: true;
      /** Of a cancel that does not compensate. */
      readonly mode?: "stop" | "kill";
      readonly plan?: string;
    }
  /** How it stands with people's word on a row: `by` whom, where somebody has said something. */
  | {
      readonly what: "approval";
      readonly seq: number;
      readonly n: number;
      readonly state: RowApproval["state"] | DecisionKind | "delegate" | "answer" | "escalated" | "refused";
      readonly by?: string;
      readonly note?: string;
    }
  /** How it stands with the run that a row has started. */
  | { readonly what: "child"; readonly seq: number; readonly status: RunStatus }
  | { readonly what: "turn_taken"; readonly state: RunLimit["state"] }
  | {
      readonly what: "budget";
      readonly name: string;
      readonly used: number;
      readonly passed?: "soft" | "hard";
      readonly raised?: number;
    }
  /** The time of a row is over, or (`null`) that of the run. */
  | { readonly what: "deadline"; readonly seq: number | null }
  | {
      /** It moved to another version, from `base` on; without it, it was `refused`, which then follows at once. */
      readonly what: "migrated";
      readonly from: number;
      readonly to: number;
      readonly by: string;
      readonly reason: string;
      readonly base?: LogBase;
    }
  /** From here on the log can be read by itself. */
  | { readonly what: "stood"; readonly base: LogBase }
  /** What came after a savepoint is undone: the machine stands there again, and asks for its steps as new rows. */
  | { readonly what: "rewound"; readonly state: string; readonly start: ForkStart }
  | { readonly what: "late"; readonly seq: number; readonly send: number; readonly outcome: string }
  | { readonly what: "unconsumed" | "discarded"; readonly slot: string };

/** One revision of a run. Element n of the log is revision n. */
export interface LogEntry {
  readonly revision: number;
  readonly at: number;
  readonly from: RunStatus | null;
  readonly to: RunStatus;
  readonly taken: readonly Taken[];
  /** Who moved it: a worker's incarnation, `client`, or a person. */
  readonly actor: string;
  readonly fence: number;
  /** Digest of the snapshot after it (with the entry's own facts) chained to the entry before. */
  readonly digest: string;
}

/** What was sent to a run and not yet consumed. `slot` decides who wins (design section 4, Inbox). */
export interface InboxEntry {
  readonly slot: string;
  /** A counter of the run, never reused. */
  readonly position: number;
  readonly commandId: string;
  readonly at: number;
  readonly by: string;
  readonly body: InboxBody;
}

/** What a late or remote worker reports of a call. */
export type CallResult =
  | { readonly kind: "succeeded"; readonly output: Json }
  | { readonly kind: "unusable"; readonly output: Json; readonly problem: string }
  | {
      readonly kind: "not_applied" | "unknown";
      readonly code: string | null;
      readonly message: string;
      /** `fail()`: no retry, the author has decided. */
      readonly final: boolean;
      readonly reason: "error" | "timeout" | "fail";
      readonly retryAfterMs: number | null;
    }
  /** The grant was never used: proof that nothing happened. */
  | { readonly kind: "not_called"; readonly reason: string }
  /** It was stopped in the middle because one of its tools cannot be answered now; it is made again. */
  | { readonly kind: "suspended"; readonly reason: string }
  | { readonly kind: "defect"; readonly message: string };

/** What a request was decided on; absent where nobody said. */
export interface Shown {
  /** It counts for this revision alone. */
  readonly revision?: number;
  /** The plan that it executes. */
  readonly plan?: string;
}

export type InboxBody =
  | { readonly type: "event"; readonly event: string; readonly payload: Json }
  | { readonly type: "cancel"; readonly mode: Cancel["mode"]; readonly reason: string }
  | { readonly type: "control"; readonly control: "pause" | "resume"; readonly reason: string }
  | ({ readonly type: "undo"; readonly reason: string; readonly despitePivot: boolean } & Shown)
  | ({ readonly type: "verb"; readonly verb: VerbCommand } & Shown)
  | {
      readonly type: "settle" | "late";
      readonly seq: number;
      readonly send: number;
      readonly side: "action" | "undo";
      readonly result: CallResult;
    }
  /** What a person says of what a row asks. `shown`: the digest of what was on the screen. */
  | {
      readonly type: "decide";
      readonly seq: number;
      readonly n: number;
      readonly shown: string;
      readonly as: Principal;
      readonly decision: ApprovalWord;
    }
  /** A run that a row has started has moved; its own record says how. */
  | { readonly type: "child"; readonly seq: number; readonly run: string }
  /** It may be this run's turn. */
  | { readonly type: "turn" }
  | { readonly type: "migrate"; readonly to: number; readonly hash: string; readonly reason: string }
  /** What became of an intent that a row of this run waits for, or whose outcome it has reused. */
  | {
      readonly type: "intent";
      readonly seq: number;
      readonly owner: string;
      readonly became: IntentWord;
    };

/** A person's word on an approval. */
export type ApprovalWord =
  | { readonly is: "approve"; readonly reason: string | null; readonly input?: Json; readonly form?: Json }
  | { readonly is: "reject"; readonly reason: string }
  | { readonly is: "ask_back" | "answer"; readonly text: string }
  | { readonly is: "delegate"; readonly to: string; readonly reason: string | null };

/** A verb with its arguments, as an operator sends it. */
export type VerbCommand =
  | { readonly verb: "probe" }
  | {
      readonly verb: "resolve";
      readonly as: "happened" | "absent";
      readonly output: Json;
      readonly reference: string | null;
      readonly evidence: string;
    }
  | { readonly verb: "retry"; readonly input: Json | undefined; readonly reason: string }
  | { readonly verb: "skip"; readonly reason: string }
  | { readonly verb: "discard"; readonly reason: string }
  | {
      readonly verb: "rewind";
      /** Id of a state tagged `savepoint`. */
      readonly to: string;
      readonly reason: string;
      /** Although a point of no return was passed since, or what stays would be made again. */
      readonly despite: boolean;
    }
  | { readonly verb: "compensate"; readonly reason: string }
  /** Gives a budget a new hard limit. */
  | { readonly verb: "raise"; readonly budget: string; readonly to: number; readonly reason: string }
  | { readonly verb: "close"; readonly reason: string };

/** A value that is kept outside the store and cannot be had. */
export interface MissingValue {
  /** In plain words: which value of what. */
  readonly where: string;
  /** SHA-256 of its content, in hex. */
  readonly hash: string;
  readonly bytes: number;
  /** `no_store`: this process was not told where such values are kept. */
  readonly why: "gone" | "damaged" | "no_store";
}

/** A run as its driver holds it: record, whole ledger (row seq at index seq - 1), and the inbox, oldest first. */
export interface Run {
  readonly record: RunRecord;
  readonly rows: readonly Row[];
  readonly inbox: readonly InboxEntry[];
  /** Values that were not there when the run was acquired (`hold.ts`). Absent where none is missing. */
  readonly missing?: readonly MissingValue[];
}

/** Has it ended? An ended run is moved only by a late result or an undo. */
export function hasEnded(status: RunStatus): status is "completed" | "failed" | "cancelled" {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** The one spelling of a run in keys, job ids and messages. */
export function runKey(run: RunRef): string {
  return `${run.tenant}:${run.id}`;
}
