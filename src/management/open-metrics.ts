import { type Metric, Registry, type RegistryContentType } from 'prom-client';

/**
 * All metrics in the format OpenMetrics, which has exemplars. The copies are in a registry of their own, because
 * prom-client removes `_total` from the names of counters there.
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
