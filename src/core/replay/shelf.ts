/**
 * Where plans and batches lie until they are executed, as a port. Owns the words; adapters are the stores.
 *
 * 1. What is put there stands: it is executed, or it expires, and nobody changes it. A batch may be suspended meanwhile.
 * 2. Of those who take it one wins, and is answered the same again and again; the others are told who.
 * 3. What has expired is not there any more, whether or not the store has removed it.
 * 4. Whoever asks after a suspension was acknowledged is told of it.
 */

import type { Json } from "../../saga/index.ts";
import type { Act } from "../telling/acts.ts";
import type { Suspension } from "./suspension.ts";

export interface PutPlanCommand {
  readonly id: string;
  readonly body: Json;
  /** Store time, ms. */
  readonly expiresAt: number;
  /** It is a batch: it can be listed. */
  readonly isBatch?: boolean;
}

/** A batch that can still be executed. */
export interface ListedBatch {
  readonly id: string;
  readonly expiresAt: number;
}

export interface TakePlanCommand {
  readonly id: string;
  readonly by: string;
  /** Taking it again with it is answered `DUP`. */
  readonly commandId: string;
  /** Whose act it is, to be kept with it; left out: nobody's. */
  readonly act?: Act;
}

/** Who has taken a plan. */
export interface Taker {
  readonly by: string;
  readonly commandId: string;
}

/** A plan or batch as it lies there. */
export interface KeptPlan {
  readonly body: Json;
  readonly expiresAt: number;
  readonly taken: Taker | null;
  /** What came of the items of a batch, by place. */
  readonly results: Readonly<Record<string, Json>>;
  /** `null`: it may be executed. */
  readonly suspended: Suspension | null;
}

export interface SetSuspensionCommand {
  /** Of a batch. */
  readonly id: string;
  /** Who suspends it and why; `null`: it is resumed. */
  readonly suspended: Omit<Suspension, "at"> | null;
  /** Kept with it where something is changed by it. */
  readonly act: Act;
}

/** How a batch stood before a word, and stands after it: equal, where it has changed nothing. */
export interface Suspended {
  readonly was: Suspension | null;
  readonly suspended: Suspension | null;
}

type Timed<Answer> = Answer & { readonly now: number };

/** The one place where plans and batches are kept. */
export interface PlanShelf {
  /** `EXISTS`: there is one under this id, and it stands. */
  putPlan(command: PutPlanCommand): Promise<Timed<{ readonly answer: "OK" | "EXISTS" }>>;
  getPlan(id: string): Promise<Timed<({ readonly answer: "OK" } & KeptPlan) | { readonly answer: "ABSENT" }>>;
  takePlan(
    command: TakePlanCommand,
  ): Promise<Timed<{ readonly answer: "OK" | "DUP" | "ABSENT" } | ({ readonly answer: "TAKEN" } & Taker)>>;
  /** Batches that have not expired, the last to expire first. */
  listBatches(limit: number): Promise<Timed<{ readonly batches: readonly ListedBatch[] }>>;
  /** What came of one item of a batch; the first word stands (`KNOWN`). */
  noteResult(id: string, item: number, result: Json): Promise<Timed<{ readonly answer: "OK" | "KNOWN" | "ABSENT" }>>;
  /** Suspends a batch (of two the first counts), or resumes it. */
  setSuspension(
    command: SetSuspensionCommand,
  ): Promise<Timed<({ readonly answer: "OK" } & Suspended) | { readonly answer: "ABSENT" }>>;
  /** Whether a batch is suspended, and nothing else of it: cheap enough to be asked before each item. */
  getSuspension(
    id: string,
  ): Promise<Timed<{ readonly answer: "OK"; readonly suspended: Suspension | null } | { readonly answer: "ABSENT" }>>;
}
