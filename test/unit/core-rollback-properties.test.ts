/**
 * A store has forgotten a part of a run; several processes remember more or less of it. Whoever looks first, and however far
 * the run has gone on before the next one does: what any of them has seen outside is in the ledger once it has looked, for good.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hasEnded, isForgotten, type LogEntry, type Remembered, type Row, type Run } from "../../src/core/index.ts";
import { doubtOf } from "../../src/core/rows.ts";
import type { Saga } from "../../src/saga/index.ts";
import { close, Play, retry } from "../support/play.ts";
import { happenings, letItFinish, pick } from "../support/play-happenings.ts";
import { call, line, played } from "../support/play-sagas.ts";

const runs = Number(process.env["REPRISE_PROPERTY_RUNS"] ?? (process.env["REPRISE_SIZE"] === "quick" ? 40 : 150));
const seed = Number(process.env["REPRISE_PROPERTY_SEED"] ?? 20_261_201);
const workers = 3;

const leaf = (src: string) => ({
  initial: "x",
  states: { x: { invoke: { src, onDone: "d", onError: "d" } }, d: { type: "final" } },
});
const tools = {
  mail: call("mail", { effect: "once", probe: true }),
  pay: call("pay", { compensateIfUnknown: true }),
};

const sagas: Readonly<Record<string, () => Saga>> = {
  "steps one after the other": () =>
    line([
      call("a", { effect: "once", probe: true }),
      call("b", { onExhausted: "review" }),
      call("c", { effect: "once" }),
      call("d", { effect: "idempotent", retry: { attempts: 1 } }),
    ]),
  "side by side, left and begun again": () =>
    played(
      {
        initial: "work",
        states: {
          work: {
            type: "parallel",
            states: { left: leaf("a"), middle: leaf("b"), right: leaf("c") },
            onDone: "after",
            on: { GO: { target: "work", reenter: true } },
          },
          after: { invoke: { src: "d", onDone: "end" }, on: { GO: "work" } },
          end: { type: "final" },
        },
      },
      [
        call("a", { effect: "once", probe: true }),
        call("b", { queue: "gpu" }),
        call("c", { onAbandon: "keep" }),
        call("d", { effect: "once", retry: { attempts: 1 } }),
      ],
      { events: ["GO"] },
    ),
  "an action with tools": () =>
    line([call("a", { effect: "once" }), call("agent", { effect: "none", uses: tools }), call("b", { probe: true })]),
};

/** What happens, and who does it. */
interface Step {
  readonly what: number;
  readonly a: number;
  readonly b: number;
  readonly who: number;
}
const step: fc.Arbitrary<Step> = fc.record({ what: fc.nat(30), a: fc.nat(99), b: fc.nat(99), who: fc.nat(99) });

interface Scene {
  readonly name: string;
  readonly first: readonly Step[];
  /** How much is forgotten. */
  readonly back: number;
  /** The server that takes over has a clock that is behind. */
  readonly isSlow: boolean;
  readonly after: readonly Step[];
}
const scene: fc.Arbitrary<Scene> = fc.record({
  name: fc.constantFrom(...Object.keys(sagas)),
  first: fc.array(step, { minLength: 1, maxLength: 30 }),
  back: fc.nat(99),
  isSlow: fc.boolean(),
  after: fc.array(step, { maxLength: 25 }),
});

function happen(play: Play, { what, a, b }: Step): void {
  pick(happenings, what)(play, a, b);
}

interface Stand {
  readonly run: Run;
  readonly log: readonly LogEntry[];
  readonly now: number;
}

class World {
  readonly play: Play;
  /** What each process remembers: its newest commit. */
  readonly #marks = new Map<number, Remembered>();
  readonly #stands: Stand[] = [];
  /** Of whom it is known that they have looked. */
  readonly heard = new Set<Remembered>();
  #ordered = 0;

  constructor(name: string) {
    this.play = new Play((sagas[name] as () => Saga)());
    this.#keep(0);
  }

  goOn(one: Step): void {
    const { length } = this.play.log;
    happen(this.play, one);
    if (this.play.log.length > length) this.#keep(one.who % workers);
  }

