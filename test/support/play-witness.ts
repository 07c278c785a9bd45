/**
 * What the outside could have seen of a run's calls, kept apart from the ledger: which sends there were and what is known of
 * each. It throws where core has a call made that could do harm.
 *
 * O1 a `once` call is never made while an earlier send of it may have happened, or has. O2 a `keyed` one is repeated only
 * while the other side surely knows the key. O3 nothing known to have happened is called again. O4 a compensation never runs
 * while a send of the action could still arrive, unless the other side will know its key. O5 no probe's absence is about a send
 * of a process that stands still and has not said what became of it.
 */
import type { CallOrder, CallResult, DriverFact, InboxEntry, Machine, Row, Run } from "../../src/core/index.ts";
import type { Json } from "../../src/saga/index.ts";

interface Send {
  readonly send: number;
  readonly owner: string;
  readonly at: number;
  readonly deadline: number;
  readonly operationId: string;
  fate: "out" | "no" | "yes";
  /** Whoever was to send it has let go of it. */
  hasSpoken: boolean;
}

export class Witness {
  readonly #sends = new Map<string, Send[]>();
  /** When the probe under way was asked, by place. */
  readonly #asked = new Map<string, number>();
  readonly #frozen: ReadonlySet<string>;

  constructor(frozen: ReadonlySet<string>) {
    this.#frozen = frozen;
  }

  ordered(order: CallOrder, run: Run, machine: Machine, { now, owner }: { now: number; owner: string }): void {
    const row = run.rows[order.seq - 1] as Row;
    const place = `${order.side}:${order.seq}`;
    if (order.kind === "probe") {
      this.#asked.set(place, now);
      return;
    }
    const call = order.side === "action" ? row.call : row.undo?.call;
    if (call === null || call === undefined) throw new Error(`${place} has no call`);
    this.#mayCall(place, order, row, machine, now);
    if (order.kind === "undo") this.#mayUndo(row, machine, now);
    const { send, operationId } = order;
    this.granted(place, { send, owner, at: now, deadline: call.deadline ?? now, operationId });
  }

  granted(place: string, send: Omit<Send, "fate" | "hasSpoken">): void {
    this.#at(place).push({ ...send, fate: "out", hasSpoken: false });
  }

