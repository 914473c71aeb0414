import { Gauge, type GaugeConfiguration, type Registry } from 'prom-client';

/** A value, or the values of a gauge with labels. */
type Values = number | readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];

/**
 * Adds a gauge that is read for each scrape. After an error, the response lacks this gauge but has the other metrics.
 * @param options `aggregator` makes one value of those of several workers (default: their sum)
 */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => Values | Promise<Values>,
  options: Pick<GaugeConfiguration<string>, 'labelNames' | 'aggregator'> = {},
): void {
  new Gauge({
    name,
    help,
    ...options,
    registers: [registry],
    async collect() {
      try {
        const values = await read();
        this.reset();
        for (const [labels, value] of typeof values === 'number' ? [[{}, values] as const] : values) {
          this.set(labels, value);
        }
      } catch {
        this.remove();
      }
    },
  });
}
