/**
 * A run that was exported from an installation, under today's code: does its log lead where it led? Owns comparing, and the words.
 *
 * Invariants: L1 nothing is called: the log is folded by the machine, as `core/change/fold.ts` does. L2 where values were masked
 * digests say nothing; what is compared then is told.
 */
import { masked, parseBundle, type RunBundle } from "../client/index.ts";
import {
  differencesOf,
  foldLog,
  type Machine,
  type MachineState,
  machineOf,
  registrationOf,
  structureChanges,
  type Turn,
} from "../core/index.ts";
import { RepriseError } from "../errors.ts";
import type { Json, Saga } from "../saga/index.ts";

export interface ReplayedLog {
  /** It ends as it ended, through the same states, with the same steps asked for in the same words. */
  readonly same: boolean;
  /** The first revision that is otherwise; `null`: none, or it cannot be said of one alone. */
  readonly revision: number | null;
  /** What is otherwise, as `path: was -> is`; or why the log cannot be followed any more. */
  readonly differences: readonly string[];
  /** What has changed of the saga's structure since the run was started. */
  readonly structure: readonly string[];
  /**
   * By what it was compared. `digests`: each revision, exactly. `snapshots`: each revision, but for what was masked. `end`: where it
   * stands in the end, but for what was masked.
   */
  readonly by: "digests" | "snapshots" | "end";
  /** Paths of what was masked. */
  readonly masked: readonly string[];
  /** All of it, to be read. */
  readonly text: string;
}

/**
 * Folds the log of an exported run over `saga` as it is now, and says whether it leads to the same end.
 *
 * ```ts
 * const replayed = replayLog(order, readFileSync("run.json", "utf8"));
 * expect(replayed.same, replayed.text).toBe(true);
 * ```
 *
 * @throws RepriseError INPUT_INVALID where it is no bundle, one of another saga, or one that misses values.
 */
export function replayLog(saga: Saga, bundle: unknown): ReplayedLog {
  const read = parseBundle(bundle);
  if (read.saga.name !== saga.name) throw refused(`the bundle is of a run of ${read.saga.name}, not of ${saga.name}`);
  const [missing] = read.missing;
  if (missing !== undefined) throw refused(`the bundle misses ${missing.where}: export it where artifacts can be had`);
  const { structure, schemas } = read.saga;
  const changes =
    structure === null ? [] : structureChanges({ structure, schemas: schemas ?? "" }, registrationOf(saga));
  const result = { ...compared(saga, read), structure: changes, masked: read.masked };
  return { ...result, text: inWords(read, result) };
}

type Compared = Pick<ReplayedLog, "same" | "revision" | "differences" | "by">;

function compared(saga: Saga, bundle: RunBundle): Compared {
  const { record, rows, log, snapshots } = bundle;
  const isMasked = bundle.masked.length > 0;
  const asked = new Asked(machineOf(saga.spec));
  const steps = foldLog(asked.machine, { record, rows }, log, { digests: !isMasked });
  const by = isMasked ? (snapshots === null ? "end" : "snapshots") : "digests";
  const was = new Map((snapshots ?? []).map(({ revision, snapshot }) => [revision, snapshot]));
  for (const { revision, snapshot, problem } of steps) {
    const known = was.get(revision);
    const found = known === undefined ? [] : unlike(bundle, known, snapshot);
    if (found.length > 0) return { same: false, revision, differences: found, by };
    if (problem !== null) return { same: false, revision, differences: [problem], by };
  }
  const end = unlike(bundle, record.snapshot, steps.at(-1)?.snapshot ?? null);
  const differences = end.length > 0 ? end : asked.unlike(bundle);
  return { same: differences.length === 0, revision: null, differences, by };
}

/** What was masked is alike as long as it would be masked again. */
function unlike({ masked: paths, maskedNames }: RunBundle, was: MachineState | null, is: MachineState | null) {
  // A snapshot is JSON.
  const shown = is as unknown as Json;
  const same = paths.length === 0 ? shown : masked(shown, "snapshot", maskedNames).value;
  return differencesOf(was as unknown as Json, same);
}

/** What the machine asks for while the log is folded. */
class Asked {
  readonly machine: Machine;
  readonly #starts: { readonly step: string; readonly input: unknown }[] = [];

  constructor(machine: Machine) {
    const note = (turn: Turn): Turn => {
      if (turn.ok) for (const effect of turn.effects) if (effect.type === "start") this.#starts.push(effect);
      return turn;
    };
    this.machine = {
      ...machine,
      initial: (view) => note(machine.initial(view)),
      transition: (state, event, view) => note(machine.transition(state, event, view)),
    };
  }

  /** In what its steps are asked for otherwise than they were; of runs that were begun elsewhere, or trimmed, nothing. */
  unlike({ record, rows, log, masked: paths, maskedNames }: RunBundle): readonly string[] {
    const isWhole = log[0]?.revision === 1 && record.replayOf?.mode !== "fork" && record.migratedFrom === null;
    const changed = new Set(
      log.flatMap(({ taken }) =>
        taken.flatMap((each) => ("seq" in each && each.what === "approval" ? [each.seq] : [])),
      ),
    );
    const wasTold = log.some(({ taken }) =>
      taken.some(({ what }) => what === "verb" || what === "rewound" || what === "refused"),
    );
    if (!isWhole || wasTold) return [];
    const own = rows.filter(({ tool }) => tool === null);
    return own.flatMap(({ seq, step, input }, at) => {
      const start = this.#starts[at];
      if (start === undefined) return [`row ${seq}: ${step} is not asked for any more`];
      if (start.step !== step) return [`row ${seq}: ${step} -> ${start.step}`];
      if (changed.has(seq)) return [];
      const plain = JSON.parse(JSON.stringify(start.input ?? null)) as Json;
      const is = paths.length === 0 ? plain : masked(plain, "input", maskedNames).value;
      return differencesOf(input, is).map((each) => `row ${seq}, input of ${step}: ${each}`);
    });
  }
}

function inWords({ run, saga, log }: RunBundle, result: Omit<ReplayedLog, "text">): string {
  const { same, revision, differences, structure, by, masked: paths } = result;
  const head = `run ${run.id} of ${saga.name}@${saga.version}, ${log.length} log entries, compared by ${by}`;
  const at = revision === null ? "" : ` from revision ${revision} on`;
  return [
    `${head}: ${same ? "it ends the same" : `it goes otherwise${at}`}`,
    ...differences.map((each) => `  ${each}`),
    ...structure.map((each) => `structure: ${each}`),
    ...(paths.length === 0
      ? []
      : [`not compared, since it was masked: ${paths.slice(0, 5).join(", ")}${paths.length > 5 ? ", ..." : ""}`]),
  ].join("\n");
}

function refused(message: string): RepriseError {
  return new RepriseError("INPUT_INVALID", message);
}
