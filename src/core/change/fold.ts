/**
 * Reads a log back: what the machine went through, entry by entry, made anew from the log, the ledger's inputs and outputs
 * and the run's input alone. Owns what it means that a run's history explains its present (invariant I4): every snapshot
 * follows from the entries before it, and every digest from the one before.
 *
 * A log need not begin with the run: it is read from an entry that says where the machine stood (`log-base.ts`); of a run that has
 * moved to another version from the entry that says so, since only today's machine is here, and of one that was brought back
 * (`rollback.ts`) from there, since what led to it is forgotten.
 *
 * Only a pure machine can be folded: one whose guards or assigns look at a clock or draw lots ends elsewhere.
 */
import type { Json } from "../../saga/index.ts";
import { MissingArtifact, missingIn } from "../artifacts.ts";
import { entryDigest } from "../digest.ts";
import type { Machine, MachineEvent, MachineState, MachineView, Turn } from "../machine/port.ts";
import type { ForkStart, LogBase, LogEntry, Row, RunRecord, StartTimer, Taken } from "../run/index.ts";
import { baseIn } from "./log-base.ts";

/** The run whose log is read: its record and ledger as they are now. */
export interface Folded {
  readonly record: Pick<RunRecord, "input" | "hash" | "replayOf">;
  readonly rows: readonly Row[];
}

/** What a log says after one of its entries. */
export interface Step {
  readonly revision: number;
  readonly snapshot: MachineState | null;
  /** Why the entry does not follow from those before it; `null`: it does. */
  readonly problem: string | null;
}

/** Everything that the machine saw at one time. */
export interface Stand {
  readonly snapshot: MachineState | null;
  /** Rows that it had asked for by then, those it still waited for, and those whose outputs it had. */
  readonly asked: number;
  readonly waits: readonly number[];
  readonly used: ReadonlySet<number>;
  readonly timers: readonly StartTimer[];
}

export interface FoldOptions {
  /** Are the digests compared? Not where values were masked since: they were made over the ones that were there. */
  readonly digests?: boolean;
}

/**
 * The snapshots a log leads to, one an entry (of a run that has moved to another version or was brought back, from that one on). After
 * the first problem nothing more is said.
 */
export function foldLog(
  machine: Machine,
  run: Folded,
  log: readonly LogEntry[],
  { digests = true }: FoldOptions = {},
): readonly Step[] {
  if (missesValues(run)) {
    const nothing = { snapshot: null, asked: 0, waits: [], timers: [], problem: "values of the run are missing" };
    return log.slice(0, 1).map(({ revision }) => ({ revision, ...nothing }));
  }
  const replay = new Replay(machine, run, digests);
  return [...replay.through(log)].map(({ step }) => step);
}

/** How the run stood when it had just asked for a row; in words: the log does not lead there. */
export function standBefore(
  machine: Machine,
  run: Folded,
  log: readonly LogEntry[],
  seq: number,
): Stand | { readonly problem: string } {
  const replay = new Replay(machine, run, true);
  for (const { step, asked } of replay.through(log)) {
    if (step.problem !== null) return { problem: `revision ${step.revision}: ${step.problem}` };
    if (replay.given >= seq)
      return { problem: `the log is kept from revision ${step.revision} on, after row ${seq} was asked for` };
    if (asked >= seq) return replay.stand();
  }
  return { problem: `the log never asks for row ${seq}` };
}

function missesValues({ record, rows }: Folded): boolean {
  return record.input instanceof MissingArtifact || missingIn(null, rows).length > 0;
}

/** Does the machine stand there for another reason than the entries before it? */
function isNewBeginning({ taken }: LogEntry): boolean {
  return taken.some((each) => each.what === "restored" || (each.what === "migrated" && each.base !== undefined));
}

function isLost({ taken }: LogEntry): boolean {
  return taken[0]?.what === "forgotten";
}

function digestProblem(previous: string, entry: LogEntry, snapshot: MachineState | null): string | null {
  const digest = entryDigest(previous, entry, snapshot);
  return digest === entry.digest ? null : `its digest is ${entry.digest}, from the log follows ${digest}`;
}

/** What is lost leaves the chain as it was. */
function lostProblem(previous: string, { digest }: LogEntry): string | null {
  return digest === previous ? null : "it stands for what is forgotten and has a digest of its own";
}

