/**
 * The words of replay: what may be wanted of a run, and the shape of a plan. Decides nothing; `plan.ts` does.
 * Everything here is JSON: plans are stored.
 */
import type { Json } from "../../saga/index.ts";
import type { CallVerdict, Verdict } from "../telling/verdict.ts";
import type { UnwindPreview } from "../unwind/unwind-preview.ts";

/** What is wanted of a run. */
export type ReplayWish =
  /** A parked run goes on: by trying again, or by asking the other side. */
  | { readonly mode: "resume" }
  /** The call that it is parked for is tried again, with other input where given. */
  | { readonly mode: "retry_step"; readonly seq: number; readonly input?: Json }
  /** What it did is undone. */
  | { readonly mode: "compensate_only"; readonly despitePivot: boolean }
  /** The same saga once more, as another run with this id. */
  | { readonly mode: "new_run"; readonly id: string; readonly input?: Json }
  /** Another run with this id, from where this one stood before it asked for a row; what had happened by then is reused. */
  | { readonly mode: "fork"; readonly id: string; readonly seq: number };

export type ReplayMode = ReplayWish["mode"];

/** What executing a plan sends. */
export type ReplayRequest =
  | {
      readonly type: "verb";
      readonly review: number;
      readonly verb: "retry" | "probe" | "compensate";
      readonly input?: Json;
    }
  | { readonly type: "undo"; readonly despitePivot: boolean }
  | { readonly type: "start"; readonly id: string; readonly input: Json }
  | { readonly type: "fork"; readonly id: string; readonly seq: number };

/** What a mode comes to for a run as it lies there. */
export interface Proposal {
  /** What executing it sends; `null`: it cannot be done, as `problem` says. */
  readonly request: ReplayRequest | null;
  readonly problem: string | null;
  /** Why a person has to say that it is meant, although it can be done; empty: it is safe. */
  readonly unsafe: readonly string[];
  /** Every call that it is about, and what becomes of it. */
  readonly calls: readonly CallVerdict[];
}

export interface ReplayPlan extends Proposal {
  readonly id: string;
  readonly tenant: string;
  /** Id of the run. */
  readonly run: string;
  readonly wish: ReplayWish;
  readonly verdict: Verdict;
  readonly safe: boolean;
  /** What undoing it would do; only of `compensate_only`. */
  readonly unwind: UnwindPreview | null;
  /** What it is bound to. */
  readonly revision: number;
  readonly hash: string;
  /** Store time, ms. */
  readonly at: number;
  readonly expiresAt: number;
}
