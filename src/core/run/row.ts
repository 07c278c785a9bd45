/** A row of the ledger: one step as it was asked for, its call, and its undoing. Shapes only; `core/rows.ts` reads them. */
import type { EffectClass, Json } from "../../saga/index.ts";
import type { Failure } from "./basics.ts";
import type { RowChild, Shares } from "./company.ts";
import type { RowApproval } from "./people.ts";

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

/** A process that was given a send to make. */
export interface Sender {
  readonly send: number;
  /** The owner of the lease, or of the permit, under which it was given. */
  readonly owner: string;
}

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
  /**
   * Who was given a send of it, has not said what became of that and is not known to be gone: it may still send it, whatever
   * the deadline. Only where a probe can be asked (`calls/senders.ts`).
   */
  readonly senders: readonly Sender[];
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
  /** Of an item of a list: its place there, from 0. */
  readonly at?: number;
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
  /** What that run may use of this one's budgets, in all; absent where there are none. */
  readonly shares?: Shares;
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
