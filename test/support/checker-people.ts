/**
 * What people decided, compared with what was done. A1 an asking has one winner: of two words that decide it one counts, and of
 * two people who were told that theirs was taken by the only slot there is one. A2 a word that was acknowledged is on record. A3
 * nothing is called that people were asked about before they had let it go, or other than they had. A4 who counted was a person
 * who may, once, and as many as it takes.
 */
import type { Row, Taken } from "../../src/core/index.ts";
import type { WorldEntry } from "../../src/testing/index.ts";
import type { Book, ClientEvent, Complain } from "./checker.ts";

/** What somebody said, on which asking. `isAlone`: one word is enough. */
export interface SaidOn {
  readonly seq: number;
  readonly n: number;
  readonly by: string;
  readonly is: string;
  readonly isAlone: boolean;
}
/** What the world's witness saw of a row that people are asked about, when its call came in. */
export interface SawApproval {
  readonly state: string;
  /** The arguments are those that were shown. */
  readonly isShown: boolean;
}

export function checkApprovals(book: Book, client: readonly ClientEvent[], say: Complain): void {
  const { ref, rows } = book;
  for (const row of rows) {
    if (row.approval === null) continue;
    checkWinner(book, row, say);
    checkVotes(row, say);
  }
  const said = client.filter(({ op, run }) => op === "decide" && run.tenant === ref.tenant && run.id === ref.id);
  const taken = said.flatMap(({ outcome, decision }) => (outcome === "ok" && decision !== undefined ? [decision] : []));
  checkAcknowledged(book, taken, say);
}

type OnApproval = Extract<Taken, { readonly what: "approval" }>;

function wordsOn({ log }: Book, seq: number): readonly OnApproval[] {
  return log
    .flatMap(({ taken }) => taken)
    .filter((each): each is OnApproval => each.what === "approval" && each.seq === seq);
}

const decides: ReadonlySet<string> = new Set(["approved", "reject", "expired"]);

function checkWinner(book: Book, { seq, step }: Row, say: Complain): void {
  let decided = false;
  for (const { state, n } of wordsOn(book, seq)) {
    if (state === "asking" || state === "not_needed") decided = false;
    else if (decided && state !== "refused") say("A1", `${step} ${seq}.${n} was decided on, and then ${state}`);
    if (decides.has(state)) decided = true;
  }
}

function checkVotes({ seq, step, approval }: Row, say: Complain): void {
  if (approval === null) return;
  const { votes, quorum, requester, state } = approval;
  const by = votes.map((vote) => vote.by);
  if (new Set(by).size !== by.length) say("A4", `${step} ${seq}: ${by} have voted`);
  if (requester !== null && by.includes(requester)) say("A4", `${step} ${seq}: ${requester} has decided on it`);
  if (by.includes("bot")) say("A4", `${step} ${seq}: an agent has decided`);
  const approvals = votes.filter(({ decision }) => decision !== "reject").length;
  if (state === "approved" && approvals < quorum) say("A4", `${step} ${seq}: ${approvals} of ${quorum} have approved`);
}

function checkAcknowledged(book: Book, taken: readonly SaidOn[], say: Complain): void {
  const winners = new Map<string, string>();
  const lost = book.log
    .flatMap((entry) => entry.taken)
    .flatMap((each) => (each.what === "unconsumed" ? [each.slot] : []));
  for (const { seq, n, by, is, isAlone } of taken) {
    // Of a run whose log a store has forgotten, the row that came back says it.
    const votes = book.rows.find((row) => row.seq === seq)?.approval?.votes ?? [];
    const isRecorded = [...wordsOn(book, seq), ...votes].some((word) => word.by === by);
    const isUnread = lost.some((slot) => slot.startsWith(`approval:${seq}.${n}`));
    if (!isRecorded && !isUnread)
      say("A2", `${by} was told that ${is} on ${seq}.${n} is taken, and it is not on record`);
    if (!isAlone || (is !== "approve" && is !== "reject")) continue;
    const key = `${seq}.${n}`;
    const winner = winners.get(key) ?? by;
    if (winner !== by) say("A1", `${winner} and ${by} were both told that they decide ${key}`);
    winners.set(key, by);
  }
}

export function checkApproved({ saw }: WorldEntry, id: string, say: Complain): void {
  const { approval = null } = (saw ?? {}) as { readonly approval?: SawApproval | null };
  if (approval === null) return;
  if (approval.state !== "approved" && approval.state !== "not_needed")
    say("A3", `${id} was called when it was ${approval.state}`);
  if (!approval.isShown) say("A3", `${id} was called with other arguments than were approved`);
}
