/**
 * What may happen to a run that is played, as functions that a random script picks from: answers of every kind, takeovers,
 * time, verbs, late words. Where a thing cannot happen now, nothing does.
 */
import { type CallResult, hasEnded, type Row, type Verb, type VerbCommand } from "../../src/core/index.ts";
import type { Json } from "../../src/saga/index.ts";
import {
  close,
  compensate,
  defect,
  discard,
  notApplied,
  notCalled,
  ok,
  type Play,
  probeNow,
  raise,
  refused,
  refusedMaybe,
  resolveAbsent,
  resolveHappened,
  retry,
  rewind,
  skip,
  timedOut,
  unusable,
} from "./play.ts";

export const results: readonly CallResult[] = [
  ok(),
  ok(),
  ok(),
  timedOut(),
  timedOut({ retryAfterMs: 40_000 }),
  notApplied(),
  notApplied({ retryAfterMs: 0 }),
  refused(),
  refusedMaybe,
  unusable,
  notCalled(),
  notCalled("store_not_durable"),
  defect,
];
const lateResults: readonly CallResult[] = [ok("late"), unusable, notApplied(), refused(), notCalled(), timedOut()];
const answers = ["happened", "absent", "cannot_tell"] as const;
const waits = [0, 1, 999, 1_000, 5_000, 21_500, 43_000, 100_000, 3_600_000] as const;
const commands: Readonly<Record<Verb, readonly VerbCommand[]>> = {
  probe: [probeNow],
  resolve: [resolveHappened(), resolveAbsent, resolveHappened({ id: 7 } as Json)],
  retry: [retry(), retry({ n: 1 })],
  skip: [skip],
  discard: [discard],
  rewind: [rewind("played.work"), rewind("played.more", true), rewind("nowhere"), rewind("played.side.left.x")],
  compensate: [compensate],
  raise: [raise("steps", 12), raise("money", 40), raise("time", 1e9), raise("money", 0), raise("nothing", 5)],
  close: [close],
};

export const pick = <Value>(from: readonly Value[], n: number): Value => from[n % from.length] as Value;

/** One thing that happens; where it cannot happen now, nothing does. */
export type Happening = (play: Play, a: number, b: number) => void;

export const happenings: readonly Happening[] = [
  answerOne,
  answerOne,
  answerOne,
  answerOne,
  (play, a) => play.advance(pick(waits, a)),
  (play, a) => play.advance(pick(waits, a)),
  (play, a) => {
    if (play.held || play.due !== null) play.takeOver({ died: a % 2 === 0 });
  },
  (play, a) => {
    if (play.held && a % 2 === 0) play.freeze();
  },
  (play) => {
    // All that stand still are gone.
    play.frozen.clear();
  },
  (play) => {
    if (play.held) play.stop();
  },
  (play, a) => {
    if (!hasEnded(play.status) && a % 3 === 0) cancel(play, a);
  },
  (play) => {
    if (!hasEnded(play.status)) play.run.record.paused ? play.resume() : play.pause();
  },
  (play) => {
    if (!hasEnded(play.status)) play.event("GO");
  },
  undo,
  late,
  decideAsked,
  decideAsked,
  remote,
  askTool,
  askTool,
  spend,
  (play) => {
    if (play.held) play.tick();
    else play.acquire();
  },
];

export function answerOne(play: Play, a: number, b: number): void {
  const orders = [...play.inFlight.values()];
  if (orders.length === 0) return;
  const order = pick(orders, a);
  const name = play.nameOf(order);
  if (order.kind === "probe") play.probe(name.slice("probe ".length), pick(answers, b));
  else play.answer(name, pick(results, b));
}

/** As the store lets them through: once each, and none that is no harder than one that is there. */
function cancel(play: Play, a: number): void {
  const mode = pick(["compensate", "compensate", "stop", "kill"] as const, a);
  const harder = { compensate: ["compensate", "stop", "kill"], stop: ["stop", "kill"], kill: ["kill"] } as const;
  const modes = play.taken().flatMap((taken) => {
    return taken.what === "control" && taken.control === "cancel" ? [taken.mode ?? "compensate"] : [];
  });
  if (!harder[mode].some((each) => modes.includes(each))) play.cancel("not wanted", mode);
}

