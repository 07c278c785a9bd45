/**
 * Several runs of one saga that want the same effects, played against core alone, and the registry of intents between them,
 * which answers late, twice or nobody. Owns what of intents may be believed at any time, whoever asks:
 *
 * N1 No call is made while another row, of whatever run, has made or may have made the effect of its intent. N2 None is made
 * that the registry does not have down to it. N3 No run comes to its good end by an outcome of which it had been told that it
 * was undone. N4 When all have ended, every claim is settled, by the word that is true.
 */
import { type ClaimOrder, hasEnded, type IntentWord, type PublishOrder, type Row } from "../../src/core/index.ts";
import type { Saga } from "../../src/saga/index.ts";
import { claimIntent, type Intent, publishIntent } from "../../src/store/memory/intents.ts";
import { Play, type PlayOptions } from "./play.ts";

type Order = ClaimOrder | PublishOrder;

/** An answer of the registry, on its way to who asked. */
interface Reply {
  readonly play: Play;
  readonly fence: number;
  readonly key: string;
  readonly order: Order;
  readonly learn: () => void;
}

/** No script that ends needs more. */
const mostDecisions = 5_000;

export class Town {
  readonly plays: readonly Play[];
  readonly #intents = new Map<string, Intent>();
  readonly #replies: Reply[] = [];
  /** Owners that had undone their effect, and everybody was told. */
  readonly #undone = new Set<string>();
  /** Who went on by which outcome after it was told. */
  readonly #ended = new Set<Play>();
  /** Rows whose effect turned up though nobody had sent it, or after the registry had heard that there is none. */
  readonly #belied = new Set<string>();
  #decisions = 0;
  readonly #seen = new Map<Play, number>();

  constructor(saga: Saga, options: readonly PlayOptions[]) {
    const watch = () => this.#look();
    this.plays = options.map((each, at) => new Play(saga, { ...each, id: `r${at + 1}`, watch, idle: true }));
    for (const play of this.plays) play.acquire();
  }

  /** Something is on its way to the registry, or from it. */
  get isBusy(): boolean {
    return this.#replies.length > 0 || this.plays.some(({ held, registry }) => held && registry.size > 0);
  }

  /** A request reaches the registry; its answer is on its way. Sent again it is answered again. */
  arrive(play: Play, n: number): void {
    if (!play.held || play.registry.size === 0) return;
    const [key, order] = [...play.registry][n % play.registry.size] as [string, Order];
    this.#replies.push({ play, fence: play.fence, key, order, learn: this.#asked(play, order) });
  }

  /** A request of a driver that is gone reaches the registry; nobody hears the answer. */
  haunt(play: Play, n: number): void {
    const [order] = play.ghosts.splice(n % Math.max(1, play.ghosts.length), 1);
    if (order !== undefined) this.#asked(play, order);
  }

  /** An answer arrives, unless nobody waits for it any more. */
  reply(n: number): void {
    const [reply] = this.#replies.splice(n % Math.max(1, this.#replies.length), 1);
    if (reply === undefined) return;
    const { play, fence, key, order, learn } = reply;
    if (!play.held || play.fence !== fence || play.registry.get(key) !== order) return;
    play.registry.delete(key);
    learn();
  }

  #asked(play: Play, order: Order): () => void {
    const { seq, claim, owner, intent } = order;
    const member = `${intent.tenant}:${intent.hash}`;
    if (!("became" in order)) {
      const command = { ...order, claimMs: null, keepMs: null, replaces: null, listens: true };
      const answer = claimIntent(this.#intents, member, command, play.now);
      return () => play.step({ type: "claimed", seq, claim, answer, theirs: null });
    }
    const { state } = order.became;
    const answer = publishIntent(
      this.#intents,
      member,
      { intent, owner, became: order.became, keepMs: null },
      play.now,
    );
    return () => {
      if (answer.answer !== "FENCED") {
        const { generation, waiters, reusers } = answer;
        for (const listener of new Set([...waiters, ...(state === "undone" ? reusers : [])])) {
          this.#tell(listener, owner, generation, state);
        }
      }
      if (state === "undone") this.#undone.add(owner);
      play.step({ type: "published", seq, claim, became: state });
    };
  }

