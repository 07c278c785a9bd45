/**
 * What goes into a decision and what comes out of it. `decide.ts` owns how one follows from the other.
 */

import type { Json, Uses } from "../saga/index.ts";
import type { Commit } from "./commit.ts";
import type { ClaimIntentAnswer, IntentOutcome, IntentRef } from "./company/intents.ts";
import type { AskTurnAnswer, AskTurnCommand, GiveTurnCommand, TurnRef } from "./company/turns.ts";
import type { Machine } from "./machine/port.ts";
import type { PermitState } from "./ports.ts";
import type { CallResult, ChildSeen, InboxEntry, IntentWord, Parent, ReplayOf, Run, Shares } from "./run/index.ts";

/** What a driver learnt since its last commit, in the order in which it learnt it. */
export type DriverFact =
  /** The lease was won. `takenFrom` as the store said; `permits` are the live and expired permits of offered rows. */
  | {
      readonly type: "acquired";
      /** What this process remembers of the run, where the store has forgotten it (`isForgotten`). */
      readonly remembered?: Remembered;
      readonly takenFrom: { readonly owner: string; readonly died: boolean } | null;
      readonly permits: readonly PermitState[];
    }
  /** A call made by this driver came back. */
  | {
      readonly type: "result";
      readonly seq: number;
      readonly send: number;
      readonly side: "action" | "undo";
      readonly result: CallResult;
    }
  /** A child was started, looked at, or asked to go back by this driver. */
  | {
      readonly type: "child";
      readonly seq: number;
      readonly send: number;
      readonly side: "action" | "undo";
      readonly seen: ChildSeen;
    }
  /** A probe made by this driver came back (`output` encoded; a throw is `cannot_tell`). */
  | {
      readonly type: "probed";
      readonly seq: number;
      readonly side: "action" | "undo";
      readonly answer: "happened" | "absent" | "cannot_tell";
      readonly output: Json;
      /** The output did not fit the step's schema. */
      readonly unusable: boolean;
      readonly note: string | null;
      /** Of those who might still have sent it: who was known to be gone before it was asked; nobody where it is left out. */
      readonly gone?: readonly string[];
    }
  /** A long step says how far it has come. */
  | { readonly type: "progress"; readonly seq: number; readonly send: number; readonly cursor: Json }
  /** An action says what it has used; with a `key` (not `null`) it counts once. */
  | {
      readonly type: "spend";
      readonly seq: number;
      readonly send: number;
      readonly uses: Uses;
      readonly key: Json;
    }
  /** The registry has answered a claim; `theirs`: what the owner of a conflict was given, where it could be read. */
  | {
      readonly type: "claimed";
      readonly seq: number;
      readonly claim: number;
      readonly answer: ClaimIntentAnswer;
      readonly theirs: Json;
    }
  /** The registry knows what became of a claim, and everybody who listens was told. */
  | {
      readonly type: "published";
      readonly seq: number;
      readonly claim: number;
      readonly became: IntentWord;
    }
  /** The line has answered whether it is the run's turn. */
  | {
      readonly type: "turn";
      readonly answer: AskTurnAnswer;
      /** Under which it was asked. */
      readonly asked: number;
    }
  /** The line has heard that the run is over, and whose turn it may be now was told. */
  | { readonly type: "turn_given" }
  /** An action of this driver asks for one of its tools. */
  | ({ readonly type: "tool" } & ToolAsk)
  /** Newer inbox entries were delivered with an answer. */
  | { readonly type: "inbox"; readonly entries: readonly InboxEntry[] }
  /** A commit was answered `PERMITTED`. */
  | { readonly type: "permitted"; readonly permits: readonly PermitState[] }
  /** Time has passed: something may be due. */
  | { readonly type: "tick" }
  /** The worker is told to stop: hand the run back at the next safe point. */
  | { readonly type: "stopping" };

/** What a process remembers of a run: its newest commit that the store has acknowledged to it. */
export interface Remembered {
  readonly revision: number;
  readonly digest: string;
  /** Store time of that commit. */
  readonly at: number;
  /** The run after it; `null`: it was too long ago. */
  readonly run: Run | null;
  /** The store was asked, and its log says otherwise. */
  readonly isDenied: boolean;
}

/** A request of an action for one of its tools. */
export interface ToolAsk {
  /** Tells this request from all others. */
  readonly ask: string;
  /** The row and send of the action that asks. */
  readonly parent: number;
  readonly send: number;
  /** Name of the tool's step. */
  readonly tool: string;
  /** By what a repeat is known within the step; `null`: it is a request of its own each time. */
  readonly key: Json;
  /** Its business key, known to all runs of the tenant; `null`: none was given. */
  readonly intent: Json;
  /** Encoded. */
  readonly input: Json;
}

