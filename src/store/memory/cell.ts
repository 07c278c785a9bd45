/** What the memory store keeps of one run: the counterpart of the Redis keys `run:`, `ledger:`, `log:`, `inbox:`, `slots:`, `permit:`. */
import type { LogEntry, PermitState, Run, RunRecord } from "../../core/index.ts";

/** A lease as it is kept; a lapsed one stays until it is taken, renewed or given back. */
export interface Lease {
  readonly owner: string;
  readonly token: string;
  until: number;
  /** Set by `expire` (the owner died) and `goodbye` (it left in good order). */
  mark: "died" | "left" | null;
}

/** Who was taken over, told again until the first commit under the new fence. */
export interface Debt {
  readonly owner: string;
  readonly died: boolean;
}

export interface Winner {
  readonly by: string;
  readonly commandId: string;
  readonly position: number;
}

/** A permit without what is worked out when it is told. */
export type Permit = Omit<PermitState, "expired"> & { readonly abort: boolean };

export interface Cell {
  readonly member: string;
  readonly share: string;
  readonly commandId: string;
  run: Run;
  readonly log: LogEntry[];
  commitId: string | null;
  fence: number;
  wake: number;
  /** How often it was handed out since it was last acquired; 0: it is not queued. */
  handOuts: number;
  /** The sweep handed it out as a run that came due again. */
  cameDueAgain: boolean;
  lease: Lease | null;
  debt: Debt | null;
  suspect: boolean;
  /** Why it was set aside; `null`: it was not. */
  problem: string | null;
  position: number;
  readonly slots: Map<string, Winner>;
  openSlots: readonly string[];
  readonly permits: Map<number, Permit>;
  /** What the run itself wants while a permit has brought its score forward; `undefined`: the score is its own. */
  wanted: number | undefined;
}

export function newCell(record: RunRecord, log: LogEntry, member: string, share: string, commandId: string): Cell {
  return {
    member,
    share,
    commandId,
    run: { record, rows: [], inbox: [] },
    log: [log],
    commitId: null,
    fence: 0,
    wake: 1,
    handOuts: 0,
    cameDueAgain: false,
    lease: null,
    debt: null,
    suspect: false,
    problem: null,
    position: 0,
    slots: new Map(),
    openSlots: [],
    permits: new Map(),
    wanted: undefined,
  };
}

export function isHeld(cell: Cell, now: number): boolean {
  return cell.lease !== null && cell.lease.until > now;
}

export function permitsOf(cell: Cell, now: number): readonly PermitState[] {
  return [...cell.permits.values()]
    .sort((a, b) => a.seq - b.seq)
    .map(({ abort: _, ...permit }) => ({ ...permit, expired: permit.until <= now }));
}
