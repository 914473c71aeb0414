import {
  AggregatorRegistry,
  type MetricObjectWithValues,
  type MetricValue,
  type MetricValueWithName,
  type Registry,
} from 'prom-client';

/** A metric as `getMetricsAsJSON` of prom-client returns it. */
export type MetricValues = MetricObjectWithValues<MetricValue<string>>;

type Value = MetricValueWithName<string> & { exemplar?: { timestamp: number } | null };

/**
 * Sums the metrics of several processes. Averages become the maximum, since a mean hides a blocked process; metrics
 * that prom-client would omit become the minimum.
 */
export function sumMetrics(processes: readonly MetricValues[][]): Registry {
  const metrics = processes.flat();
  for (const metric of metrics) {
    if (metric.aggregator === 'average') metric.aggregator = 'max';
    if (metric.aggregator === 'omit') metric.aggregator = 'min';
  }
  const sums: Registry = AggregatorRegistry.aggregate([metrics]);
  addExemplars(sums.getMetricsAsArray() as unknown as MetricValues[], metrics);
  return sums;
}

/** Adds the newest exemplar of each bucket, since prom-client leaves exemplars out of sums. */
function addExemplars(sums: MetricValues[], metrics: MetricValues[]): void {
  const key = ({ metricName, labels }: Value): string => JSON.stringify([metricName, labels]);
  const newest = new Map<string, Value['exemplar']>();
  for (const value of metrics.flatMap(({ values }) => values as Value[])) {
    const { exemplar } = value;
    if (exemplar && exemplar.timestamp > (newest.get(key(value))?.timestamp ?? 0)) newest.set(key(value), exemplar);
  }
  if (newest.size === 0) return;
  for (const value of sums.flatMap(({ values }) => values as Value[])) value.exemplar = newest.get(key(value));
}
