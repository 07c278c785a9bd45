/**
 * Durations in buckets. prom-client's histogram checks and hashes all labels at each observation and looks its bucket up by a name;
 * here observing is adding to numbers, and the rest is done when somebody looks: then it tells them in the shape that a registry asks
 * a metric for.
 */

export type TimingLabels = Readonly<Record<string, string>>;

/** What was observed under one set of labels. */
export interface Timing {
  readonly labels: TimingLabels;
  /** Of each bucket alone, in their order; what is above all of them is in `count` only. */
  readonly counts: number[];
  count: number;
  sum: number;
}

interface Value {
  readonly labels: TimingLabels | { readonly le: number | "+Inf" };
  readonly sharedLabels: TimingLabels;
  readonly value: number;
  readonly metricName: string;
}

interface Told {
  readonly name: string;
  readonly help: string;
  readonly type: "histogram";
  readonly aggregator: "sum";
  readonly values: readonly Value[];
}

/** A metric of a prom-client registry, as far as that calls one. */
export class Timings {
  readonly name: string;
  readonly help: string;
  readonly type = "histogram";
  readonly aggregator = "sum";
  readonly #bounds: readonly number[];
  readonly #all = new Map<string, Timing>();

  constructor(
    name: string,
    { help, labels }: { readonly help: string; readonly labels: readonly string[] },
    bounds: readonly number[],
  ) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
    // What has no labels is told of from the beginning.
    if (labels.length === 0) this.under({});
  }

  /** Where what has these labels is added up. */
  under(labels: TimingLabels): Timing {
    const key = JSON.stringify(labels); // in one order, as all of a metric are
    const known = this.#all.get(key);
    if (known !== undefined) return known;
    const timing = { labels, counts: this.#bounds.map(() => 0), count: 0, sum: 0 };
    this.#all.set(key, timing);
    return timing;
  }

  add(timing: Timing, seconds: number): void {
    const bounds = this.#bounds;
    timing.count += 1;
    timing.sum += seconds;
    let at = 0;
    while (at < bounds.length && seconds > (bounds[at] as number)) at += 1; // it is below the length
    if (at < bounds.length) timing.counts[at] = (timing.counts[at] ?? 0) + 1;
  }

  reset(): void {
    this.#all.clear();
  }

  /** With the labels of each value apart, as the text wants them. */
  getForPromString(): Told {
    const { name, help, type, aggregator } = this;
    return {
      name,
      help,
      type,
      aggregator,
      values: [...this.#all.values()].flatMap((timing) => this.#valuesOf(timing)),
    };
  }

  get(): Told {
    const { values, ...told } = this.getForPromString();
    const whole = values.map((value) => ({
      ...value,
      labels: { ...value.labels, ...value.sharedLabels },
      sharedLabels: {},
    }));
    return { ...told, values: whole };
  }

  #valuesOf({ labels, counts, count, sum }: Timing): readonly Value[] {
    let below = 0;
    const value = (kind: string, own: Value["labels"], of: number): Value => {
      return { labels: own, sharedLabels: labels, value: of, metricName: `${this.name}_${kind}` };
    };
    const buckets = this.#bounds.map((le, at) => {
      below += counts[at] ?? 0;
      return value("bucket", { le }, below);
    });
    return [...buckets, value("bucket", { le: "+Inf" }, count), value("sum", {}, sum), value("count", {}, count)];
  }
}
