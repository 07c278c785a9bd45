/**
 * What everything that is measured can do, so that each contestant is started, filled and drained by the same words.
 * Owns the words only.
 */

/** Which Redis, under which name in it, with how much at once in one process. */
export interface Place {
  readonly url: string;
  readonly namespace: string;
  readonly concurrency: number;
  /** What the worker tells of itself, thrown away at once; nothing unless given. */
  readonly tells?: Tells;
  /** Of the namespace; the product's own unless given. */
  readonly shards?: number;
  /** How long ended runs are kept and how often is looked for them, in ms; the product's own unless given. */
  readonly retention?: Retention;
}

export interface Retention {
  readonly retentionMs?: number;
  readonly retentionSweepMs: number;
}

/**
 * `lines`: logs and metrics. `spans`: traces as well, by an SDK that exports to nowhere; `some`: of a tenth of the runs. `contexts`:
 * the worker tells nothing, but its steps do their work in a context of OpenTelemetry, as calls do that an app instruments.
 */
export type Tells = "lines" | "spans" | "some" | "contexts";

/**
 * `order`: five steps. `failing`: the fifth fails, four are undone. `long`: 25 steps. `waiting`: waits for an event. `held`: one
 * step, which is told of. `timed`: a timer, then a step that is told of.
 */
export type SagaName = "order" | "failing" | "long" | "waiting" | "held" | "timed";

/** One every so often, from a time on (ms since 1970; `pace` starts at once). */
export interface Paced {
  readonly firstAt: number;
  readonly everyMs: number;
}

export interface Load {
  readonly saga: SagaName;
  readonly count: number;
  /** Number of the first one. */
  readonly from: number;
  readonly paced?: Paced;
  /** Whose they are; the product's own unless given. */
  readonly tenant?: string;
}

/** What `pace` knows of each start, in ms. */
export interface Pace {
  /** When it was asked for, by the machine's monotonic clock. */
  readonly askedAt: readonly number[];
  /** How long until it was acknowledged. */
  readonly took: readonly number[];
}

export interface Contestant {
  /** Starts sagas in bulk; nobody needs to work on them. Resolves when all are accepted. */
  fill(place: Place, load: Load): Promise<void>;
  /** Works on what was filled; resolves when all have ended (or wait), durably. Answers how to stop the worker. */
  drain(place: Place, load: Load): Promise<() => Promise<void>>;
  /** Starts sagas one at a time, each after the one before has ended: ms from start to known result, of each. */
  alone(place: Place, load: Load): Promise<readonly number[]>;
  /** Works until it is stopped; `hold`: steps of `held` runs do not answer. Resolves when it is ready. */
  serve(place: Place, hold: boolean): Promise<() => Promise<void>>;
  /** Starts sagas at a steady rate. */
  pace?(place: Place, load: Load): Promise<Pace>;
  /** By how much each timer that fired in this process was late, in ms by Redis time. */
  lateness?(paced: Paced): readonly number[];
}
