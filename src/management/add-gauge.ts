import { type Aggregator, Gauge, type Registry } from 'prom-client';

/**
 * Adds a gauge that is read for each response. After an error it is left out; the other metrics stay.
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
