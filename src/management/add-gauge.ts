import { type Aggregator, Gauge, type Registry } from 'prom-client';

/**
 * Adds a gauge that is read for each scrape. After an error, the response lacks this gauge but has the other metrics.
 * @param aggregator how the values of several workers become one (default: their sum)
 */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | Promise<number>,
  aggregator: Aggregator = 'sum',
): void {
  new Gauge({
    name,
    help,
    aggregator,
    registers: [registry],
    async collect() {
      try {
        this.set(await read());
      } catch {
        this.remove();
      }
    },
  });
}
