/**
 * What becomes of a run where only this code is left to drive it: `reprise check` asks it of every open run before a deploy.
 * Owns the judgement of one run; nothing is moved. Invariants: P1 a run that goes on is one whose structure is here, whose state
 * restores, and all of whose values today's schemas can read. P2 a run that moves is one that `judgeMove` would move.
 */
import { decode, type Saga } from "../../saga/index.ts";
import { missingIn, summaryOf } from "../artifacts.ts";
import { structureHashOf } from "../digest.ts";
import { machineOf } from "../machine/machine.ts";
import type { Machine } from "../machine/port.ts";
import type { Run, RunRecord } from "../run/index.ts";
import { judgeMove, named, rowProblem } from "./migrate.ts";

export type Prospect =
  | { readonly is: "goes_on" }
  /** To the newest version, once it is asked to; `after`: what is under way first. */
  | { readonly is: "moves"; readonly to: number; readonly after: string | null }
  /** `at`: the part of the run, or of the code, that does not fit. */
  | { readonly is: "breaks"; readonly at: string; readonly problem: string }
  /** Nobody can say: values of it are not at hand. */
  | { readonly is: "unread"; readonly problem: string }
  /** Its saga is none of this code's. */
  | { readonly is: "elsewhere" };

type Judged = Pick<Run, "record" | "rows">;

export function prospectOf(code: readonly Saga[], run: Judged): Prospect {
  const { saga, version, hash } = run.record;
  const versions = code.filter(({ name }) => name === saga);
  const newest = versions.toSorted((a, b) => b.version - a.version)[0];
  if (newest === undefined) return { is: "elsewhere" };
  const same = versions.find((each) => each.version === version);
  const isSame = same !== undefined && structureHashOf(same) === hash;
  if (same !== undefined && !isSame) return breaks("structure", `${saga}@${version} is another in this code`);
  if (newest.version < version) return breaks("version", `this code knows ${saga} up to version ${newest.version}`);
  const missing = missingIn(run.record, run.rows);
  if (missing.length > 0) return { is: "unread", problem: summaryOf(missing) };
  return isSame ? prospectAsItIs(machineOf(same.spec), run) : prospectOfMove(machineOf(newest.spec), run);
}

function breaks(at: string, problem: string): Prospect {
  return { is: "breaks", at, problem };
}

function prospectOfMove(machine: Machine, run: Judged): Prospect {
  const move = judgeMove(machine, run);
  const to = machine.saga.version;
  if (move.ok) return { is: "moves", to, after: null };
  return move.later ? { is: "moves", to, after: move.problem } : breaks("migration", move.problem);
}

/** Structures are the same; values and schemas may not be. */
function prospectAsItIs(machine: Machine, { record, rows }: Judged): Prospect {
  const blocked = record.snapshot === null ? null : machine.blocked(record.snapshot);
  if (blocked !== null) return breaks("state", blocked);
  const input = decode(machine.saga.input, record.input);
  if (!input.ok) return breaks("input", input.problem);
  for (const row of rows) {
    const problem = rowProblem(machine, row);
    if (problem !== null) return breaks(named(row), problem);
  }
  return { is: "goes_on" };
}

/** Where a run stands, for people. */
export function stateText({ snapshot }: Pick<RunRecord, "snapshot">): string {
  if (snapshot === null) return "not begun";
  return typeof snapshot.value === "string" ? snapshot.value : JSON.stringify(snapshot.value);
}
