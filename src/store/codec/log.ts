/**
 * The stored form of a log entry: element n - 1 of the log is revision n. Most of what a commit takes into account has a
 * terse form: `s2` row 2 was sent, `=2.1ka` its send 1 succeeded by an answer.
 */
import type { LogEntry, RunRef, Taken } from "../../core/run.ts";
import { memberOf } from "../keys.ts";
import { decoded, emptyList, lettersOf, shapeOf, zero } from "./shape.ts";
import { outcomeLetters, proofLetters, statusLetters } from "./words.ts";

/** All words that stand beside `Word` in the same member of the union. */
type WordsWith<Word, Each = Taken> = Each extends { readonly what: infer Words }
  ? Word extends Words
    ? Words & string
    : never
  : never;
type RowTaken = WordsWith<"planned">;
type PlainTaken = WordsWith<"created">;

const rowLetters = lettersOf<RowTaken>({
  planned: "p",
  sent: "s",
  offered: "o",
  withdrawn: "w",
  abandoned: "a",
  taken_back: "t",
  interrupted: "i",
});
const plainLetters = lettersOf<PlainTaken>({
  created: "C",
  begun: "B",
  resumed: "R",
  parked: "P",
  unwinding: "U",
  ended: "E",
  defect: "D",
});

const entry = shapeOf<Omit<LogEntry, "revision">>({
  at: { short: "t" },
  to: { short: "s", usual: () => "running", pack: statusLetters.letterOf, unpack: statusLetters.wordOf },
  from: {
    short: "f",
    usual: (whole) => whole.to,
    pack: (status) => (status === null ? "" : statusLetters.letterOf(status)),
    unpack: (letter: string) => (letter === "" ? null : statusLetters.wordOf(letter)),
  },
  taken: { short: "k", usual: emptyList, pack: (taken) => taken.map(packTaken), unpack: unpackAll },
  actor: { short: "a" },
  fence: { short: "n", usual: zero },
  digest: { short: "d" },
});

function packTaken(taken: Taken): unknown {
  switch (taken.what) {
    case "created":
    case "begun":
    case "resumed":
    case "parked":
    case "unwinding":
    case "ended":
    case "defect":
      return plainLetters.letterOf(taken.what) + (taken.note === undefined ? "" : `:${taken.note}`);
    case "planned":
    case "sent":
    case "offered":
    case "withdrawn":
    case "abandoned":
    case "taken_back":
    case "interrupted":
      return rowLetters.letterOf(taken.what) + taken.seq;
    case "outcome": {
      const known = outcomeLetters.letterOf(taken.outcome) + proofLetters.letterOf(taken.proof);
      return `=${taken.seq}.${taken.send}${known}`;
    }
    case "probed":
    case "undo":
    case "timer":
    case "event":
    case "verb":
    case "control":
    case "late":
    case "unconsumed":
      return taken;
  }
}

function unpackAll(stored: readonly unknown[]): readonly Taken[] {
  return stored.map((taken) => (typeof taken === "string" ? unpackTaken(taken) : (taken as Taken)));
}

function unpackTaken(text: string): Taken {
  const outcome = /^=(\d+)\.(\d+)(.)(.)$/.exec(text);
  if (outcome !== null) {
    const [, seq, send, known, proof] = outcome as unknown as [string, string, string, string, string];
    return {
      what: "outcome",
      seq: Number(seq),
      send: Number(send),
      outcome: outcomeLetters.wordOf(known),
      proof: proofLetters.wordOf(proof),
    };
  }
  const seq = /^[a-z](\d+)$/.exec(text)?.[1];
  if (seq !== undefined) return { what: rowLetters.wordOf(text.charAt(0)), seq: Number(seq) };
  const what = plainLetters.wordOf(text.charAt(0));
  return text.length === 1 ? { what } : { what, note: text.slice(2) };
}

export function encodeLogEntry(given: LogEntry): string {
  return JSON.stringify(entry.pack(given));
}

/** Throws RECORD_CORRUPT, naming the run and the revision. */
export function decodeLogEntry(run: RunRef, revision: number, stored: string): LogEntry {
  return decoded(`log entry ${revision}`, memberOf(run), () => ({ revision, ...entry.unpack(JSON.parse(stored)) }));
}
