/**
 * Owns: the story: what is started, what goes wrong on purpose, and what is told while it happens. Does not own: whether
 * a chapter went as told; that is judged afterwards, from the world's file (checks.ts).
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { RunHandle, RunView } from "../../client/index.ts";
import { claimsOf } from "./claims.ts";
import { follow } from "./follow.ts";
import { patiently, unlessAborted } from "./patience.ts";
import { approveLess, tellAsking, tryAsAgent } from "./people.ts";
import type { Stage } from "./stage.ts";
import type { PlayedChapter, PlayedRun } from "./story.ts";

const chapterTimeoutMs = 30_000;
const pollMs = 20;
const anOrder = { sku: "blue-mug", cents: 1_850, email: "ada@example.com" };

interface Chapter {
  readonly key: string;
  readonly name: string;
  /** Plays it; `signal` ends it when it takes too long. */
  play(stage: Stage, signal: AbortSignal): Promise<Played>;
}

interface Played {
  readonly run: RunHandle;
  readonly killed?: PlayedChapter["killed"];
}

export const chapters: readonly Chapter[] = [
  { key: "completes", name: "an order completes", play: playOrder },
  { key: "killed", name: "a worker is killed after the charge was applied, before it was recorded", play: playKill },
  { key: "refused", name: "shipping is refused: refund, then release", play: playRefusal },
  { key: "parked", name: "a mail nobody can know about is parked, not sent twice", play: playLostMail },
  { key: "trip", name: "flight and hotel in parallel: the hotel fails, the flight is cancelled", play: playTrip },
  {
    key: "resolved",
    name: "an operator looks, says what became of a parked mail, and the run goes on",
    play: playResolve,
  },
  {
    key: "support",
    name: "a support agent's note times out: the CRM is asked, and not written twice",
    play: playSupport,
  },
  {
    key: "agent",
    name: "an agent is killed over a refund, and asks again, twice and in other words: one refund",
    play: playAgent,
  },
  {
    key: "approval",
    name: "a refund above the agent's limit waits for a person, who lowers it; an agent may not approve",
    play: playApproval,
  },
];

/** Plays one chapter to its end. What goes wrong is a problem of the chapter; only an abort of the stage is thrown. */
export async function playChapter(stage: Stage, chapter: Chapter, number: number): Promise<PlayedChapter> {
  const { narrator, signal } = stage;
  narrator.say(`\n${narrator.colors.bold(`${number}  ${chapter.name}`)}`);
  const limit = AbortSignal.timeout(chapterTimeoutMs);
  const { key, name } = chapter;
  try {
    const { run, killed = null } = await chapter.play(stage, AbortSignal.any([signal, limit]));
    return { key, name, killed, problems: [], ...(await playedBy([run], signal)) };
  } catch (error) {
    signal.throwIfAborted();
    const problem = limit.aborted ? `it took longer than ${chapterTimeoutMs / 1_000} s` : String(error);
    narrator.say(`    ${narrator.colors.red("✗")} ${problem}`);
    return { key, name, runs: [], claims: [], killed: null, problems: [problem] };
  } finally {
    narrator.live(null);
  }
}

/** What the store says of runs that are over: their state, and the claims of their ledgers. */
export async function playedBy(
  handles: readonly RunHandle[],
  signal: AbortSignal,
): Promise<Pick<PlayedChapter, "runs" | "claims">> {
  const read = (run: RunHandle) => patiently(async () => ({ view: await run.get(), rows: await run.ledger() }), signal);
  const runs = await Promise.all(handles.map(read));
  return {
    runs: runs.map(({ view }) => played(view)),
    claims: runs.flatMap(({ view, rows }) => claimsOf(view.id, rows)),
  };
}

function played({ id, saga, status, rollback, review }: RunView): PlayedRun {
  return { id, saga, status, rollback, review: review?.reason ?? null };
}

function start({ client, signal }: Stage, saga: string, input: { readonly id: string }): Promise<RunHandle> {
  return patiently(() => client.startByName(saga, input, { id: input.id }), signal);
}