/** A row as the log leads to it. */
interface Line {
  readonly invoke: string;
  readonly step: string;
  output: Json;
  told: "outcome" | "failure" | null;
  abandoned: boolean;
}

class Replay {
  readonly #machine: Machine;
  readonly #run: Folded;
  readonly #digests: boolean;
  readonly #lines: Line[] = [];
  readonly #waits = new Set<number>();
  /** Where it has stood. */
  readonly #past: MachineState[] = [];
  readonly #timers = new Map<string, StartTimer>();
  snapshot: MachineState | null = null;
  /** Rows that were asked for before the log begins. */
  given = 0;
  /** Are the places where it stood before the log begins unknown? */
  #isCut = false;

  constructor(machine: Machine, run: Folded, digests: boolean) {
    this.#machine = machine;
    this.#run = run;
    this.#digests = digests;
    const { replayOf } = run.record;
    if (replayOf?.mode === "fork") this.#startAt(replayOf.start);
  }

  /** A fork began where the other run stood: its first rows are that one's, told or asked for already. */
  #startAt({ snapshot, rows, waits, timers }: ForkStart): void {
    this.snapshot = snapshot;
    this.#past.push(snapshot);
    for (const { seq, invoke, step, output, told } of this.#run.rows.slice(0, rows)) {
      const isLive = waits.includes(seq);
      const wasTold = isLive || told === "nothing" ? null : told;
      this.#lines.push({ invoke, step, output, told: wasTold, abandoned: !isLive && wasTold === null });
      if (isLive) this.#waits.add(seq);
    }
    for (const timer of timers) this.#timers.set(timer.id, timer);
  }

  /** Where it stood before the first entry that is read. What it did before is known by the rows alone. */
  #startFrom({ snapshot, rows, waits, used, timers }: LogBase): void {
    this.snapshot = snapshot;
    this.given = rows;
    this.#isCut = true;
    this.#lines.length = 0;
    for (const { seq, invoke, step, output, told, tool } of this.#run.rows.slice(0, rows)) {
      const isLive = waits.includes(seq);
      const known = used.includes(seq) ? "outcome" : told === "nothing" ? null : told;
      const wasTold = isLive ? null : tool === null ? known : "failure";
      this.#lines.push({ invoke, step, output, told: wasTold, abandoned: !isLive && wasTold === null });
    }
    this.#waits.clear();
    for (const seq of waits) this.#waits.add(seq);
    this.#timers.clear();
    for (const timer of timers) this.#timers.set(timer.id, timer);
  }

  /** Reads entry by entry, up to the first that does not follow; `asked`: rows asked for by then. */
  *through(log: readonly LogEntry[]): Generator<{ readonly step: Step; readonly asked: number }> {
    let digest = this.#run.record.hash;
    const from = Math.max(0, log.findLastIndex(isNewBeginning));
    for (const [at, entry] of log.slice(from).entries()) {
      const base = at === 0 && entry.revision > 1 ? baseIn(entry) : null;
      if (base !== null) {
        this.#startFrom(base);
        digest = base.after;
      }
      const gap = base === null && at === 0 && entry.revision > 1 ? "the log before it is missing" : null;
      const broken =
        from > 0 && at === 0 && log[from - 1]?.digest !== digest ? "it does not follow the entry before" : null;
      const follows = isLost(entry) ? lostProblem : digestProblem;
      const unlike = () => (this.#digests ? follows(digest, entry, this.snapshot) : null);
      const problem = gap ?? broken ?? this.#take(entry.taken) ?? unlike();
      const { revision } = entry;
      yield { step: { revision, snapshot: this.snapshot, problem }, asked: this.#lines.length };
      if (problem !== null) return;
      digest = entry.digest;
    }
  }

  /** How it stands now. */
  stand(): Stand {
    const used = this.#lines.flatMap(({ told }, at) => (told === "outcome" ? [at + 1] : []));
    return {
      snapshot: this.snapshot,
      asked: this.#lines.length,
      waits: [...this.#waits],
      used: new Set(used),
      timers: [...this.#timers.values()],
    };
  }

  /** Why something in it cannot have happened; `null`: all of it can. */
  #take(taken: readonly Taken[]): string | null {
    for (const [at, each] of taken.entries()) {
      // What was refused left everything as it was.
      const problem = taken[at + 1]?.what === "refused" ? null : this.#takeOne(each);
      if (problem !== null) return problem;
    }
    return null;
  }

  #takeOne(taken: Taken): string | null {
    switch (taken.what) {
      case "begun":
        return this.#apply(this.#machine.initial(this.#view()));
      case "told":
        return this.#tell(taken.seq, taken.failure);
      case "event":
        if (taken.forbidden) return null;
        return this.#feed({ type: "external", event: taken.type, payload: taken.payload });
      case "timer":
        return this.#fire(taken.id);
      case "abandoned":
        return this.#abandon(taken.seq);
      case "tool":
        // A row that the machine knows nothing of.
        if (!taken.again) this.#lines.push({ invoke: "", step: "", output: null, told: "failure", abandoned: false });
        return null;
      case "stood":
        return this.#stoodThere(taken.base);
      case "rewound":
        return this.#rewind(taken.start);
      default:
        return null;
    }
  }

  #stoodThere({ snapshot, rows }: LogBase): string | null {
    const isTrue = rows === this.#lines.length && JSON.stringify(snapshot) === JSON.stringify(this.snapshot);
    return isTrue ? null : "it did not stand where the entry says";
  }

  #tell(seq: number, failure: Json): string | null {
    const line = this.#lines[seq - 1];
    const row = this.#run.rows[seq - 1];
    if (line === undefined || row === undefined) return `row ${seq} was never asked for`;
    if (line.told !== null) return `row ${seq} was told twice`;
    line.told = failure === null ? "outcome" : "failure";
    this.#waits.delete(seq);
    line.output = row.output;
    const { invoke } = line;
    return this.#feed(
      failure === null ? { type: "outcome", invoke, output: row.output } : { type: "failure", invoke, error: failure },
    );
  }

  #fire(id: string): string | null {
    const timer = this.#timers.get(id);
    if (timer === undefined) return `there was no timer ${id}`;
    this.#timers.delete(id);
    return this.#feed({ type: "timer", event: timer.event });
  }

  #abandon(seq: number): string | null {
    const line = this.#lines[seq - 1];
    if (line === undefined) return `row ${seq} was never asked for`;
    line.abandoned = true;
    this.#waits.delete(seq);
    return null;
  }

  /** Back where it stood once; what came after counts no more, and what it waited for then is asked for anew. */
  #rewind({ snapshot, rows, waits, timers }: ForkStart): string | null {
    const known = JSON.stringify(snapshot);
    if (!this.#isCut && !this.#past.some((past) => JSON.stringify(past) === known))
      return "it never stood where it went back to";
    this.snapshot = snapshot;
    const asked = waits.map((seq) => this.#lines[seq - 1] as Line);
    for (const [at, line] of this.#lines.entries()) {
      if (at < rows && !waits.includes(at + 1) && !line.abandoned) continue;
      line.told = null;
      line.abandoned = true;
    }
    this.#waits.clear();
    this.#timers.clear();
    for (const timer of timers) this.#timers.set(timer.id, timer);
    for (const line of asked) this.#ask(line);
    return null;
  }

  #ask({ invoke, step }: Pick<Line, "invoke" | "step">): void {
    this.#lines.push({ invoke, step, output: null, told: null, abandoned: false });
    this.#waits.add(this.#lines.length);
  }

  #feed(event: MachineEvent): string | null {
    if (this.snapshot === null) return "the machine was moved before it had begun";
    return this.#apply(this.#machine.transition(this.snapshot, event, this.#view()));
  }

  #apply(turn: Turn): string | null {
    if (!turn.ok) return `the machine refuses it (${turn.where}: ${turn.defect})`;
    this.snapshot = turn.state;
    this.#past.push(turn.state);
    for (const effect of turn.effects) {
      if (effect.type === "start") {
        this.#ask(effect);
      } else if (effect.type === "timer") this.#setTimer(effect);
      else if (effect.type === "timer_cancel") this.#timers.delete(effect.id);
    }
    return null;
  }

  /** One that is set again under its id takes the place of the older one. */
  #setTimer({ id, delayMs, event }: StartTimer): void {
    this.#timers.delete(id);
    this.#timers.set(id, { id, delayMs, event });
  }

  /** What the machine saw of the run then. */
  #view(): MachineView {
    const results: Record<string, Json> = {};
    const invocations = new Map<string, string>();
    for (const { invoke, step, output, told, abandoned } of this.#lines) {
      if (told === "outcome") results[step] = output;
      if (told === null && !abandoned) invocations.set(invoke, step);
    }
    return { input: this.#run.record.input, results, invocations };
  }
}
