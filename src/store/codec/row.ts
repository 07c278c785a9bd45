/**
 * The stored form of a ledger row: element seq - 1 of the ledger. A row whose call lies in a named queue begins with
 * `<send><a|u>;`, which is all that the `permit` script reads of it. XState's own invoke ids end with the name of the step.
 */
import type { Call, Row, RowApproval, RowIntent, RunRef, Sender, Undo } from "../../core/index.ts";
import { memberOf } from "../keys.ts";
import { offerOf } from "../slots.ts";
import { decoded, emptyList, no, nothing, one, shapeOf, zero } from "./shape.ts";
import { effectLetters, proofLetters, stateLetters, toldLetters } from "./words.ts";

const call = shapeOf<Call>({
  state: { short: "s", usual: () => "succeeded", pack: stateLetters.letterOf, unpack: stateLetters.wordOf },
  effect: { short: "e", usual: () => "keyed", pack: effectLetters.letterOf, unpack: effectLetters.wordOf },
  attempt: { short: "a", usual: one },
  send: { short: "n", usual: (whole) => whole.attempt },
  firstSentAt: { short: "t", usual: nothing },
  firstSentRevision: { short: "r", usual: nothing },
  sentAt: { short: "ts", usual: (whole) => whole.firstSentAt },
  deadline: {
    short: "d",
    usual: nothing,
    pack: (at, { sentAt }) => (at ?? 0) - (sentAt ?? 0),
    unpack: (after: number, { sentAt }) => after + (sentAt ?? 0),
  },
  fence: { short: "f", usual: nothing },
  nextAt: { short: "x", usual: nothing },
  doubtUntil: { short: "du", usual: nothing },
  senders: {
    short: "w",
    usual: emptyList,
    pack: (senders) => senders.map(({ send, owner }) => [send, owner]),
    unpack: (stored: readonly (readonly [number, string])[]): readonly Sender[] =>
      stored.map(([send, owner]) => ({ send, owner })),
  },
  interruptions: { short: "ir", usual: zero },
  probes: { short: "pn", usual: zero },
  probeAt: { short: "pt", usual: nothing },
  error: { short: "er", usual: nothing },
  proof: {
    short: "p",
    usual: () => "answer",
    pack: (proof) => (proof === null ? "" : proofLetters.letterOf(proof)),
    unpack: (letter: string) => (letter === "" ? null : proofLetters.wordOf(letter)),
  },
  evidence: { short: "ev", usual: nothing },
  generation: { short: "g", usual: one },
});

const undo = shapeOf<Undo>({
  state: { short: "s" },
  call: {
    short: "c",
    usual: nothing,
    pack: (value) => (value === null ? null : call.pack(value)),
    unpack: call.unpack,
  },
  reason: { short: "r", usual: nothing },
  input: { short: "i", optional: true },
});

const intent = shapeOf<RowIntent>({
  key: { short: "k" },
  state: { short: "s", usual: () => "mine" },
  claim: { short: "c", usual: one },
  owner: { short: "o", usual: nothing },
  theirs: { short: "t", usual: nothing },
  since: { short: "w", usual: nothing },
  said: { short: "p", usual: nothing },
});

const approval = shapeOf<RowApproval>({
  state: { short: "s" },
  n: { short: "n", usual: one },
  question: { short: "q" },
  shown: { short: "h" },
  rule: { short: "r", usual: nothing },
  requester: { short: "rq", usual: nothing },
  roles: { short: "ro", usual: emptyList },
  delegates: { short: "dl", usual: emptyList },
  quorum: { short: "m", usual: one },
  allowed: { short: "al", usual: emptyList },
  since: { short: "t" },
  expiresAt: { short: "x", usual: nothing },
  onExpire: { short: "ox", usual: () => "reject" },
  escalations: { short: "es", usual: emptyList },
  votes: { short: "v", usual: emptyList },
  talk: { short: "tk", usual: emptyList },
});

const row = shapeOf<Omit<Row, "seq">>({
  kind: { short: "k", usual: () => "call" },
  step: { short: "n" },
  occurrence: { short: "oc", usual: one },
  invoke: {
    short: "v",
    usual: (whole) => whole.step,
    pack: (invoke, { step }) => (invoke.endsWith(step) ? `${invoke.slice(0, -step.length)}*` : `${invoke}!`),
    unpack: (text: string, { step }) => (text.endsWith("*") ? text.slice(0, -1) + step : text.slice(0, -1)),
  },
  region: { short: "rg", usual: emptyList },
  regionEntry: { short: "re", usual: zero },
  input: { short: "i", usual: nothing },
  call: { short: "c", pack: call.pack, unpack: call.unpack },
  intent: {
    short: "in",
    usual: nothing,
    pack: (value) => (value === null ? null : intent.pack(value)),
    unpack: intent.unpack,
  },
  tool: { short: "tl", usual: nothing },
  approval: {
    short: "ap",
    usual: nothing,
    pack: (value) => (value === null ? null : approval.pack(value)),
    unpack: approval.unpack,
  },
  child: { short: "ch", usual: nothing },
  shares: { short: "sh", optional: true },
  dueBy: { short: "db", usual: nothing },
  repeat: { short: "rp", optional: true },
  spent: { short: "sk", optional: true },
  progress: { short: "pg", usual: nothing },
  unusable: { short: "un", usual: no },
  abandoned: { short: "ab", usual: no },
  told: {
    short: "to",
    usual: () => "outcome",
    pack: (told) => (told === null ? "" : toldLetters.letterOf(told)),
    unpack: (letter: string) => (letter === "" ? null : toldLetters.wordOf(letter)),
  },
  undo: {
    short: "u",
    usual: nothing,
    pack: (value) => (value === null ? null : undo.pack(value)),
    unpack: undo.unpack,
  },
  reference: { short: "rf", usual: nothing },
  // Last, where the commit script looks for it when a run's own output says the same.
  output: { short: "o", usual: nothing },
});

export function encodeRow(given: Row): string {
  const offer = offerOf(given);
  const text = JSON.stringify(row.pack(given));
  return offer === null ? text : `${offer};${text}`;
}

/** Throws RECORD_CORRUPT, naming the run and the row. */
export function decodeRow(run: RunRef, seq: number, stored: string): Row {
  return decoded(`ledger row ${seq}`, memberOf(run), () => {
    const text = stored.startsWith("{") ? stored : stored.slice(stored.indexOf(";") + 1);
    return { seq, ...row.unpack(JSON.parse(text)) };
  });
}
