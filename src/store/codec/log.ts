/**
 * The stored form of a log entry: element n - 1 of the log is revision n. Most of what a commit takes into account has a
 * terse form: `s2` row 2 was sent, `=2.1ka` its send 1 succeeded by an answer, `m2` the machine was told so.
 */
import { baseIn, type LogEntry, type RunRef, type Taken } from "../../core/index.ts";
import { memberOf } from "../keys.ts";
import { decoded, emptyList, lettersOf, shapeOf, zero } from "./shape.ts";
import { outcomeLetters, proofLetters, statusLetters } from "./words.ts";

/** All words that stand beside `Word` in the same member of the union. */
type WordsWith<Word, Each = Taken> = Each extends { readonly what: infer Words }
  ? Word extends Words
    ? Words & string
    : never
  : never;
type RowTaken = WordsWith<"sent">;
type PlainTaken = WordsWith<"created">;

const rowLetters = lettersOf<RowTaken>({
  sent: "s",
  offered: "o",
  withdrawn: "w",
  abandoned: "a",
  taken_back: "t",
  interrupted: "i",
  progress: "g",
});
const plainLetters = lettersOf<PlainTaken>({
  created: "C",
  begun: "B",
  resumed: "R",
  forgotten: "F",
  parked: "P",
  unwinding: "U",
  ended: "E",
  defect: "D",
  refused: "X",
  missing: "M",
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
  taken: { short: "k", usual: emptyList, pack: packAll, unpack: unpackAll },
  actor: { short: "a" },
  fence: { short: "n", usual: zero },
  digest: { short: "d" },
});

/** Joined by blanks where all are terse. */
function packAll(taken: readonly Taken[]): unknown {
  const packed = taken.map(packTaken);
  return packed.every((each) => typeof each === "string" && !each.includes(" ")) ? packed.join(" ") : packed;
}

function packTaken(taken: Taken): unknown {
  switch (taken.what) {
    case "created":
    case "begun":
    case "resumed":
    case "forgotten":
    case "parked":
    case "unwinding":
    case "ended":
    case "defect":
    case "refused":
    case "missing":
      return plainLetters.letterOf(taken.what) + (taken.note === undefined ? "" : `:${taken.note}`);
    case "sent":
    case "offered":
    case "withdrawn":
    case "abandoned":
    case "taken_back":
    case "interrupted":
    case "progress":
      return rowLetters.letterOf(taken.what) + taken.seq;
    case "outcome": {
      const known = outcomeLetters.letterOf(taken.outcome) + proofLetters.letterOf(taken.proof);
      return `=${taken.seq}.${taken.send}${known}`;
    }
    case "told":
      return taken.failure === null ? `m${taken.seq}` : taken;
    case "tool":
    case "intent":
    case "published":
    case "probed":
    case "undo":
    case "timer":
    case "event":
    case "verb":
    case "control":
    case "rewound":
    case "approval":
    case "child":
    case "turn_taken":
    case "budget":
    case "deadline":
    case "migrated":
    case "stood":
    case "restored":
    case "late":
    case "unconsumed":
    case "discarded":
      return taken;
  }
}

function unpackAll(stored: string | readonly unknown[]): readonly Taken[] {
  const all = typeof stored === "string" ? stored.split(" ") : stored;
  return all.map((taken) => (typeof taken === "string" ? unpackTaken(taken) : (taken as Taken)));
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
  if (seq !== undefined && text.startsWith("m")) return { what: "told", seq: Number(seq), failure: null };
  if (seq !== undefined) return { what: rowLetters.wordOf(text.charAt(0)), seq: Number(seq) };
  const what = plainLetters.wordOf(text.charAt(0));
  return text.length === 1 ? { what } : { what, note: text.slice(2) };
}

/** `owner`: whose lease it is written under; the script names it where it is the first under its fence. */
export function encodeLogEntry(given: LogEntry, owner: string | null): string {
  const stored = entry.pack(given);
  // One with a base may come to be the first that is kept: it says itself whose lease it was.
  const isFirst = baseIn(given) !== null && given.actor === owner;
  if (isFirst) stored["o"] = owner;
  if (given.actor === owner) delete stored["a"];
  return JSON.stringify(stored);
}

/**
 * Entries from revision `first` on, which is the first kept where they are `whole`. `null`: who wrote some of them is only said
 * by an earlier entry of their fence. Throws RECORD_CORRUPT, naming the run and the revision.
 */
export function decodeLog(
  run: RunRef,
  first: number,
  stored: readonly string[],
  isWhole: boolean,
): readonly LogEntry[] | null {
  const owners = new Map<number, string>();
  const entries: LogEntry[] = [];
  for (const [at, text] of stored.entries()) {
    const revision = first + at;
    const told = decoded(`log entry ${revision}`, memberOf(run), () => decodeEntry(text, owners, isWhole));
    if (told === null) return null;
    entries.push({ revision, ...told });
  }
  return entries;
}

function decodeEntry(text: string, owners: Map<number, string>, isWhole: boolean): Omit<LogEntry, "revision"> | null {
  const stored = JSON.parse(text) as Record<string, unknown>;
  const fence = (stored["n"] ?? 0) as number;
  if (typeof stored["o"] === "string") owners.set(fence, stored["o"]);
  const actor = stored["a"] ?? owners.get(fence);
  if (actor !== undefined) return entry.unpack({ ...stored, a: actor });
  if (isWhole) throw new Error("nobody is named who wrote it");
  return null;
}
