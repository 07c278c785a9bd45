/** What tests of core say of a child: how it was found when a request to it came back. */

import { z } from "zod";
import type { ChildSeen, RunStatus } from "../../src/core/index.ts";
import { child, type Step, saga } from "../../src/saga/index.ts";
import { call } from "./play-sagas.ts";

type SeenRun = Extract<ChildSeen, { readonly is: "run" }>;

/** A saga that is run as a child. */
const paying = saga("paying", { version: 1, input: z.json() })
  .step(call("pay"), () => ({}))
  .build();
/** It as a step, called `order`. */
export const ordered = child(paying, { name: "order" }) as Step;
/** It as a step that nobody waits for, called `audit`. */
export const audited = child(paying, { name: "audit", detached: true }) as Step;

export interface Found extends Partial<Omit<SeenRun, "is" | "child">>, Partial<SeenRun["child"]> {}

export function found(status: RunStatus, more: Found = {}): SeenRun {
  const { run = "r1.1", rollback = "none", revision = 2, why = null, rests, used, short, ...rest } = more;
  const cause =
    status === "failed" ? ({ kind: "step_failed", step: "pay", message: "declined", reference: null } as const) : null;
  const said = { ...(rests ? { rests } : {}), ...(used ? { used } : {}), ...(short ? { short } : {}) };
  const child = { run, status, rollback, revision, why, ...said };
  return { is: "run", child, output: null, cause, asked: null, isPending: false, ...rest };
}

export const running = found("running");
export const completed = found("completed", { output: { id: "paid" }, revision: 5 });
/** It has failed, and undone all that it did. */
export const failedClean = found("failed", { rollback: "complete", revision: 9 });
/** It has failed, and a person has left something of it. */
export const failedInPart = found("failed", { rollback: "partial", revision: 9 });
export const parked = found("needs_review", { why: "pay may have happened", revision: 4 });
export const goneBack = found("cancelled", { rollback: "complete", revision: 12 });