  #mayCall(place: string, order: CallOrder, row: Row, machine: Machine, now: number): void {
    const { kind, operationId } = order;
    const all = this.#at(place);
    const doubtful = all.filter((send) => send.fate === "out");
    const step = machine.saga.steps[row.step];
    const spec = kind === "undo" ? step?.compensation : step;
    const stored = kind === "undo" ? row.undo?.call?.effect : row.call.effect;
    if (stored !== "none" && all.some((send) => send.fate === "yes"))
      throw new Error(`${place} happened and is called again`);
    if (stored === "once" && doubtful.length > 0)
      throw new Error(`${place} is once, may have happened and is called again`);
    if (stored !== "keyed" || doubtful.length === 0) return;
    const first = doubtful.find((send) => send.operationId === operationId)?.at ?? now;
    if (now + (spec?.timeoutMs ?? 0) >= first + (spec?.keyTtlMs ?? 0))
      throw new Error(`the key of ${place} has expired`);
  }

  #mayUndo(row: Row, machine: Machine, now: number): void {
    const step = machine.saga.steps[row.step];
    const { state, effect } = row.call;
    if (state !== "succeeded" && !(state === "unknown" && step?.compensateIfUnknown === true)) {
      throw new Error(`row ${row.seq} is undone while ${state}`);
    }
    // Nobody starts a child that is there already.
    if (row.kind === "child") return;
    const sends = this.#at(`action:${row.seq}`);
    const first = Math.min(now, ...sends.filter((send) => send.fate !== "no").map((send) => send.at));
    const coming = sends.filter((send) => send.fate === "out" && send.deadline > now);
    const harmless = state === "succeeded" && effect === "keyed";
    const bad = coming.find((send) => !harmless || send.deadline >= first + (step?.keyTtlMs ?? 0));
    if (bad !== undefined) throw new Error(`row ${row.seq} is undone while send ${bad.send} could still arrive`);
  }

  /** The process that made these calls is gone: nobody knows (so they stay out). */
  lost(orders: Iterable<CallOrder>): void {
    for (const order of orders) if (order.kind === "probe") this.#asked.delete(`${order.side}:${order.seq}`);
  }

  heard(fact: DriverFact, run: Run): void {
    if (fact.type === "result") this.#word(fact.side, run.rows[fact.seq - 1], fact.send, fact.result);
    if (fact.type === "child") this.#looked(`${fact.side}:${fact.seq}`, fact);
    if (fact.type !== "probed") return;
    const place = `${fact.side}:${fact.seq}`;
    if (run.rows[fact.seq - 1] === undefined) return;
    if (fact.answer === "happened") this.#happened(place);
    if (fact.answer === "absent") this.#absent(place, this.#asked.get(place) ?? Number.NEGATIVE_INFINITY);
  }

  sent({ body }: InboxEntry, run: Run): void {
    if (body.type === "late" || body.type === "settle") {
      this.#word(body.side, run.rows[body.seq - 1], body.send, body.result);
    }
    if (body.type !== "verb" || body.verb.verb !== "resolve") return;
    const { seq = null, side = null } = run.record.review ?? {};
    if (seq === null || side === null || run.record.review?.verbs.includes("resolve") !== true) return;
    // An output that does not fit is not taken, and what it says is not believed.
    if (body.verb.as === "absent") this.#absent(`${side}:${seq}`, Number.POSITIVE_INFINITY);
    else if (side === "undo" || fits(body.verb.output)) this.#happened(`${side}:${seq}`);
  }

  #word(side: "action" | "undo", row: Row | undefined, number: number, result: CallResult): void {
    if (row === undefined) return;
    const sends = this.#at(`${side}:${row.seq}`);
    const send = sends.find((one) => one.send === number);
    if (send === undefined) return;
    send.hasSpoken = true;
    const { kind } = result;
    if (kind === "succeeded" || kind === "unusable") send.fate = "yes";
    if ((kind === "not_applied" || kind === "not_called" || kind === "defect") && send.fate === "out") send.fate = "no";
    // `fail()` answers for the whole operation, where it is one.
    const effect = side === "action" ? row.call.effect : row.undo?.call?.effect;
    const newest = Math.max(...sends.map((one) => one.send));
    if (kind !== "not_applied" || !result.final || effect === "once" || number !== newest) return;
    for (const one of sends) if (one.fate === "out") one.fate = "no";
  }

  /** A request to a child was answered: there is nothing of it on its way any more. */
  #looked(place: string, { send, seen }: Extract<DriverFact, { type: "child" }>): void {
    const isOver = seen.is === "run" && seen.child.status === "completed" && place.startsWith("action");
    for (const one of this.#at(place)) if (one.send === send) one.fate = isOver ? "yes" : "no";
  }

  /** One of those in doubt is it. Where there are several nobody knows which: all of them may still arrive. */
  #happened(place: string): void {
    const doubtful = this.#at(place).filter((send) => send.fate === "out");
    if (doubtful.length === 1) for (const send of doubtful) send.fate = "yes";
  }

  #absent(place: string, asked: number): void {
    const isPerson = asked === Number.POSITIVE_INFINITY;
    for (const send of this.#at(place)) {
      const mayCome = !isPerson && !send.hasSpoken && this.#frozen.has(send.owner);
      if (send.fate === "out" && send.deadline <= asked && !mayCome) send.fate = "no";
    }
  }

  #at(place: string): Send[] {
    const known = this.#sends.get(place);
    if (known !== undefined) return known;
    const fresh: Send[] = [];
    this.#sends.set(place, fresh);
    return fresh;
  }
}

/** What the steps of `play-sagas.ts` give unless told otherwise. */
function fits(output: Json): boolean {
  return typeof output === "object" && output !== null && "id" in output && typeof output["id"] === "string";
}