/** Bounds and waits of the engine that decisions depend on, in ms unless the name says otherwise (design section 5). */
export interface DecideSettings {
  readonly startWithinMs: number;
  readonly abortGraceMs: number;
  readonly inlineWaitMs: number;
  readonly quiesceMs: number;
  readonly barrierMs: number;
  /** How long a row waits for the owner of its intent before a person is asked. */
  readonly intentWaitMs: number;
  /** The most a run may hold in inputs and outputs. */
  readonly maxRunBytes: number;
  /** The newest log entries that are kept, at least; twice as many at most. */
  readonly logEntries: number;
  /** How long a run is kept after its end, where its saga says nothing; `null`: for ever. */
  readonly retentionMs: number | null;
}

/** Everything a decision needs that is not in the run. Time, ids and chance come in as values. */
export interface DecideInput {
  readonly machine: Machine;
  readonly namespace: string;
  readonly settings: DecideSettings;
  readonly now: number;
  readonly commitId: string;
  /** In [0, 1): jitter. */
  readonly random: number;
  readonly actor: string;
  readonly fence: number;
  /** What this driver has under way: `action:<seq>`, `undo:<seq>`, `probe:<seq>`, `claim:<seq>`, `publish:<seq>`, `turn:ask`, `turn:give`. */
  readonly inFlight: ReadonlySet<string>;
}

/** A call the driver is to make after the commit is acknowledged. */
export interface CallOrder {
  readonly kind: "action" | "undo" | "probe";
  readonly seq: number;
  /** For a probe: of which side. */
  readonly side: "action" | "undo";
  readonly send: number;
  readonly attempt: number;
  /** The stable id of the effect: a compensation's own for `undo` (and for a probe of it). */
  readonly operationId: string;
  readonly forwardOperationId: string;
  /** Abort after this; a time-out makes the outcome unknown. */
  readonly timeoutMs: number;
  /** Must wait for a durable store before it is made (`once`). */
  readonly barrier: boolean;
}

/** A row to be offered to a named queue after the commit is acknowledged. */
export interface Offer {
  readonly seq: number;
  readonly send: number;
  readonly side: "action" | "undo";
  readonly queue: string;
}

/** A claim of an intent, to be sent after the commit is acknowledged. */
export interface ClaimOrder {
  readonly seq: number;
  readonly claim: number;
  readonly intent: IntentRef;
  readonly owner: string;
  readonly argsHash: string;
}

/** What became of a claim, to be published after the commit is acknowledged. */
export interface PublishOrder {
  readonly seq: number;
  readonly claim: number;
  readonly intent: IntentRef;
  readonly owner: string;
  readonly became: IntentOutcome;
}

/** What is to be said to the line that a run stands in, after the commit is acknowledged. */
export type TurnOrder = {
  readonly turn: TurnRef;
  readonly limit: number;
  readonly startedAt: number;
} & (
  | { readonly kind: "ask"; readonly asked: AskTurnCommand["asked"] }
  | { readonly kind: "give"; readonly asked: GiveTurnCommand["asked"] }
);

export interface Decision {
  /** `null`: there is nothing to write. */
  readonly commit: Commit | null;
  /** The run after the commit (or as given). */
  readonly run: Run;
  readonly calls: readonly CallOrder[];
  readonly offers: readonly Offer[];
  readonly claims: readonly ClaimOrder[];
  readonly publishes: readonly PublishOrder[];
  readonly turn: TurnOrder | null;
  /** Keys of `inFlight` whose signals are to be aborted. */
  readonly abort: readonly string[];
  /** Next time something is due by itself, also while calls are in flight; `null`: nothing. */
  readonly wanted: number | null;
  /** `hold`: keep the lease and wait for results or `wanted`. `released`: the commit gave it back. `release`: give it back by `release` (nothing to write). */
  readonly then: "hold" | "released" | "release";
}

/** What `begin` needs to make a run's first record. */
export interface BeginInput {
  readonly machine: Machine;
  readonly hash: string;
  readonly tenant: string;
  readonly id: string;
  /** Encoded and checked against the saga's schema. */
  readonly input: Json;
  readonly priority: number;
  readonly now: number;
  /** Not before this store time. */
  readonly startAt: number;
  /** Of a run that replays another one. */
  readonly replays?: number;
  readonly replayOf?: ReplayOf;
  /** The W3C traceparent under which it is started; none unless given. */
  readonly trace?: string | null;
  /** Of a run that another one starts as a step. */
  readonly parent?: Parent;
  /** What it may use of that one's budgets. */
  readonly shares?: Shares;
}
