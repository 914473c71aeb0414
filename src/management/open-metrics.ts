import { type Metric, Registry, type RegistryContentType } from 'prom-client';

/**
 * All metrics in the format OpenMetrics, which has exemplars. The metrics are copied to another registry, because this
 * format needs names of counters without `_total`.
 */
export async function openMetrics(registry: Registry): Promise<string> {
  const copies = new Registry<RegistryContentType>();
  copies.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const metric of await registry.getMetricsAsJSON()) {
    const isCounter = String(metric.type) === 'counter';
    const copy = { ...metric, name: isCounter ? metric.name.replace(/_total$/, '') : metric.name };
    copies.registerMetric({ ...copy, get: () => Promise.resolve(copy) } as unknown as Metric);
  }
  return copies.metrics();
}