  #tell(listener: string, owner: string, generation: number, became: IntentWord): void {
    const [, id, number] = /^(.+)#(\d+)\.\d+$/.exec(listener) ?? [];
    const play = this.plays.find(({ run }) => run.record.id === id);
    if (play === undefined || hasEnded(play.status)) return;
    const seq = Number(number);
    play.send(`intent:${seq}:${generation}:${became}`, { type: "intent", seq, owner, became });
  }

  // ---- what must hold

  /** Looks at all that was ordered since the last look. */
  #look(): void {
    this.#decisions += 1;
    if (this.#decisions > mostDecisions)
      throw new Error(`after ${mostDecisions} decisions they have not come to an end`);
    for (const play of this.plays) {
      for (const row of play.run.rows) this.#lookAtWord(play, row);
      for (const { kind, seq } of play.orders.slice(this.#seen.get(play) ?? 0)) {
        if (kind === "action") this.#lookAtCall(play, play.run.rows[seq - 1] as Row);
      }
      this.#seen.set(play, play.orders.length);
      if (hasEnded(play.status) && !this.#ended.has(play)) this.#lookAtEnd(play);
    }
  }

  #lookAtWord({ run }: Play, row: Row): void {
    const said = row.intent?.said;
    const isFreed = said === "not_applied" || said === "withdrawn" || said === "undone";
    const isUnasked = row.call.send === 0;
    if ((isFreed || isUnasked) && row.call.state === "succeeded" && row.undo?.state !== "done") {
      this.#belied.add(ownerOf(run.record.id, row));
    }
  }

  #lookAtCall({ run }: Play, row: Row): void {
    if (row.intent === null) return;
    const me = ownerOf(run.record.id, row);
    const key = JSON.stringify(row.intent.key);
    for (const other of this.plays) {
      for (const each of other.run.rows) {
        const owner = ownerOf(other.run.record.id, each);
        if (owner === me || JSON.stringify(each.intent?.key) !== key || !isLive(each) || this.#belied.has(owner))
          continue;
        throw new Error(`${me} is called while ${owner} is ${each.call.state} (${each.undo?.state ?? "not undone"})`);
      }
    }
    const holder = [...this.#intents.values()].find(({ owner }) => owner === me);
    if (holder?.state !== "claimed")
      throw new Error(`${me} is called and is ${holder?.state ?? "unknown"} to the registry`);
  }

  #lookAtEnd(play: Play): void {
    this.#ended.add(play);
    if (play.status !== "completed") return;
    const lost = play.run.rows.find(
      ({ call, intent, abandoned }) =>
        call.state === "reused" && !abandoned && call.proof === "intent" && this.#undone.has(intent?.owner ?? ""),
    );
    if (lost !== undefined) throw new Error(`${play.run.record.id} went by what ${lost.intent?.owner} has undone`);
  }

  /** All have ended, and nothing is on its way. */
  settled(): void {
    for (const { owner, state } of this.#intents.values()) {
      const row = this.#rowOf(owner);
      if (this.#belied.has(owner)) continue;
      if (state === "claimed") throw new Error(`${owner} has ended and its claim is not settled`);
      const isTrue = state === (row.call.state === "unknown" ? wordFor(row, "unknown") : wordFor(row, "done"));
      if (!isTrue) throw new Error(`the registry says ${state} of ${owner}, which is ${row.call.state}`);
    }
  }

  #rowOf(owner: string): Row {
    const [, id, number] = /^(.+)#(\d+)\.\d+$/.exec(owner) ?? [];
    return this.plays.find(({ run }) => run.record.id === id)?.run.rows[Number(number) - 1] as Row;
  }
}

/** Its effect is there, or may be. */
function isLive({ call, undo }: Row): boolean {
  if (undo?.state === "done") return false;
  const { state } = call;
  if (state === "sent" || state === "offered" || state === "unknown" || state === "succeeded") return true;
  return state === "planned" && (call.deadline !== null || call.doubtUntil !== null);
}

function wordFor({ call, undo }: Row, word: "done" | "unknown"): Intent["state"] {
  return (call.state === "succeeded" || call.state === "unknown") && undo?.state !== "done" ? word : "free";
}

function ownerOf(id: string, { seq, intent }: Row): string {
  return `${id}#${seq}.${intent?.claim ?? 0}`;
}