/** An action that is out says what it has used. */
function spend(play: Play, a: number, b: number): void {
  const orders = [...play.inFlight.values()].filter(({ kind }) => kind === "action");
  if (orders.length === 0 || !play.held) return;
  const { seq, send } = pick(orders, a);
  play.step({ type: "spend", seq, send, uses: { money: b % 5 }, key: b % 3 });
}

function late(play: Play, a: number, b: number): void {
  if (play.run.rows.length === 0) return;
  const row = pick(play.run.rows, a);
  const side = row.undo?.call != null && b % 2 === 0 ? "undo" : "action";
  const call = side === "undo" ? row.undo?.call : row.call;
  const send = 1 + (b % Math.max(1, call?.send ?? 1));
  // Who still has the call says nothing through the inbox.
  if (play.inFlight.get(`${side}:${row.seq}`)?.send === send || play.permits.has(row.seq)) return;
  const body = { type: "late", seq: row.seq, send, side, result: pick(lateResults, a + b) } as const;
  play.send(`late:${row.seq}:${send}:${side}`, body);
}

const asked: readonly (readonly [key: Json, input: Json])[] = [
  ["one", { n: 1 }],
  ["one", { n: 1 }],
  ["one", { n: 2 }],
  [0, { n: 1 }],
  [["two", ""], {}],
];

/** An action that is out asks for one of its tools; what it was answered before is what it is answered now. */
function askTool(play: Play, a: number, b: number): void {
  const agents = [...play.inFlight.values()].filter(
    ({ kind, seq }) => kind === "action" && usesOf(play, seq).length > 0,
  );
  if (agents.length === 0 || !play.held) return;
  const { seq } = pick(agents, a);
  const [key, input] = pick(asked, b);
  const { step, occurrence } = play.run.rows[seq - 1] as Row;
  play.ask(step, pick(usesOf(play, seq), a + b), { key, input }, occurrence);
}

function usesOf(play: Play, seq: number): readonly string[] {
  return Object.keys(play.machine.saga.steps[play.run.rows[seq - 1]?.step ?? ""]?.uses ?? {});
}

/** An ended run is undone; sometimes it is asked for before. */
function undo(play: Play, a: number, b: number): void {
  const despitePivot = b % 3 === 0;
  const isWaiting = play.run.inbox.some(({ body }) => body.type === "undo");
  if (!isWaiting && (hasEnded(play.status) || a % 20 === 0)) play.undo("regretted", despitePivot);
}

function decideAsked(play: Play, a: number, b: number): void {
  const { review } = play;
  if (review === null) return;
  const verb = pick(review.verbs, a);
  // Closing ends what there is to see; it is tried at the end of every script.
  if (verb !== "close") play.verb(pick(commands[verb], b));
}

function remote(play: Play, a: number, b: number): void {
  const offered = play.run.rows.filter((row) => row.call.state === "offered" && !play.permits.has(row.seq));
  if (offered.length > 0 && b % 2 === 0) play.permitRow(pick(offered, a));
  const permitted = play.run.rows.filter((row) => play.permits.get(row.seq)?.send === row.call.send);
  if (permitted.length > 0 && b % 3 > 0) play.settleRow(pick(permitted, a), pick(results, b));
}

export interface Finishing {
  /** Answers what is none of its calls; `true`: there was something to say. */
  readonly elsewhere?: () => boolean;
  readonly turns?: number;
  /** What every call comes to; success unless given. */
  readonly result?: CallResult;
}

/** The outside answers everything from now on. */
export function letItFinish(play: Play, { elsewhere = () => false, turns = 300, result = ok() }: Finishing = {}): void {
  for (let turn = 0; turn < turns; turn += 1) {
    if (hasEnded(play.status) || play.status === "needs_review") return;
    const [order] = play.inFlight.values();
    const offered = play.run.rows.find((row) => row.call.state === "offered");
    if (order?.kind === "probe") play.probe(play.nameOf(order).slice("probe ".length), "happened");
    else if (order !== undefined) play.answer(play.nameOf(order), result);
    else if (elsewhere()) continue;
    else if (play.status === "paused") play.resume();
    else if (offered !== undefined && !play.permits.has(offered.seq)) play.permitRow(offered);
    else if (offered !== undefined) play.settleRow(offered, result);
    else if (play.run.record.waitingFor === "event") play.event("GO");
    else play.advance(60_000);
  }
}
