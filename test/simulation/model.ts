/**
 * The oracle: what must be true of each run after every commit, as a fold over what was acknowledged and what the world saw.
 * Written from the design (sections 4 to 9) and not from `src/core`: it imports shapes and calls nothing of it, so that what core
 * gets wrong it does not get wrong with it. It looks only at what a commit changes.
 *
 * Checks as it goes I1 to I9 and I15, and of people, bounds and turns A3, B1, B3 and L1. The rest needs an end: `checker.ts`.
 */
import type {
  Commit,
  CreateCommand,
  LeaseRef,
  Row,
  RunRecord,
  RunRef,
  SendCommand,
  Taken,
} from "../../src/core/index.ts";
import type { WorldEntry } from "../../src/testing/index.ts";
import { finalCalls, isUndoneOrNeverWas, mayBecome, mayMove, sideOf } from "./model-words.ts";

/** What is believed of a run. */
export interface Believed {
  readonly record: RunRecord;
  /** By which it was created: the same request again is answered the same. */
  readonly createdBy: string;
  readonly rows: readonly Row[];
  readonly fence: number;
  /** Newest request that its sender was told is taken. */
  readonly position: number;
  readonly reviewed: ReadonlySet<number>;
  /** Of calls `<side> <seq>`: may another grant be given, because the last one came to nothing for sure? */
  readonly clear: ReadonlyMap<string, boolean>;
}

interface Step {
  readonly before: Believed;
  readonly commit: Commit;
  readonly lease: LeaseRef;
  /** Pairs of a changed row before and after; `null`: it is new. */
  readonly changed: readonly { readonly was: Row | null; readonly is: Row }[];
  readonly say: Say;
}
type Say = (invariant: string, what: string) => void;

export interface ModelParts {
  readonly namespace: string;
  readonly isStrict: (record: RunRecord) => boolean;
}

export class Model {
  readonly violations: string[] = [];
  readonly #runs = new Map<string, Believed>();
  readonly #effects = new Map<string, number>();
  readonly #parts: ModelParts;

  constructor(parts: ModelParts) {
    this.#parts = parts;
  }

