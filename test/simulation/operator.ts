/** The person who answers what parked runs ask, and who can see the world: so what is said of an effect is true. */
import { operationId, type Review, type Row, type Run, type VerbCommand } from "../../src/core/index.ts";
import type { FakeWorld } from "../../src/testing/index.ts";
import type { Random } from "./random.ts";

export interface OperatorParts {
  readonly namespace: string;
  readonly world: FakeWorld;
  /** What a person feels like doing. */
  readonly whim: Random;
}

type Parked = Pick<Run, "record" | "rows">;
type Can = (verb: VerbCommand["verb"]) => boolean;

const nobodyDecides = {
  verb: "resolve",
  as: "absent",
  output: null,
  reference: null,
  evidence: "nobody has decided",
} as const;
const again = { verb: "retry", input: undefined, reason: "again" } as const;
const noWayOn = { verb: "close", reason: "no way on" } as const;

export class Operator {
  readonly #parts: OperatorParts;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** `null`: it asks nothing. */
  answer({ record, rows }: Parked): VerbCommand | null {
    const { review } = record;
    if (review === null) return null;
    const can: Can = (verb) => review.verbs.includes(verb);
    if (can("raise")) return this.#raised(review);
    const row = review.seq === null ? undefined : rows[review.seq - 1];
    return this.#byWhim(record, review, can) ?? this.#byWorld(record, row, review, can);
  }

  #raised({ evidence }: Review): VerbCommand {
    const { budget, used } = evidence as { readonly budget: string; readonly used: number };
    return { verb: "raise", budget, to: used + this.#parts.whim.between(1, 3), reason: "it is worth it" };
  }

  #byWhim({ savepoints }: Run["record"], review: Review, can: Can): VerbCommand | null {
    const { whim } = this.#parts;
    if (review.reason === "approval_expired" && whim.chance(0.5)) return nobodyDecides;
    if (can("compensate") && whim.chance(0.2)) {
      const to = savepoints[review.n % Math.max(1, savepoints.length)];
      if (to === undefined) return { verb: "compensate", reason: "not worth an answer" };
      return { verb: "rewind", to: to.state, reason: "once more", despite: review.n % 3 !== 0 };
    }
    if (can("discard") && whim.chance(0.6)) return { verb: "discard", reason: "nobody needs it" };
    if (whim.chance(0.1)) return { verb: "close", reason: "enough of it" };
    if (can("skip") && whim.chance(0.2)) return { verb: "skip", reason: "by hand" };
    if (review.side !== "undo" || !can("retry") || !whim.chance(0.5)) return null;
    return { verb: "retry", input: { id: "another" }, reason: "with what it needs" };
  }

  #byWorld(record: Run["record"], row: Row | undefined, review: Review, can: Can): VerbCommand {
    const { side, reason } = review;
    if (row === undefined || side === null || row.kind === "child")
      return can("retry") && this.#parts.whim.chance(0.7) ? again : noWayOn;
    if (reason === "late_result") return { ...again, reason: "undo it" };
    const call = side === "action" ? row.call : row.undo?.call;
    const isUnknown = call?.state === "unknown" || reason === "unknown_outcome";
    if (!isUnknown) return can("retry") ? again : noWayOn;
    if (!can("resolve")) return noWayOn;
    const id = operationId(this.#parts.namespace, record, row, side);
    const effect = this.#parts.world.effects().find((each) => each.operationId === id);
    return {
      verb: "resolve",
      as: effect === undefined ? "absent" : "happened",
      output: { ref: effect?.ref ?? "none" },
      reference: effect?.ref ?? null,
      evidence: "the world says so",
    };
  }
}
