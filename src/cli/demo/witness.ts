/**
 * Owns: reading the world's own file, the witness, which knows nothing of the store. Nothing in it is trusted: a line
 * that cannot be read, or that is missing, is a problem to be reported, never skipped.
 */
import { z } from "zod";

const Line = z.object({
  n: z.int(),
  kind: z.enum(["arrival", "effect", "query"]),
  service: z.string(),
  action: z.string(),
  operationId: z.string(),
  args: z.record(z.string(), z.unknown()),
  run: z.string().optional(),
  /** The process that asked, as it said itself. */
  pid: z.int().optional(),
});
export type WitnessLine = Readonly<z.infer<typeof Line>>;

/** One operation as the world saw it. */
export interface Observed {
  readonly operationId: string;
  /** `payments.charge`; several where one operation id was seen under several names. */
  readonly actions: readonly string[];
  /** The runs that asked, as they said themselves. */
  readonly runs: readonly string[];
  readonly arrivals: number;
  readonly effects: number;
  /** Whether every line about it shows the same arguments. */
  readonly sameArgs: boolean;
}

export interface Witness {
  readonly lines: readonly WitnessLine[];
  /** What is wrong with the file itself, one sentence each, naming the line. */
  readonly problems: readonly string[];
}

/** Reads the text of a world's file. */
export function readWitness(text: string): Witness {
  const lines: WitnessLine[] = [];
  const problems: string[] = [];
  const written = text.split("\n");
  if (written.at(-1) === "") written.pop();
  let expected = 1;
  for (const [index, one] of written.entries()) {
    const read = Line.safeParse(parsed(one));
    if (!read.success) {
      problems.push(`line ${index + 1} of the world's file cannot be read`);
      expected += 1;
      continue;
    }
    const { n } = read.data;
    if (n !== expected) problems.push(`line ${index + 1} of the world's file is number ${n}, not ${expected}`);
    expected = n + 1;
    lines.push(read.data);
  }
  return { lines, problems };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What the lines come to, by operation, in the order in which each was first seen. */
export function observe(lines: readonly WitnessLine[]): readonly Observed[] {
  return [...byOperation(lines)].map(([operationId, mine]) => ({
    operationId,
    actions: unique(mine.map((line) => `${line.service}.${line.action}`)),
    runs: unique(mine.flatMap((line) => line.run ?? [])),
    arrivals: mine.filter((line) => line.kind === "arrival").length,
    effects: mine.filter((line) => line.kind === "effect").length,
    sameArgs: unique(mine.filter((line) => line.kind !== "query").map((line) => JSON.stringify(line.args))).length <= 1,
  }));
}

function byOperation(lines: readonly WitnessLine[]): ReadonlyMap<string, readonly WitnessLine[]> {
  const groups = new Map<string, WitnessLine[]>();
  for (const line of lines) {
    const group = groups.get(line.operationId);
    if (group === undefined) groups.set(line.operationId, [line]);
    else group.push(line);
  }
  return groups;
}

/** `["stock.reserve", "payments.charge"]`: what changed outside because of a run, in the order in which it changed. */
export function effectsOf(lines: readonly WitnessLine[], run: string): readonly string[] {
  return lines
    .filter((line) => line.kind === "effect" && line.run === run)
    .map((line) => `${line.service}.${line.action}`);
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}