function startOrder(stage: Stage, id: string): Promise<RunHandle> {
  return start(stage, "order", { id, ...anOrder });
}

async function playOrder(stage: Stage, signal: AbortSignal): Promise<Played> {
  const run = await startOrder(stage, "order-1");
  tellEnd(await following(run, stage, signal), stage);
  return { run };
}

async function playKill(stage: Stage, signal: AbortSignal): Promise<Played> {
  const start = () => startOrder(stage, "order-2");
  return await killOver(stage, { service: "payments", action: "charge" }, start, signal);
}

/** An effect is applied and not answered, and the worker that waits for it is killed. */
async function killOver(
  stage: Stage,
  call: { readonly service: string; readonly action: string },
  begin: () => Promise<RunHandle>,
  signal: AbortSignal,
): Promise<Played> {
  const { world, narrator } = stage;
  const { red, dim } = narrator.colors;
  await world.fault({ ...call, kind: "apply-then-hang" });
  const run = await begin();
  const told = following(run, stage, signal);
  const held = await unlessAborted(world.nextHeld(call, { signal }), signal);
  const pid = held.pid ?? -1;
  narrator.say(`    ${dim("world:")} the ${call.action} is applied, its answer withheld from worker ${pid}`);
  const exit = await stage.killWorker(pid);
  const killedAt = performance.now();
  narrator.say(`    ${red(`kill -9 ${pid}`)} ${dim(`the worker is gone (${exit.signal})`)}`);
  narrator.live("another worker takes over");
  tellEnd(await told, stage);
  const successor = stage.pidOf((await run.log()).at(-1)?.actor) ?? "unknown";
  narrator.say(`    ${dim(`worker ${successor} took over: done ${seconds(killedAt)} after the kill`)}`);
  return { run, killed: { pid, signal: exit.signal } };
}

async function playRefusal(stage: Stage, signal: AbortSignal): Promise<Played> {
  const target = { service: "shipping", action: "ship", args: { orderId: "order-3" } };
  const message = "no carrier goes there";
  await stage.world.fault({ ...target, kind: "refuse", code: "no_carrier", message, times: "always" });
  const run = await startOrder(stage, "order-3");
  tellEnd(await following(run, stage, signal), stage);
  return { run };
}

async function playLostMail(stage: Stage, signal: AbortSignal): Promise<Played> {
  await stage.world.fault({ service: "mail", action: "send", args: { orderId: "order-4" }, kind: "reset-after-apply" });
  const run = await startOrder(stage, "order-4");
  tellEnd(await following(run, stage, signal), stage);
  return { run };
}

/** The hotel's line breaks before it has booked, once the flight is booked; asked again, the hotel says no. */
async function playTrip(stage: Stage, signal: AbortSignal): Promise<Played> {
  const { world, narrator } = stage;
  const hotel = { service: "hotels", action: "book" };
  await world.fault({ ...hotel, kind: "hang-before-apply" });
  await world.fault({ ...hotel, kind: "refuse", code: "sold_out", message: "the hotel is sold out", times: "always" });
  const booking = { flight: "LIS-OSL", hotel: "Grand Hotel", email: "ada@example.com" };
  const run = await start(stage, "trip", { id: "trip-5", ...booking });
  const told = following(run, stage, signal);
  const held = await unlessAborted(world.nextHeld(hotel, { signal }), signal);
  while ((await world.countsOf("flights")).effects === 0) await sleep(pollMs, undefined, { signal });
  narrator.say(`    ${narrator.colors.dim("world:")} the flight is booked, the line to the hotel breaks`);
  await held.drop();
  tellEnd(await told, stage);
  return { run };
}