  #keep(who: number): void {
    const { run, log, now } = this.play;
    const { revision, logDigest: digest } = run.record;
    this.#marks.set(who, { revision, digest, at: now, run, isDenied: false });
    this.#stands.push({ run, log: [...log], now });
  }

  forget(back: number, isSlow: boolean): void {
    const stand = pick(this.#stands, this.#stands.length - 1 - (back % this.#stands.length));
    if (isSlow) this.play.now = stand.now;
    this.play.becomes(stand.run, stand.log);
    this.#ordered = this.play.orders.length;
  }

  /** As the engine does (`memory.ts`). */
  look(who: number): void {
    const mark = this.#marks.get(who);
    if (mark === undefined) return;
    this.#marks.delete(who);
    const entry = this.play.log.find(({ revision }) => revision === mark.revision);
    const known = { ...mark, isDenied: entry?.digest !== mark.digest };
    const before = this.play.run;
    if (isForgotten(before.record, known)) {
      this.play.remembers(known);
      for (const row of mark.run?.rows ?? []) this.#checkDoubt(row, before);
      if (before.record.unwind !== null && this.play.run.record.unwind === null)
        throw new Error("it goes forward again");
    }
    this.heard.add(mark);
    this.check();
  }

  /** What may have happened by a send that the store knows nothing of may still have happened. */
  #checkDoubt({ step: name, occurrence, call: known }: Row, { rows }: Run): void {
    if ((known.state !== "sent" && known.state !== "unknown") || known.effect === "none") return;
    const isIt = (row: Row) => row.step === name && row.occurrence === occurrence;
    const stored = rows.find(isIt)?.call;
    if (stored?.send === known.send && stored.sentAt === known.sentAt) return;
    // A send that follows the first one of both knows what became of that.
    if (known.send === 1 && (stored?.send ?? 0) > 1 && stored?.firstSentAt === known.firstSentAt) return;
    const { call } = this.play.run.rows.find(isIt) as Row;
    if (call.state === "succeeded" || call.state === "unknown" || call.state === "sent" || doubtOf(call) !== null)
      return;
    throw new Error(`${name} may have happened, and is taken for ${call.state}`);
  }

  /** What those who have looked remember is there, and no `once` call that they know of is made again. */
  check(): void {
    for (const mark of this.heard) for (const row of mark.run?.rows ?? []) this.#checkRow(row);
    for (const order of this.play.orders.slice(this.#ordered)) {
      const row = this.play.run.rows[order.seq - 1] as Row;
      const known = this.#known(row).some(({ call: { state } }) => state === "succeeded");
      if (order.kind === "action" && known) throw new Error(`${row.step} is known to have happened and is made again`);
      // (Made once more to learn what is to be undone, it was sent before.)
      if (order.kind === "action" && row.abandoned && order.send === 1)
        throw new Error(`${row.step} is made, and nobody waits for it`);
    }
    this.#ordered = this.play.orders.length;
  }

  /** Nothing that happened is left as if it had not. */
  checkEnd(): void {
    for (const {
      step: name,
      call: { state, effect },
      told,
      undo,
      abandoned,
    } of this.play.run.rows) {
      if (state !== "succeeded" || effect === "none") continue;
      if (undo?.state === "not_needed") throw new Error(`${name} happened, and was not undone`);
      if (undo === null && (told === "failure" || abandoned)) throw new Error(`${name} happened, and nobody knows`);
    }
  }

  #known({ step: name, occurrence }: Row): readonly Row[] {
    const rows = [...this.heard].flatMap(({ run }) => run?.rows ?? []);
    return rows.filter((row) => row.step === name && row.occurrence === occurrence);
  }

  #checkRow({ step: name, occurrence, call: known, undo }: Row): void {
    const found = this.play.run.rows.find((row) => row.step === name && row.occurrence === occurrence);
    if (found === undefined) throw new Error(`${name}/${occurrence} is not in the ledger any more`);
    const what = `${name}/${occurrence}, which was ${known.state} ${undo?.state ?? ""} and is ${found.call.state} ${found.undo?.state ?? ""}`;
    if (known.state === "succeeded" && found.call.state !== "succeeded") throw new Error(`forgotten: ${what}`);
    if (known.firstSentAt !== null && found.call.firstSentAt === null && !isTakenBack(found))
      throw new Error(`forgotten to be sent: ${what}`);
    if (found.call.send < known.send) throw new Error(`a send number goes back: ${what}`);
    if (undo?.state === "done" && found.undo?.state !== "done") throw new Error(`forgotten to be undone: ${what}`);
  }
}

/** Who was to make it has said that it did not. */
function isTakenBack({ call }: Row): boolean {
  return call.proof === "take_back";
}

describe("what several processes remember of a run that the store has forgotten in part", () => {
  test("is in the ledger for good once they have looked, in whatever order, and however far it has gone on meanwhile", () => {
    const property = fc.property(scene, ({ name, first, back, isSlow, after }) => {
      const world = new World(name);
      for (const one of first) world.goOn(one);
      world.forget(back, isSlow);
      for (const one of after) {
        if (one.what >= 24) world.look(one.who % workers);
        else happen(world.play, one);
        world.check();
      }
      for (let who = 0; who < workers; who += 1) world.look(who);
      letItFinish(world.play);
      world.check();
      for (let asked = 0; asked < 9 && !hasEnded(world.play.status); asked += 1) {
        const { review } = world.play;
        if (review !== null) world.play.verb(review.verbs.includes("retry") && asked < 5 ? retry() : close);
        letItFinish(world.play);
        world.check();
      }
      expect(hasEnded(world.play.status)).toBe(true);
      world.checkEnd();
    });
    fc.assert(property, { numRuns: runs, seed });
  });
});
