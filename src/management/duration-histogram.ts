import type { LabelValues, Metric, Registry } from 'prom-client';

interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[];
  readonly registry: Registry;
}

interface Value {
  readonly metricName: string;
  readonly labels: LabelValues<string>;
  readonly value: number;
}

/** The durations under one combination of labels. */
export class DurationSeries {
  /** One more than there are bounds: the last is for what lies above them all. */
  readonly counts: number[];
  sum = 0;
  private isPublished = false;

  /** @param publish called before the first observation: a scrape shows series in the order in which they were first observed */
  constructor(
    readonly labels: LabelValues<string>,
    private readonly bounds: readonly number[],
    private readonly publish: (series: DurationSeries) => void,
  ) {
    this.counts = Array<number>(bounds.length + 1).fill(0);
  }

  observe(seconds: number): void {
    if (!this.isPublished) {
      this.isPublished = true;
      this.publish(this);
    }
    let bucket = 0;
    while (bucket < this.bounds.length && seconds > this.bounds[bucket]!) bucket += 1;
    this.counts[bucket]! += 1;
    this.sum += seconds;
  }
}

/**
 * A histogram whose observation costs two additions: prom-client's own looks its series up by a string of all labels each time.
 * What a scrape sees is the same, to the byte; see docs/adr/0106-durations-counted-in-arrays.md.
 */
export class DurationHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  private readonly buckets: readonly number[];
  private readonly published: DurationSeries[] = [];

  constructor({ name, help, buckets, registry }: HistogramOptions) {
    this.name = name;
    this.help = help;
    this.buckets = buckets;
    // All that a registry calls of a metric is `get`.
    registry.registerMetric(this as unknown as Metric);
  }

  /** A new series; it is in the metrics from its first observation on. */
  series(labels: LabelValues<string>): DurationSeries {
    return new DurationSeries(labels, this.buckets, (series) => this.published.push(series));
  }

  /** What prom-client's registry asks of a metric. */
  get() {
    const { name, help, type, aggregator } = this;
    const values = this.published.flatMap((series) => this.valuesOf(series));
    return Promise.resolve({ name, help, type, aggregator, values });
  }

  private valuesOf({ labels, counts, sum }: DurationSeries): Value[] {
    const count = counts.reduce((total, one) => total + one, 0);
    let below = 0;
    const buckets = this.buckets.map((le, index) => {
      below += counts[index]!;
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: below };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${this.name}_sum`, labels: { ...labels }, value: sum },
      { metricName: `${this.name}_count`, labels: { ...labels }, value: count },
    ];
  }
}