/** As a person would: reads what the run says, looks into the mail server's own list, and answers with what stands there. */
async function playResolve(stage: Stage, signal: AbortSignal): Promise<Played> {
  const { world, narrator } = stage;
  const { dim } = narrator.colors;
  await world.fault({ service: "mail", action: "send", args: { orderId: "order-6" }, kind: "reset-after-apply" });
  const run = await startOrder(stage, "order-6");
  await following(run, stage, signal);
  const { attempted, text } = await patiently(() => run.explain(), signal);
  for (const line of text.split("\n")) narrator.say(`    ${dim(line)}`);
  const mail = attempted.find(({ known }) => known === "may have happened");
  if (mail === undefined) throw new Error("no effect of this run is in doubt");
  const sent = (await world.effects()).find(({ operationId }) => operationId === mail.operationId);
  const by = "ada";
  if (sent?.ref === undefined) throw new Error("the mail server lists no such mail");
  const evidence = `the mail server's list shows ${sent.ref}`;
  const output = { messageId: sent.ref };
  await run.operator.resolve({ as: "happened", output, reference: sent.ref, evidence }, { by });
  narrator.say(`    ${by} says it happened: ${dim(evidence)}`);
  await unlessAborted(run.result({ through: "review" }), signal);
  tellEnd(await run.get(), stage);
  return { run };
}

/** The CRM writes the note and never answers: the step times out, and nobody knows. */
async function playSupport(stage: Stage, signal: AbortSignal): Promise<Played> {
  const { world, narrator } = stage;
  const note = { service: "crm", action: "note" };
  await world.fault({ ...note, kind: "apply-then-hang" });
  const ticket = { question: "Where is my parcel?", email: "ada@example.com" };
  const run = await start(stage, "support", { id: "ticket-7", ...ticket });
  const told = following(run, stage, signal);
  await unlessAborted(world.nextHeld(note, { signal }), signal);
  narrator.say(`    ${narrator.colors.dim("world:")} the note is written, the CRM does not answer`);
  tellEnd(await told, stage);
  return { run };
}

/** What the model asks for is in the saga; what came of it is in the ledger. */
async function playAgent(stage: Stage, signal: AbortSignal): Promise<Played> {
  const complaint = { orderId: "order-1", cents: 1_850, email: "ada@example.com" };
  const begin = () => start(stage, "agent", { id: "complaint-8", ...complaint });
  const played = await killOver(stage, { service: "bank", action: "refund" }, begin, signal);
  const { narrator } = stage;
  for (const { step, tool } of await patiently(() => played.run.ledger(), signal)) {
    if (tool === null || tool.asks < 2) continue;
    narrator.say(`    ${narrator.colors.dim(`${step} was asked for ${tool.asks} times, and made once`)}`);
  }
  return played;
}

/** The run asks; an agent answers and is refused; a person answers, and it goes on. */
async function playApproval(stage: Stage, signal: AbortSignal): Promise<Played> {
  const { narrator } = stage;
  const aCase = { orderId: "order-9", cents: 12_000, email: "ada@example.com", openedBy: "eve" };
  const run = await start(stage, "refund", { id: "case-9", ...aCase });
  const told = new Set<string>();
  await follow(run, narrator, signal, { told, until: ({ waitingFor }) => waitingFor === "approval" });
  const [pending] = await patiently(() => run.approvals(), signal);
  if (pending === undefined) throw new Error("it asks nobody");
  tellAsking(pending, narrator);
  await tryAsAgent(run, pending, narrator);
  await approveLess(run, pending, { less: { cents: 9_000 }, reason: "the gift card stays" }, narrator);
  tellEnd(await follow(run, narrator, signal, { told }), stage);
  return { run };
}

/** Follows a run while something is done to it; a failure is thrown to whoever waits for it in the end. */
function following(run: RunHandle, { narrator }: Stage, signal: AbortSignal): Promise<RunView> {
  const told = follow(run, narrator, signal);
  void told.catch(() => {});
  return told;
}

function tellEnd({ id, status, rollback, review, cause }: RunView, { narrator }: Stage): void {
  const { bold, dim } = narrator.colors;
  const came = status === "needs_review" ? "waits for a person" : status;
  const undone = rollback === "none" ? "" : `, rollback ${rollback}`;
  const why = review?.message ?? cause?.message;
  narrator.say(`    ${bold(`${id}: ${came}${undone}`)}${why === undefined ? "" : dim(` (${why})`)}`);
  if (review !== null) narrator.say(`    ${dim(`who may: ${review.verbs.join(", ")}`)}`);
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`;
}