  /** Every run, as it was last committed. */
  runs(): readonly RunRecord[] {
    return [...this.#runs.values()].map(({ record }) => record);
  }

  believed(run: RunRef): Believed | undefined {
    return this.#runs.get(keyOf(run));
  }

  created({ record, log, rows = [], commandId }: CreateCommand): void {
    const known = this.believed(record);
    if (known?.createdBy === commandId) return;
    const say = this.#about(record, 1);
    if (record.revision !== 1 || log.revision !== 1) say("I4", `it begins at revision ${record.revision}`);
    if (known !== undefined) say("I2", "it was created twice");
    if (record.parent !== null && !this.#isAskedFor(record))
      say("F1", "no row of its parent had said that it is started");
    const fresh = { fence: 0, position: 0, reviewed: new Set<number>(), clear: new Map<string, boolean>() };
    this.#runs.set(keyOf(record), { record, createdBy: commandId, rows, ...fresh });
  }

  /** Its sender was told that it is taken. */
  sent({ run }: SendCommand, position: number): void {
    const before = this.believed(run);
    if (before !== undefined) this.#runs.set(keyOf(run), { ...before, position: Math.max(before.position, position) });
  }

  committed(commit: Commit, lease: LeaseRef): void {
    const before = this.believed(commit.run);
    const say = this.#about(commit.run, commit.record.revision);
    if (before === undefined) return say("I1", "it was committed and never created");
    const changed = commit.rows.map((is) => ({ was: before.rows[is.seq - 1] ?? null, is }));
    const step: Step = { before, commit, lease, changed, say };
    for (const rule of rules) rule(step);
    this.#checkOrder(step);
    this.#checkUndone(step);
    this.#runs.set(keyOf(commit.run), after(step));
  }

  /** The world has seen something. */
  saw({ kind, operationId, direction }: WorldEntry): void {
    const say = (invariant: string, what: string) => void this.violations.push(`${invariant}: ${what}`);
    const [, tenant = "", id = "", step, occurrence] = operationId.split("/");
    const rows = this.believed({ tenant, id })?.rows ?? [];
    const row = rows.find((each) => each.step === step && String(each.occurrence) === occurrence?.split("~")[0]);
    const call = direction === "undo" ? row?.undo?.call : row?.call;
    if (kind === "arrival" && (call ?? null) === null) return say("I6", `${operationId} arrived and is on no record`);
    if (kind !== "effect" || row === undefined || call === undefined || call === null) return;
    const effects = (this.#effects.get(operationId) ?? 0) + 1;
    this.#effects.set(operationId, effects);
    if (effects > 1 && call.effect !== "none")
      say("I3", `${operationId} (${call.effect}) has happened ${effects} times`);
    const isAbsent = call.state === "withdrawn" || (call.state === "not_applied" && call.proof !== "person");
    if (isAbsent) say("I3", `${operationId} happens when it is called ${call.state}`);
    if (direction === "do" && row.undo?.state === "done" && row.undo.call?.proof !== "person")
      say("I7", `${operationId} happens after it was undone`);
  }

  /** Strict reverse of the order of first `sent`: what came later is done with before what came earlier is undone. */
  #checkOrder({ before, commit, changed, say }: Step): void {
    if (commit.record.unwind === null || commit.record.unwind.leaves === true) return;
    const rows = before.rows.map((row) => commit.rows.find(({ seq }) => seq === row.seq) ?? row);
    for (const { was, is } of changed) {
      if (is.undo?.state !== "sent" || was?.undo?.state === "sent") continue;
      const first = rows.find((other) => this.#mustGoFirst(other, is, commit.record) && !isUndoneOrNeverWas(other));
      if (first !== undefined) say("I8", `${is.step} ${is.seq} is undone before ${first.step} ${first.seq}`);
    }
  }

  #mustGoFirst(other: Row, row: Row, record: RunRecord): boolean {
    const [a, b] = [other.call.firstSentRevision ?? 0, row.call.firstSentRevision ?? 0];
    const isLater = a > b || (a === b && other.seq > row.seq);
    const isApart = other.region.length > 0 && row.region.length > 0 && other.region.join() !== row.region.join();
    // Runs over one list are undone side by side.
    const areFlock = other.kind === "child" && row.kind === "child" && other.tool?.parent === row.tool?.parent;
    return a > 0 && isLater && !(areFlock && row.tool !== null) && (this.#parts.isStrict(record) || !isApart);
  }

  /** Only what is known to have happened is undone. */
  #checkUndone({ before: { record }, changed, say }: Step): void {
    for (const { was, is } of changed) {
      const { call, undo } = is;
      if (undo?.state !== "sent" || was?.undo?.state === "sent" || is.kind !== "call") continue;
      if (call.state !== "succeeded") say("I7", `${is.step} ${is.seq} is undone while it is ${call.state}`);
      const generation = call.generation === 1 ? "" : `~${call.generation}`;
      const id = `${this.#parts.namespace}/${record.tenant}/${record.id}/${is.step}/${is.occurrence}${generation}`;
      const isSeen =
        this.#effects.has(id) || call.effect === "none" || call.proof === "person" || is.reference !== null;
      if (!isSeen && is.intent === null) say("I7", `${id} is undone and has never happened`);
    }
  }

  #isAskedFor({ tenant, parent }: RunRecord): boolean {
    const rows = parent === null ? [] : (this.believed({ tenant, id: parent.run })?.rows ?? []);
    const row = rows[(parent?.seq ?? 0) - 1];
    return row?.kind === "child" && row.call.send > 0;
  }

  #about(run: RunRef, revision: number): Say {
    return (invariant, what) => void this.violations.push(`${invariant}: ${keyOf(run)} at ${revision}: ${what}`);
  }
}

