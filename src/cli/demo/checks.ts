/**
 * Owns: when a chapter went as it is told: what the run came to, and what the world saw in which order. The world's lines
 * are the evidence; the store's word is only taken for how a run ended. Pure.
 */
import type { PlayedChapter, PlayedRun } from "./story.ts";
import { effectsOf, type WitnessLine } from "./witness.ts";

/** What is not as told, one sentence each. */
export type Check = (chapter: PlayedChapter, lines: readonly WitnessLine[]) => readonly string[];

const anOrder = ["stock.reserve", "payments.charge", "shipping.ship", "mail.send"];

/** By the key of the chapter. */
export const checks: Readonly<Record<string, Check>> = {
  completes: (chapter, lines) => [...ended(chapter, "completed"), ...saw(chapter, lines, anOrder)],
  killed: (chapter, lines) => [
    ...ended(chapter, "completed"),
    ...saw(chapter, lines, anOrder),
    ...takenOver(chapter, lines),
  ],
  refused: (chapter, lines) => [
    ...ended(chapter, "failed", "complete"),
    ...saw(chapter, lines, ["stock.reserve", "payments.charge", "payments.refund", "stock.release"]),
  ],
  parked: (chapter, lines) => [
    ...ended(chapter, "needs_review"),
    ...chapter.runs.flatMap((run) => parkedOnUnknown(run)),
    ...saw(chapter, lines, anOrder),
    ...calledOnce(chapter, lines, "mail"),
  ],
  trip: (chapter, lines) => [
    ...ended(chapter, "failed", "complete"),
    ...saw(chapter, lines, ["flights.book", "flights.cancel"]),
    ...wasAsked(chapter, lines, "hotels"),
  ],
  resolved: (chapter, lines) => [
    ...ended(chapter, "completed"),
    ...saw(chapter, lines, anOrder),
    ...calledOnce(chapter, lines, "mail"),
  ],
  support: (chapter, lines) => [
    ...ended(chapter, "completed"),
    ...saw(chapter, lines, ["crm.note", "outbox.queue"]),
    ...calledOnce(chapter, lines, "crm"),
    ...probed(chapter, lines, "crm"),
  ],
  agent: (chapter, lines) => [
    ...ended(chapter, "completed"),
    ...saw(chapter, lines, ["bank.refund", "mail.send"]),
    ...calledOnce(chapter, lines, "bank"),
    ...takenOver(chapter, lines),
  ],
  approval: (chapter, lines) => [
    ...ended(chapter, "completed"),
    ...saw(chapter, lines, ["bank.refund", "mail.send"]),
    ...calledOnce(chapter, lines, "bank"),
    ...calledWith(chapter, lines, { service: "bank", args: { orderId: "order-9", cents: 9_000 } }),
  ],
  // Of a list that may be long, one sentence for each order that went wrong.
  orders: (chapter, lines) => [
    ...ended(chapter, "completed"),
    ...saw({ runs: chapter.runs.filter(({ status }) => status === "completed") }, lines, anOrder),
  ],
};

type Runs = Pick<PlayedChapter, "runs">;

function ended({ runs }: Runs, status: string, rollback?: string): readonly string[] {
  if (runs.length === 0) return ["it was not played"];
  return runs.flatMap((run) => {
    const fits = run.status === status && (rollback === undefined || run.rollback === rollback);
    const wanted = rollback === undefined ? status : `${status} with its rollback ${rollback}`;
    const why = run.review === null ? "" : ` (${run.review})`;
    return fits ? [] : [`${run.id} should be ${wanted}, it is ${run.status}${why} with its rollback ${run.rollback}`];
  });
}

function saw({ runs }: Runs, lines: readonly WitnessLine[], wanted: readonly string[]): readonly string[] {
  return runs.flatMap((run) => {
    const effects = effectsOf(lines, run.id);
    const isAsTold = effects.join() === wanted.join();
    return isAsTold ? [] : [`${run.id}: the world should show ${listed(wanted)}, it shows ${listed(effects)}`];
  });
}

/** The killed process called, and after it another one did. */
function takenOver({ killed, runs }: PlayedChapter, lines: readonly WitnessLine[]): readonly string[] {
  if (killed?.signal !== "SIGKILL") return ["no worker was killed"];
  return runs.flatMap((run) => {
    const callers = lines.flatMap((line) => (line.run === run.id ? (line.pid ?? []) : []));
    const last = callers.lastIndexOf(killed.pid);
    if (last < 0) return [`${run.id}: the worker that was killed had not called anybody`];
    const others = callers.slice(last + 1);
    return others.length > 0 ? [] : [`${run.id}: nobody went on after the worker was killed`];
  });
}

function parkedOnUnknown(run: PlayedRun): readonly string[] {
  if (run.review === "unknown_outcome") return [];
  return [`${run.id} should be parked as unknown_outcome, it is ${run.review ?? "not parked"}`];
}

function calledOnce({ runs }: PlayedChapter, lines: readonly WitnessLine[], service: string): readonly string[] {
  return runs.flatMap((run) => {
    const count = arrivals(lines, run.id, service);
    return count === 1 ? [] : [`${run.id}: ${service} should have been called once, it was called ${count} times`];
  });
}

/** With exactly what was approved. */
function calledWith(
  { runs }: PlayedChapter,
  lines: readonly WitnessLine[],
  { service, args }: { readonly service: string; readonly args: Readonly<Record<string, unknown>> },
): readonly string[] {
  const wanted = JSON.stringify(args);
  return runs.flatMap((run) => {
    const calls = lines.filter((line) => line.run === run.id && line.service === service);
    const others = calls.map((line) => JSON.stringify(line.args)).filter((given) => given !== wanted);
    return others.map((given) => `${run.id}: ${service} should have been called with ${wanted}, it was with ${given}`);
  });
}

function wasAsked({ runs }: PlayedChapter, lines: readonly WitnessLine[], service: string): readonly string[] {
  return runs.flatMap((run) =>
    arrivals(lines, run.id, service) > 0 ? [] : [`${run.id}: ${service} was never called`],
  );
}

/** Asked what became of an operation, which changes nothing. */
function probed({ runs }: PlayedChapter, lines: readonly WitnessLine[], service: string): readonly string[] {
  return runs.flatMap((run) => {
    const isAsked = lines.some((line) => line.kind === "query" && line.run === run.id && line.service === service);
    return isAsked ? [] : [`${run.id}: ${service} was never asked what became of it`];
  });
}

function arrivals(lines: readonly WitnessLine[], run: string, service: string): number {
  return lines.filter((line) => line.kind === "arrival" && line.run === run && line.service === service).length;
}

function listed(words: readonly string[]): string {
  return words.length === 0 ? "nothing" : words.join(", ");
}
