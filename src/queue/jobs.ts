/**
 * How a nudge is spelled as a BullMQ job, and read back. A job carries no data but for the eye: its id says everything, so
 * that adding it twice is one job (BullMQ refuses `:` in ids, and `~` is in no id of ours).
 */
import type { DeadLetterRef, RunRef, StepJob, WakeUp } from "../core/index.ts";

const wakePattern = /^([A-Za-z0-9_.-]{1,64})~([A-Za-z0-9_.-]{1,64})\.(\d{1,15})$/;
const stepPattern = /^([A-Za-z0-9_.-]{1,64})~([A-Za-z0-9_.-]{1,64})\.(\d{1,15})\.(\d{1,15})(~undo)?$/;

const letterPattern = /^([A-Za-z0-9_.-]{1,64})~([A-Za-z0-9_.-]{1,64})~(\d{1,15})$/;

/** `<tenant>~<id>.<wake>`. */
export function wakeJobId(wakeUp: Pick<WakeUp, "run" | "wake">): string {
  return `${wakeUp.run.tenant}~${wakeUp.run.id}.${wakeUp.wake}`;
}

/** `<tenant>~<id>.<seq>.<send>`, with `~undo` for the compensation of the row: it has sends of its own. */
export function stepJobId(job: Pick<StepJob, "run" | "seq" | "send" | "side">): string {
  const undo = job.side === "undo" ? "~undo" : "";
  return `${job.run.tenant}~${job.run.id}.${job.seq}.${job.send}${undo}`;
}

/** The run a wake-up job asks for; `null`: not one of ours. */
export function parseWakeJob(jobId: string | undefined): RunRef | null {
  const [, tenant, id] = wakePattern.exec(jobId ?? "") ?? [];
  return tenant === undefined || id === undefined ? null : { tenant, id };
}

/** The call a step job offers; `null`: not one of ours. */
export function parseStepJob(jobId: string | undefined, queue: string, priority: number): StepJob | null {
  const [, tenant, id, seq, send, undo] = stepPattern.exec(jobId ?? "") ?? [];
  if (tenant === undefined || id === undefined) return null;
  const side = undo === undefined ? "action" : "undo";
  return { run: { tenant, id }, seq: Number(seq), send: Number(send), side, queue, priority };
}

/** `<tenant>~<id>~<review>`. */
export function letterJobId({ run, review }: DeadLetterRef): string {
  return `${run.tenant}~${run.id}~${review}`;
}

/** The review a job of the dead letters stands for; `null`: not one of ours. */
export function parseLetterJob(jobId: string | undefined): DeadLetterRef | null {
  const [, tenant, id, review] = letterPattern.exec(jobId ?? "") ?? [];
  return tenant === undefined || id === undefined ? null : { run: { tenant, id }, review: Number(review) };
}

/** Put into every queue of wake-ups from time to time: whoever takes it shows that jobs come through. No id of a run. */
export const canaryJob = "canary";

/** BullMQ prefix of one lane of wake-up queues; one hash tag, so that a queue's keys share a Cluster slot. */
export function lanePrefix(namespace: string, lane: number): string {
  return `{reprise:${namespace}:w${lane}}`;
}

/** Named step queues live in one lane, so that their rate limits hold for the whole namespace. */
export const stepLane = 0;

/** Parked runs as failed jobs, in the lane of the step queues. */
export const deadLetterQueue = "dead-letter";

/** What makes schedules tick, in the lane of the step queues. */
export const scheduleQueue = "schedules";

export function poolQueue(pool: string): string {
  return `pool-${pool}`;
}

export function stepQueue(queue: string): string {
  return `step-${queue}`;
}