function after({ before, commit, lease }: Step): Believed {
  const rows = before.rows.slice();
  for (const row of commit.rows) rows[row.seq - 1] = row;
  const reviewed = new Set(before.reviewed);
  for (const each of commit.log.taken) if (each.what === "verb") reviewed.add(each.review);
  const clear = new Map(before.clear);
  for (const each of commit.log.taken) clearedBy(each, clear);
  return { ...before, record: commit.record, rows, fence: lease.fence, reviewed, clear };
}

/** A grant came to nothing for sure, or a person has taken it upon himself; or another one is given. */
function clearedBy(taken: Taken, clear: Map<string, boolean>): void {
  if (taken.what === "verb") for (const key of clear.keys()) clear.set(key, true);
  if (taken.what === "taken_back" || taken.what === "withdrawn") clear.set(`action ${taken.seq}`, true);
  if (taken.what === "outcome" && taken.outcome === "not_applied") clear.set(`action ${taken.seq}`, true);
  if (taken.what === "sent" || taken.what === "offered") clear.set(`action ${taken.seq}`, false);
}

// ---- what holds of every commit

const rules: readonly ((step: Step) => void)[] = [
  function revisions({ before: { record }, commit, say }) {
    const { log, expects } = commit;
    const isNext = commit.record.revision === record.revision + 1 && log.revision === commit.record.revision;
    if (!isNext || expects !== record.revision) say("I4", `it follows revision ${record.revision}`);
    if (log.from !== record.status || log.to !== commit.record.status)
      say("I4", `the log says ${log.from} to ${log.to}, it was ${record.status} and is ${commit.record.status}`);
  },
  function fences({ before, commit, lease, say }) {
    if (lease.fence < before.fence || commit.log.fence !== lease.fence)
      say("I5", `fence ${lease.fence} (${commit.log.fence}) after ${before.fence}`);
  },
  function statuses({ before: { record }, commit, say }) {
    const { status, unwind } = commit.record;
    if (!mayMove(record, commit.log)) say("I1", `it goes from ${record.status} to ${status}`);
    const isGoingBack = record.unwind !== null && record.unwind.to === undefined && record.endedAt === null;
    if (isGoingBack && unwind === null) say("I7", "it was going back, and goes forward");
  },
  function ends({ before, commit: { record, seen }, say }) {
    if (record.endedAt === null) return;
    const open = before.rows.length + record.rows === 0 ? [] : record.open;
    if (open.length > 0) say("I1", `it ends with rows ${open} open`);
    if (before.record.endedAt === null && seen < before.position)
      say("I1", `it ends and has not seen request ${before.position}`);
  },
  function wanted({ commit: { record, release, due }, say }) {
    const rests = record.endedAt !== null || record.status === "needs_review" || record.status === "paused";
    const isCalled = ["event", "approval", "budget", "child", "intent", "limit"].includes(record.waitingFor ?? "");
    if (release && due === null && !rests && !isCalled) say("I9", `nobody will look at it again (${record.status})`);
  },
  function ledger({ before, commit, changed, say }) {
    const rows = new Set([...before.rows, ...commit.rows].map(({ seq }) => seq)).size;
    if (rows !== commit.record.rows) say("I4", `${rows} rows, the record says ${commit.record.rows}`);
    for (const { was, is } of changed) {
      if (was === null) continue;
      const isSame = was.step === is.step && was.occurrence === is.occurrence && was.kind === is.kind;
      if (!isSame) say("I4", `row ${is.seq} was ${was.step} ${was.occurrence} and is ${is.step} ${is.occurrence}`);
    }
  },
  function calls({ commit: { log }, changed, say }) {
    // Who asks for the whole run to be undone asks for what was left of it as well.
    const byPerson = log.taken.some((each) => isVerb(each) || (each.what === "control" && each.control === "undo"));
    for (const { was, is } of changed) {
      for (const side of ["action", "undo"] as const) {
        const [from, to] = [sideOf(was, side), sideOf(is, side)];
        if (to === null || (from === null && was === null && side === "undo")) continue;
        if (from !== null && to.send < from.send && is.undo?.call === was?.undo?.call)
          say("I3", `send ${from.send} of row ${is.seq} became ${to.send}`);
        // A child run that could not be undone moves on by itself, and is asked again then.
        const isAskedAgain = byPerson || (side === "undo" && is.kind === "child" && from?.state === "not_applied");
        if (from !== null && from.state !== to.state && !isAskedAgain && !mayBecome(from, to, log.taken, is.seq))
          say("I3", `the ${side} of row ${is.seq} was ${from.state} and is ${to.state}`);
      }
    }
  },
  function grants(step) {
    for (const { was, is } of step.changed) if (is.call.send > (was?.call.send ?? 0)) checkGrant(step, was, is);
  },
  function proofs({ before, commit: { log }, say }) {
    for (const each of log.taken) {
      if (each.what !== "outcome" || each.outcome !== "not_applied" || each.proof !== "probe") continue;
      for (const side of ["action", "undo"] as const) {
        const call = sideOf(before.rows[each.seq - 1] ?? null, side);
        if (call?.state === "unknown" && call.send === each.send && call.deadline !== null && log.at < call.deadline)
          say("I3", `row ${each.seq} is called absent ${call.deadline - log.at} ms before it could no longer arrive`);
      }
    }
  },
  function people({ before, commit: { log }, say }) {
    for (const each of log.taken) {
      if (each.what === "verb" && before.reviewed.has(each.review))
        say("I2", `review ${each.review} was answered twice`);
      if ((each.what === "verb" || each.what === "control") && each.by === "") say("I15", "nobody has asked for it");
    }
  },
];

/** A grant to go forward: is it one that may be given? */
function checkGrant({ before, commit: { record, log }, say }: Step, was: Row | null, is: Row): void {
  const { call, approval, seq } = is;
  const isOnceMore = (was?.call.send ?? 0) > 0 && call.effect === "once";
  const isCleared = log.taken.some((each) => isWordFor(each, seq)) || before.clear.get(`action ${seq}`) === true;
  if (isOnceMore && !isCleared && is.kind === "call") say("I3", `row ${seq} is once, and is sent once more`);
  if (was !== null && finalCalls.has(was.call.state) && was.call.state === "succeeded" && !log.taken.some(isVerb))
    say("I3", `row ${seq} has happened, and is sent once more`);
  if (record.status === "unwinding") return;
  if (approval !== null && approval.state !== "approved" && approval.state !== "not_needed")
    say("A3", `row ${seq} is sent when it is ${approval.state}`);
  if (record.limit !== null && record.limit.state !== "mine") say("L1", `row ${seq} is sent before it is its turn`);
  if (before.record.paused && record.paused) say("B3", `row ${seq} is sent in a pause`);
  for (const [name, { used, hard }] of Object.entries(before.record.budgets)) {
    const isOver = hard !== null && used >= hard && record.budgets[name]?.hard === hard;
    if (isOver && is.tool === null && !["steps", "toolCalls", "time"].includes(name) && call.send === 1)
      say("B1", `row ${seq} is sent with ${used} of ${hard} ${name} used`);
  }
}

function isWordFor(taken: Taken, of: number): boolean {
  if (isVerb(taken)) return true;
  if (taken.what === "taken_back" || taken.what === "withdrawn") return taken.seq === of;
  return taken.what === "outcome" && taken.outcome === "not_applied" && taken.seq === of;
}

function isVerb({ what }: Taken): boolean {
  return what === "verb";
}

function keyOf({ tenant, id }: RunRef): string {
  return `${tenant}:${id}`;
}
